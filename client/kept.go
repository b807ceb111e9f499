package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// ErrKept: the proxy kept the result outside the conversation; its answer is a report. Options.Whole reads it back.
var ErrKept = errors.New("result was kept by the proxy")

// Handle names a result that the proxy kept outside the conversation; "" where the answer is the result itself.
func (r *Result) Handle() string {
	return rawjson.Unquote(rawjson.Member(rawjson.Member(r.Meta, "proxy-dispatch"), "handle"))
}

// readBytes is how many bytes one reading of a kept result asks for; a proxy may give less.
const readBytes = 1 << 20

// whole reads a kept result back: the result as the server gave it, exactly. Other answers come back as they are.
func (c *Client) whole(ctx context.Context, r *Result, about Operation) (*Result, error) {
	handle := r.Handle()
	if !c.o.Whole || handle == "" {
		return r, nil
	}
	var all []byte
	for offset := int64(0); ; {
		part, err := c.readPart(ctx, handle, offset)
		if err != nil {
			return nil, fmt.Errorf("read %s back: %w", handle, err)
		}
		all = append(all, part.text...)
		if int64(len(all)) > c.o.MaxWhole {
			return nil, fmt.Errorf("read %s back: %w: more than %d bytes", handle, ErrTooLarge, c.o.MaxWhole)
		}
		if part.next <= offset {
			break
		}
		offset = part.next
	}
	if !rawjson.Valid(all) {
		return nil, fmt.Errorf("read %s back: %w: it is no JSON", handle, ErrShape)
	}
	if about.Type == TypePrompt && rawjson.Member(all, "messages") != nil {
		return FromPrompt(all, about.Path)
	}
	got, err := ReadResult(all)
	if err != nil || about.Type != TypePrompt {
		return got, err
	}
	// A prompt is kept in the form of a tool's result, without the annotations that say so.
	for i := range got.Items {
		got.Items[i].About.PythonType = promptResult
	}
	return got, nil
}

// part is a part of a kept result.
type part struct {
	text []byte
	next int64 // where the next part begins; 0 if this is the last
}

// readPart reads one part of the whole of a kept result, through the tool that keeps it.
func (c *Client) readPart(ctx context.Context, handle string, offset int64) (part, error) {
	tool, err := c.Tool(ctx)
	if err != nil {
		return part{}, err
	}
	var arguments json.RawMessage
	if tool.Kind == KindDispatch {
		arguments = fields("action", "readresult", "resultFile", handle+"#raw", "op", "bytes", "offset", offset, "maxBytes", readBytes, "format", "json")
	} else {
		q := url.Values{"op": {"bytes"}, "offset": {strconv.FormatInt(offset, 10)}, "maxBytes": {strconv.Itoa(readBytes)}, "format": {"json"}}
		arguments = fields("action", actionCall, "type", "resource", "path", "spill://"+handle+"?"+q.Encode()+"#raw")
	}
	r, err := c.use(ctx, tool.Name, arguments, 0, nil)
	if err != nil {
		return part{}, err
	}
	if err := r.Err(); err != nil {
		return part{}, err
	}
	return readAnswer(r)
}

// readAnswer takes a part out of the JSON by which either tool answers.
func readAnswer(r *Result) (part, error) {
	for _, item := range r.Items {
		said := rawjson.Member(item.Raw, "text")
		if said == nil {
			said = rawjson.Member(rawjson.Member(item.Raw, "resource"), "text")
		}
		body := rawjson.Text(said)
		if !rawjson.Valid(body) {
			continue
		}
		p := part{}
		for block := range rawjson.Elements(rawjson.Member(body, "content")) {
			p.text = append(p.text, rawjson.Text(rawjson.Member(block, "text"))...)
		}
		if next := rawjson.Member(body, "nextOffset"); next != nil {
			p.next, _ = strconv.ParseInt(string(next), 10, 64)
		}
		return p, nil
	}
	return part{}, fmt.Errorf("%w: the proxy gives no part of it", ErrShape)
}

// fields is an object of keys and values by turns; values are strings, numbers, booleans or raw JSON.
func fields(keysAndValues ...any) json.RawMessage {
	out := []byte(`{}`)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		var v []byte
		switch value := keysAndValues[i+1].(type) {
		case string:
			v = rawjson.Quote(value)
		case json.RawMessage:
			v = value
		default:
			v = fmt.Append(nil, value)
		}
		out = rawjson.Set(out, keysAndValues[i].(string), v)
	}
	return out
}
