package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// outgoing is the request that a call becomes, but for its `_meta`.
func outgoing(e *catalog.Entry, args json.RawMessage, r CallRequest) Request {
	out := Request{Server: e.Server, Timeout: r.Timeout, Progress: r.Progress, Told: r.Told, Ask: r.Ask, Capabilities: r.Capabilities, Asker: r.Asker, Relay: r.Relay}
	switch e.Kind {
	case catalog.Resource:
		uri := e.Name
		if e.Template {
			if uri = r.Tool; uri == e.Name {
				uri = expandTemplate(e.Name, args)
			}
		}
		out.Method, out.Idempotent = "resources/read", true
		out.Params = arguments.Object{{Key: "uri", Value: mustJSON(uri)}}.Raw()
	case catalog.Prompt:
		out.Method, out.Idempotent = "prompts/get", true
		out.Params = named(e.Name, args)
	default:
		out.Method = "tools/call"
		out.Idempotent = e.ReadOnly != nil && *e.ReadOnly || e.Idempotent != nil && *e.Idempotent
		out.Params = named(e.Name, args)
	}
	out.Params = r.answered(out.Params)
	return out
}

func named(name string, args json.RawMessage) json.RawMessage {
	return arguments.Object{{Key: "name", Value: mustJSON(name)}, {Key: "arguments", Value: args}}.Raw()
}

// forward sends the request and turns a failure into an *Error that says what became of it.
func (d *Dispatcher) forward(ctx context.Context, req Request) (json.RawMessage, error) {
	raw, err := d.o.Forwarder.Forward(ctx, req)
	if err == nil {
		return raw, nil
	}
	if fe, ok := errors.AsType[*ForwardError](err); ok {
		return nil, &Error{Code: fe.Code, Message: d.o.Redact(fe.Message), Do: d.o.Redact(fe.Do), Retryable: fe.Retryable, Fate: fe.Fate, Err: err}
	}
	if se, ok := errors.AsType[*ServerError](err); ok {
		return nil, serverError(req, se)
	}
	return nil, &Error{Code: Internal, Message: d.o.Redact(err.Error()), Fate: SentUnknown, Err: err}
}

// serverError gives a server's own JSON-RPC error, its words as they are.
func serverError(req Request, se *ServerError) *Error {
	e := &Error{Code: Internal, Message: fmt.Sprintf("%s answered: %s (error %d)", req.Server, se.Message, se.Code), Fate: Ran, Err: se}
	switch se.Code {
	case -32602:
		e.Code = InvalidArguments
	case -32002:
		e.Code = NotFound
	case -32601:
		e.Code = NotFound
	}
	if data := rawjson.Member(se.Raw, "data"); data != nil && string(data) != "null" {
		e.Do = "Its data: " + clip(oneLine(string(data)), 500)
	}
	return e
}

// received reads the raw answer to a call; what resources and prompts answer becomes content blocks, in the face's
// own form if it has one.
func received(e *catalog.Entry, raw json.RawMessage, form Form) (*result, error) {
	var formed json.RawMessage
	if form != nil && e.Kind != catalog.Tool {
		formed = form(e.Kind, raw)
	}
	switch {
	case formed != nil:
		raw = formed
	case e.Kind == catalog.Resource:
		raw = resourceBlocks(raw)
	case e.Kind == catalog.Prompt:
		raw = promptBlocks(raw)
	}
	res, err := readResult(raw)
	if err != nil {
		return nil, withFate(&Error{Code: Internal, Message: e.Server + ": " + asError(err).Message, Err: err}, SentUnknown)
	}
	return res, nil
}

// resourceBlocks puts each content of a resources/read result into an embedded resource block.
func resourceBlocks(raw json.RawMessage) json.RawMessage {
	var blocks []json.RawMessage
	for c := range rawjson.Elements(rawjson.Member(raw, "contents")) {
		blocks = append(blocks, arguments.Object{{Key: "type", Value: json.RawMessage(`"resource"`)}, {Key: "resource", Value: c}}.Raw())
	}
	return contentResult(blocks, false, carriedMeta(raw)...)
}

// promptBlocks makes the content blocks of a prompt's messages, unchanged and in order; a line before
// each tells its role when there is more than one message or one that is not the user's.
func promptBlocks(raw json.RawMessage) json.RawMessage {
	messages := slices.Collect(rawjson.Elements(rawjson.Member(raw, "messages")))
	var blocks []json.RawMessage
	for _, m := range messages {
		if role := rawjson.Unquote(rawjson.Member(m, "role")); len(messages) > 1 || role != "user" {
			blocks = append(blocks, textBlock("["+role+"]"))
		}
		content := rawjson.Member(m, "content")
		if len(content) > 0 && content[0] == '[' {
			blocks = slices.AppendSeq(blocks, rawjson.Elements(content))
		} else if content != nil {
			blocks = append(blocks, content)
		}
	}
	return contentResult(blocks, false, carriedMeta(raw)...)
}

// carriedMeta keeps the `_meta` of a result that is given another form.
func carriedMeta(raw json.RawMessage) []arguments.Member {
	if m := rawjson.Member(raw, "_meta"); len(m) > 0 && m[0] == '{' {
		return []arguments.Member{{Key: "_meta", Value: m}}
	}
	return nil
}
