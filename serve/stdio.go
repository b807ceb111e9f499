package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve/framing"
)

const (
	// lastWords is how long running calls may still finish by themselves after the input ended,
	// so that requests piped into us are answered.
	lastWords = 500 * time.Millisecond
	// farewell bounds the wait for cancelled calls.
	farewell = 1500 * time.Millisecond
)

// Stdio serves one agent that writes messages to in and reads answers from out, which nobody else may write to. It
// returns nil when in ends, the agent says exit or ctx is done, after running calls were cancelled and at most 2 s
// later; an error means that it never started or that out broke.
//
// The goroutine reading in ends with in: a read from a terminal or pipe cannot be broken off.
func Stdio(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	o = o.withDefaults()
	e, err := newEndpoint(o, o.Face)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &conn{endpoint: e, out: &output{to: out, fail: cancel}, max: o.MaxMessage, listed: sync.OnceFunc(o.OnListed), exit: cancel}
	c.session = e.newSession(ctx, rand.Text(), dispatch.Agent{})
	c.session.out = c.write
	reader := framing.NewReader(in, o.MaxMessage, o.Framing)
	c.out.framing.Store(reader.Framing())
	c.serve(ctx, c.readAll(ctx, reader))
	c.end(ctx, cancel)
	return c.out.err()
}

var errExit = errors.New("the agent said exit")

// incoming is one message or why there is none.
type incoming struct {
	line []byte
	err  error
}

func (c *conn) readAll(ctx context.Context, r *framing.Reader) <-chan incoming {
	read := make(chan incoming)
	go func() {
		defer close(read)
		for {
			line, err := r.Next()
			if err != nil && !errors.Is(err, framing.ErrTooLong) && !errors.Is(err, framing.ErrHeader) {
				return
			}
			c.out.framing.Store(r.Framing())
			select {
			case read <- incoming{line, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return read
}

// conn is the conversation with one agent over stdio.
type conn struct {
	*endpoint
	session *session
	out     *output
	max     int64
	listed  func()
	exit    context.CancelCauseFunc
}

func (c *conn) serve(ctx context.Context, read <-chan incoming) {
	for {
		select {
		case <-ctx.Done():
			return
		case next, open := <-read:
			if !open {
				return
			}
			c.receive(ctx, next)
		}
	}
}

// receive handles one message. Only what may take long leaves the reading goroutine: all else is answered from memory
// at once and in order.
func (c *conn) receive(ctx context.Context, next incoming) {
	switch {
	case errors.Is(next.err, framing.ErrTooLong):
		c.out.write(faultAnswer(idAtHead(next.line), faultf(mcp.INVALID_REQUEST, "message is longer than %d bytes", c.max)))
		return
	case next.err != nil:
		c.out.write(faultAnswer(nil, faultf(mcp.PARSE_ERROR, "%v", next.err)))
		return
	case blank(next.line):
		return
	}
	if batch, bad := readBatch(next.line, c.session.greeted().version); batch != nil || bad != nil {
		c.receiveBatch(ctx, batch, bad)
		return
	}
	m, bad := parseMessage(next.line)
	switch {
	case bad != nil && m.method != "" && m.id == nil:
		c.log.Warn("notification refused", "method", m.method, "err", bad.Message)
	case bad != nil:
		c.out.write(faultAnswer(m.id, bad))
	case m.id == nil || m.method == "":
		c.hear(m)
	case quick(m.method):
		c.out.write(c.reply(ctx, m))
	default:
		c.spawn(ctx, m)
	}
}

// hear takes what needs no answer.
func (c *conn) hear(m message) {
	switch {
	case m.method == "":
		if !c.session.asks.answered(m) {
			c.log.Debug("response to no request of ours")
		}
	case m.method == "exit":
		c.exit(errExit)
	case m.method == "notifications/initialized":
		c.session.attach()
	default:
		c.notified(c.session, m)
	}
}

// spawn answers a request that may take long in a goroutine that end waits for.
func (c *conn) spawn(ctx context.Context, m message) {
	c.session.attach()
	ctx, done := c.session.running.start(ctx, m.id)
	c.crew.run(func() {
		defer done()
		if line := c.reply(ctx, m); !cancelled(ctx) {
			c.out.write(line)
		}
		if m.method == "tools/list" {
			c.listed()
		}
	})
}

// reply answers one request in the era it speaks.
func (c *conn) reply(ctx context.Context, m message) parts {
	x := &exchange{agent: c.session.Agent(), write: c.write}
	spoken, bad := readEra(rawjson.Member(m.params, "_meta"))
	if bad != nil {
		return faultAnswer(m.id, bad)
	}
	if x.era = spoken; spoken.modern {
		x.agent.Client = spoken.client
	} else {
		x.era, x.session = c.session.era(), c.session
	}
	result, bad := c.answer(ctx, m, x)
	return answerTo(m.id, result, bad)
}

func (c *conn) write(line []byte) bool {
	c.out.write(parts{line})
	return true
}

// end lets running calls finish for a moment if only the input ended, then cancels and waits.
func (c *conn) end(ctx context.Context, cancel context.CancelCauseFunc) {
	c.hush()
	idle := make(chan struct{})
	go func() { c.crew.wait(); close(idle) }()
	select {
	case <-idle:
	case <-ctx.Done():
	case <-time.After(lastWords):
	}
	c.session.end()
	cancel(errors.New("the agent is gone"))
	c.kill()
	select {
	case <-idle:
	case <-time.After(farewell):
		c.log.Warn("calls still running at the end are left behind")
	}
}

// idAtHead finds the id in the beginning of a message that was cut off, nil if it stands elsewhere.
func idAtHead(head []byte) json.RawMessage {
	id := rawjson.Member(head, "id")
	if id == nil || !strings.ContainsRune(`"-0123456789`, rune(id[0])) {
		return nil
	}
	return id
}

func blank(line []byte) bool {
	for _, b := range line {
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return false
		}
	}
	return true
}

// output writes whole messages, one at a time.
type output struct {
	fail    context.CancelCauseFunc
	framing atomic.Value // framing.Framing

	mu     sync.Mutex
	to     io.Writer
	broken error
}

// write sends one message in its frame. After the first failure it drops everything.
func (w *output) write(message parts) {
	before, after := w.framing.Load().(framing.Framing).Around(message.size())
	framed := make(parts, 0, len(message)+2)
	framed = append(append(append(framed, before), message...), after).joined()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, piece := range framed {
		if w.broken != nil {
			return
		}
		if len(piece) == 0 {
			continue
		}
		if _, err := w.to.Write(piece); err != nil {
			w.broken = err
			w.fail(err)
		}
	}
}

func (w *output) err() error {
	if !w.mu.TryLock() { // somebody still hangs in a write: out is not read any more
		return nil
	}
	defer w.mu.Unlock()
	return w.broken
}
