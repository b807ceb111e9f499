package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// PassRequest is one request of an agent that goes whole to one server.
type PassRequest struct {
	// Method is the protocol's own, such as tools/call.
	Method string
	// Ref is what the request is about, by the server's own name. Without a kind only the server counts: the
	// request is about nothing that stands in a catalog.
	Ref catalog.Ref
	// Params are in the server's own words, without `_meta`. They are not changed.
	Params json.RawMessage
	// Meta is passed on as `_meta`; nil means none. It carries trace context as well.
	Meta json.RawMessage
	// Timeout bounds the request; 0 means the server's own.
	Timeout time.Duration
	// Spill keeps a tool's result that is over the agent's inline budget and gives a report in its place, which names
	// the resource to read it by: see ReadResource.
	Spill bool
	// Contact leads back to the agent.
	Contact
}

// Pass takes one request through the stations to the server that it names, and gives the raw result as the server
// sent it, of any size unless it may be spilled. The error is an *Error; where the server itself answered with one, a *ServerError is in its chain.
func (d *Dispatcher) Pass(ctx context.Context, a Agent, r PassRequest) (json.RawMessage, error) {
	ctx, end := d.recordPass(ctx, a, r)
	got, err := d.pass(ctx, a, r)
	return end(got, err)
}

// passed is a result on its way back.
type passed struct {
	raw  json.RawMessage // what the agent gets
	size int             // of what the server sent
	kept bool
}

func (d *Dispatcher) pass(ctx context.Context, a Agent, r PassRequest) (passed, error) {
	if r.Timeout > maxTimeout {
		r.Timeout = maxTimeout
	}
	entry, err := d.exactly(ctx, a, r.Ref)
	if err != nil {
		return passed{}, withFate(err, NotSent)
	}
	forward := func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		return d.forward(ctx, Request{Server: entry.Server, Method: r.Method, Params: r.answered(params), Idempotent: repeatable(r.Method, entry),
			Timeout: r.Timeout, Meta: d.o.Recorder.Inject(ctx, r.Meta),
			Progress: r.Progress, Told: r.Told, Ask: r.Ask, Capabilities: r.Capabilities, Asker: r.Asker, Relay: r.Relay})
	}
	if !crosses(r.Method) {
		raw, err := forward(ctx, r.Params)
		return passed{raw: raw, size: len(raw)}, err
	}
	own := d.Seen(a).Origin(entry)
	args := rawjson.Member(r.Params, "arguments")
	if args == nil {
		args = json.RawMessage("{}")
	}
	x := crossing{agent: a, entry: entry, own: own, asks: r.asks, person: r.Contact, send: func(ctx context.Context, sent json.RawMessage) (json.RawMessage, error) {
		if m := d.madeFor(a, own.Entry); m != nil {
			return d.runMade(ctx, &inside{d: d, agent: a, contact: r.Contact}, m, sent)
		}
		return forward(ctx, inOwnWords(r.Params, own.Entry, args, sent))
	}}
	raw, err := d.cross(ctx, x, args)
	if err != nil || !r.Spill || entry.Kind != catalog.Tool || r.asks(raw) {
		return passed{raw: raw, size: len(raw)}, err
	}
	return d.bounded(ctx, a, entry, own, raw)
}

// bounded keeps a result that is too large for the agent, and answers with a report.
func (d *Dispatcher) bounded(ctx context.Context, a Agent, e *catalog.Entry, own view.Origin, raw json.RawMessage) (passed, error) {
	got := passed{raw: raw, size: len(raw)}
	res, err := readResult(raw)
	limit := d.limit(a, CallRequest{})
	if err != nil || !d.overLimit(a, res, limit) { // what is no result is for the agent to find out
		return got, nil
	}
	answer, err := d.settle(ctx, a, &performed{request: CallRequest{Reader: ReadAsResource}, entry: e, own: own, res: res}, limit)
	if err != nil {
		return got, withFate(err, Ran)
	}
	got.raw, got.kept = answer.Result().Raw(), answer.Handle != ""
	return got, nil
}

// crosses reports whether the answer to a method is what a tool, resource or prompt gives: what hooks are for.
func crosses(method string) bool {
	switch method {
	case "tools/call", "resources/read", "prompts/get", "tasks/result":
		return true
	}
	return false
}

// inOwnWords puts the server's own name and the arguments that became of args into params, where they differ.
func inOwnWords(params json.RawMessage, own *catalog.Entry, args, sent json.RawMessage) json.RawMessage {
	renamed := own.Kind != catalog.Resource && own.Name != "" && rawjson.Unquote(rawjson.Member(params, "name")) != own.Name
	if !renamed && bytes.Equal(args, sent) {
		return params
	}
	obj, err := arguments.ParseObject(params)
	if err != nil {
		return params // the server says what is wrong with them
	}
	if renamed {
		obj = obj.Set("name", rawjson.Quote(own.Name))
	}
	if !bytes.Equal(args, sent) {
		obj = obj.Set("arguments", sent)
	}
	return obj.Raw()
}

// recordPass begins the record of a request that is passed on; the function it returns ends it.
func (d *Dispatcher) recordPass(ctx context.Context, a Agent, r PassRequest) (context.Context, func(passed, error) (json.RawMessage, error)) {
	info := CallInfo{Agent: a, Action: r.Method, Connection: r.Ref.Server, Tool: r.Ref.Name, Arguments: r.Params, Meta: r.Meta}
	if r.Ref.Kind == catalog.Tool {
		info.Action, info.Arguments = "call", rawjson.Member(r.Params, "arguments")
	}
	ctx, done := d.o.Recorder.Begin(ctx, info)
	return ctx, func(got passed, err error) (json.RawMessage, error) {
		out := Outcome{Connection: r.Ref.Server, Tool: r.Ref.Name, Bytes: int64(got.size), Spilled: got.kept}
		if err != nil {
			if out.Code = asError(err).Code; out.Code == UnknownTool {
				out.Connection, out.Tool = "", ""
			}
			done(out)
			return nil, err
		}
		out.IsError = r.Ref.Kind == catalog.Tool && saysError(got.raw)
		done(out)
		return got.raw, nil
	}
}

// repeatable reports whether a request may be sent again after the session was lost.
func repeatable(method string, e *catalog.Entry) bool {
	switch method {
	case "tools/call":
		return e.ReadOnly != nil && *e.ReadOnly || e.Idempotent != nil && *e.Idempotent
	case "resources/read", "prompts/get", "completion/complete", "tasks/get", "tasks/list", "tasks/result":
		return true
	}
	return false
}

// exactly finds the entry of a ref in what the agent sees. A server nobody has heard of is asked first, within
// ctx and the time a call that names its connection may wait. Of a resource in no list the server has the last word.
func (d *Dispatcher) exactly(ctx context.Context, a Agent, ref catalog.Ref) (*catalog.Entry, error) {
	srv, err := d.server(a, ref.Server)
	if err != nil {
		return nil, err
	}
	ref.Server = srv.Name
	if ref.Kind == "" {
		return &catalog.Entry{Ref: ref}, nil
	}
	v := d.Seen(a)
	if !srv.Known {
		wait, cancel := context.WithTimeout(ctx, waitOf(CallRequest{Connection: ref.Server}))
		defer cancel()
		if err := d.o.Catalog.Refresh(wait, ref.Server); err != nil {
			d.o.Log.Debug("refresh", "server", ref.Server, "error", err) // stands in the snapshot
		}
		v = d.Seen(a)
	}
	if e := v.Entry(ref); e != nil {
		return e, nil
	}
	if ref.Kind == catalog.Resource && v.Open(ref.Server, ref.Name) {
		return &catalog.Entry{Ref: ref}, nil
	}
	err = fmt.Errorf("%q: %w", ref.Name, view.ErrUnknown)
	if _, found := v.Resolve(ref.Kind, ref.Name, ref.Server); errors.Is(found, view.ErrDenied) {
		err = found
	}
	return nil, d.unresolved(v, ref.Kind, ref.Name, ref.Server, err)
}

// Find returns the entry that a name in any of its forms means to an agent. A name nobody known has is looked for at
// the servers that have not been heard of, for some seconds at most. The error is an *Error; a *view.AmbiguousError
// or view.ErrDenied is in its chain where that is the reason.
func (d *Dispatcher) Find(ctx context.Context, a Agent, kind catalog.Kind, name string) (*catalog.Entry, error) {
	e, _, err := d.resolve(ctx, a, kind, name, "", waitOf(CallRequest{}))
	return e, err
}

// saysError reports whether a result says isError. A long one without the word is not walked through.
func saysError(raw json.RawMessage) bool {
	return bytes.Contains(raw, []byte(`"isError"`)) && string(rawjson.Member(raw, "isError")) == "true"
}
