// Package viewface shows agents a tool view: its tools under their plain names, or a few tools to search and call them.
package viewface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// Options say which view is shown. Dispatcher, View and Definition are required; the Dispatcher has the view too.
type Options struct {
	Dispatcher *dispatch.Dispatcher
	View       string
	Definition view.Definition
	// Rest answers the methods for resources and prompts, which the view's agents see; nil: they have none.
	Rest serve.Face
	// Log is told of tools whose names two servers share; nil discards.
	Log *slog.Logger
}

// New returns the face of a view. Its agents see nothing but the view, whatever they were let in with.
func New(o Options) serve.Face {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	switch o.Definition.Exposure {
	case view.Dispatch:
		return within{serve.DispatchFace(o.Dispatcher), o.View}
	case view.Search, view.SearchPerServer:
		return within{&searchFace{base: newBase(o), perServer: o.Definition.Exposure == view.SearchPerServer}, o.View}
	}
	return within{&directFace{base: newBase(o)}, o.View}
}

// within is a face whose agents come in by a view.
type within struct {
	serve.Face
	view string
}

func (w within) agent(a dispatch.Agent) dispatch.Agent {
	a.View = w.view
	return a
}

// Tools are those of the view.
func (w within) Tools(a dispatch.Agent) []json.RawMessage { return w.Face.Tools(w.agent(a)) }

// Call calls within the view.
func (w within) Call(ctx context.Context, c serve.Call) (dispatch.Pieces, error) {
	c.Agent = w.agent(c.Agent)
	return w.Face.Call(ctx, c)
}

// Instructions are the view's.
func (w within) Instructions(a dispatch.Agent) string { return w.Face.Instructions(w.agent(a)) }

// Capabilities are the view's.
func (w within) Capabilities(a dispatch.Agent) json.RawMessage {
	return w.Face.Capabilities(w.agent(a))
}

// Handle answers within the view.
func (w within) Handle(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	r.Agent = w.agent(r.Agent)
	return w.Face.Handle(ctx, r)
}

// Notified hears agents of the view.
func (w within) Notified(a dispatch.Agent, method string, params json.RawMessage) {
	w.Face.Notified(w.agent(a), method, params)
}

// Attach attaches an agent of the view.
func (w within) Attach(p serve.Peer) (detach func()) { return w.Face.Attach(inside{p, w}) }

// inside is a peer as a face of a view knows it.
type inside struct {
	serve.Peer
	within within
}

// Agent is the agent with its view.
func (p inside) Agent() dispatch.Agent { return p.within.agent(p.Peer.Agent()) }

// base is what the forms of a view have in common.
type base struct {
	serve.Defaults
	o Options
}

func newBase(o Options) base { return base{o: o} }

// Instructions say what the view is for, and how to work with large results where it keeps them.
func (b base) Instructions(dispatch.Agent) string {
	text := b.o.Definition.Description
	if b.o.Definition.Spill {
		text += "\n\nA large result is kept aside: you get its shape and a handle, and read parts of it with " + readTool + "."
	}
	return strings.TrimSpace(text)
}

// Capabilities tell of resources and prompts where the view has some.
func (b base) Capabilities(dispatch.Agent) json.RawMessage {
	parts := []string{`"tools":{"listChanged":true}`}
	if d := b.o.Definition; b.o.Rest != nil {
		if d.IncludeAll || len(d.Resources) > 0 {
			parts = append(parts, `"resources":{"listChanged":true}`)
		}
		if d.IncludeAll || len(d.Prompts) > 0 {
			parts = append(parts, `"prompts":{"listChanged":true}`)
		}
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

// Handle answers what is about resources and prompts. A list of tools waits shortly for servers nobody has heard of.
func (b base) Handle(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	kind, _, _ := strings.Cut(r.Method, "/")
	switch {
	case r.Method == "tools/list":
		b.o.Dispatcher.Offers(ctx, r.Agent)
	case b.o.Rest != nil && (kind == "resources" || kind == "prompts" || kind == "completion"):
		return b.o.Rest.Handle(ctx, r)
	}
	return nil, serve.ErrNoMethod
}

// Attach lets the rest know of the agent, which tells it of changes.
func (b base) Attach(p serve.Peer) (detach func()) {
	if b.o.Rest == nil {
		return func() {}
	}
	return b.o.Rest.Attach(p)
}

// call takes one call to the server. Without spilling, the result is as large as it is and references are data.
func (b base) call(ctx context.Context, c serve.Call, tool, connection string, args json.RawMessage) (dispatch.Pieces, error) {
	r := dispatch.CallRequest{Tool: tool, Connection: connection, Arguments: args, Meta: passedOn(c.Meta), RequestMeta: c.Meta, Contact: c.Contact, Literal: true}
	if b.o.Definition.Spill {
		r.Literal, r.Reader = false, readAs
	} else {
		r.Threshold = new(int64)
	}
	answer, err := b.o.Dispatcher.Call(ctx, c.Agent, r)
	if err != nil {
		return failed(err)
	}
	return answer.Result(), nil
}

// failed shows an agent why there is no result.
func failed(err error) (dispatch.Pieces, error) {
	if e, ok := errors.AsType[*dispatch.Error](err); ok {
		return dispatch.Pieces{e.Result()}, nil
	}
	return nil, fmt.Errorf("call: %w", err)
}
