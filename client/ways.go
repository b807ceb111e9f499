package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// maxPages bounds the pages of one list, against a proxy that never ends.
const maxPages = 10_000

// entries reads all pages of a list, whichever tool the proxy has.
func (c *Client) entries(ctx context.Context, t Type) ([]json.RawMessage, error) {
	tool, err := c.Tool(ctx)
	if err != nil {
		return nil, err
	}
	page := c.proxyPage
	if tool.Kind == KindDispatch {
		page = func(ctx context.Context, t Type, offset int) ([]json.RawMessage, bool, error) {
			return c.dispatchPage(ctx, tool.Name, t, offset)
		}
	}
	var all []json.RawMessage
	for range maxPages {
		entries, more, err := page(ctx, t, len(all))
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
		if !more || len(entries) == 0 {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%w: more than %d pages", ErrShape, maxPages)
}

// proxyPage reads one page of a list of the tool of the draft.
func (c *Client) proxyPage(ctx context.Context, t Type, offset int) (entries []json.RawMessage, more bool, err error) {
	r, err := c.Proxy(ctx, Operation{Action: ActionList, Type: t, Limit: c.o.PageSize, Offset: offset})
	if err != nil {
		return nil, false, err
	}
	if len(r.Items) == 0 && !r.IsError { // how some proxies say that there is nothing
		return nil, false, nil
	}
	raw, err := r.JSON()
	if err != nil {
		return nil, false, err
	}
	for e := range rawjson.Elements(raw) {
		entries = append(entries, e)
	}
	return entries, offset+len(entries) < r.About().TotalCount, nil
}

// dispatchPage reads one page of a list of proxy-dispatch. Its entries hold names, descriptions, input schemas and
// annotations.
func (c *Client) dispatchPage(ctx context.Context, tool string, t Type, offset int) (entries []json.RawMessage, more bool, err error) {
	r, err := c.use(ctx, tool, fields("action", actionList, "type", string(t), "format", "json", "limit", c.o.PageSize, "offset", offset,
		"includeInputSchema", true, "includeAnnotations", true), 0, nil)
	if err != nil {
		return nil, false, err
	}
	body, err := r.text()
	if err != nil {
		return nil, false, err
	}
	for connection := range rawjson.Elements(rawjson.Member(body, "connections")) {
		server := rawjson.Unquote(rawjson.Member(connection, "connection"))
		for e := range rawjson.Elements(rawjson.Member(connection, string(t)+"s")) {
			entries = append(entries, asEntry(t, server, e))
		}
	}
	next := rawjson.Member(body, "nextOffset")
	return entries, next != nil && string(next) != strconv.Itoa(offset), nil
}

// asEntry gives an entry of proxy-dispatch the form of the protocol's own lists.
func asEntry(t Type, server string, e json.RawMessage) json.RawMessage {
	name := rawjson.Unquote(rawjson.Member(e, "name"))
	switch {
	case t != TypeResource:
		return rawjson.Set(e, "name", rawjson.Quote(server+"/"+name))
	case rawjson.Member(e, "inputSchema") != nil: // it has something to fill in
		return rawjson.Set(rawjson.Drop(e, "inputSchema"), "uriTemplate", rawjson.Quote(name))
	}
	return rawjson.Set(e, "uri", rawjson.Quote(name))
}

// text is the JSON that the answer's only text holds.
func (r *Result) text() (json.RawMessage, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	if len(r.Items) == 1 {
		if body := rawjson.Text(rawjson.Member(r.Items[0].Raw, "text")); rawjson.Valid(body) {
			return body, nil
		}
	}
	return nil, fmt.Errorf("%w: it is no JSON text", ErrShape)
}

// call calls through whichever tool the proxy has, and reads a kept result back if that is wanted.
func (c *Client) call(ctx context.Context, t Type, call Call) (*Result, error) {
	o := Operation{Action: ActionCall, Type: t, Path: call.Name, Arguments: call.Arguments, Timeout: call.Timeout, Progress: call.Progress}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	tool, err := c.Tool(ctx)
	if err != nil {
		return nil, err
	}
	var r *Result
	if tool.Kind == KindDispatch {
		r, err = c.dispatchCall(ctx, tool.Name, o)
	} else {
		r, err = c.Proxy(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	return c.whole(ctx, r, o)
}

// dispatchCall calls through proxy-dispatch. A prompt comes in the JSON form for programs, where it stands as its server
// gave it.
func (c *Client) dispatchCall(ctx context.Context, tool string, o Operation) (*Result, error) {
	arguments, err := encodeObject(o.Arguments)
	if err != nil {
		return nil, err
	}
	in := fields("action", actionCall, "type", string(o.Type), "tool", o.Path)
	if arguments != nil {
		in = rawjson.Set(in, "arguments", arguments)
	}
	if c.o.Whole {
		in = rawjson.Set(in, "resultSizeThreshold", []byte("0"))
	}
	if o.Type != TypePrompt {
		return c.use(ctx, tool, in, o.Timeout, o.Progress)
	}
	r, err := c.use(ctx, tool, rawjson.Set(in, "format", []byte(`"json"`)), o.Timeout, o.Progress)
	if err != nil || r.IsError {
		return r, err
	}
	body, err := r.text()
	if err != nil {
		return nil, err
	}
	if handle := rawjson.Member(body, "handle"); handle != nil {
		r.Meta = fields("proxy-dispatch", fields("handle", handle))
		return r, nil
	}
	prompt := rawjson.Member(body, "prompt")
	if prompt == nil {
		return nil, fmt.Errorf("%w: it holds no prompt", ErrShape)
	}
	return FromPrompt(prompt, o.Path)
}
