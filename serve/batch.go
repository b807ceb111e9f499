package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// maxBatch bounds the messages of one batch.
const maxBatch = 100

// readBatch returns the messages of a batch as written, which only 2025-03-26 knows; nil, nil if line is none.
func readBatch(line []byte, version string) ([]json.RawMessage, *Fault) {
	line = bytes.TrimSpace(line)
	if version != mcp.ProtocolVersion20250326 || len(line) == 0 || line[0] != '[' {
		return nil, nil
	}
	if bad := checkJSON(line); bad != nil {
		return nil, bad
	}
	var batch []json.RawMessage
	for element := range rawjson.Elements(line) {
		if batch = append(batch, element); len(batch) > maxBatch {
			return nil, faultf(mcp.INVALID_REQUEST, "a batch may hold %d messages", maxBatch)
		}
	}
	if batch == nil {
		return nil, faultf(mcp.INVALID_REQUEST, "the batch is empty")
	}
	return batch, nil
}

// answerBatch serves the messages of a batch at once and returns the array of answers in their order, nil if none needs
// one. hear takes what needs no answer, reply answers a request.
func answerBatch(batch []json.RawMessage, hear func(message), reply func(message) parts) parts {
	answers := make([]parts, len(batch))
	var wg sync.WaitGroup
	for i, element := range batch {
		m, bad := parseMessage(element)
		switch {
		case bad == nil && m.method == "initialize":
			answers[i] = faultAnswer(m.id, faultf(mcp.INVALID_REQUEST, "initialize must not be part of a batch"))
		case bad != nil && (m.id != nil || m.method == ""):
			answers[i] = faultAnswer(m.id, bad)
		case bad != nil:
		case m.id == nil || m.method == "":
			hear(m)
		default:
			wg.Go(func() { answers[i] = reply(m) })
		}
	}
	wg.Wait()
	var joined parts
	for _, answer := range answers {
		if answer == nil {
			continue
		}
		joined = append(joined, []byte{','})
		joined = append(joined, answer...)
	}
	if joined == nil {
		return nil
	}
	joined[0] = []byte{'['}
	return append(joined, []byte{']'})
}

// receiveBatch answers a batch over stdio.
func (c *conn) receiveBatch(ctx context.Context, batch []json.RawMessage, bad *Fault) {
	if bad != nil {
		c.out.write(faultAnswer(nil, bad))
		return
	}
	c.crew.run(func() {
		answer := answerBatch(batch, c.hear, func(m message) parts {
			ctx, done := c.session.running.start(ctx, m.id)
			defer done()
			line := c.reply(ctx, m)
			if cancelled(ctx) {
				return nil
			}
			return line
		})
		if answer != nil {
			c.out.write(answer)
		}
	})
}
