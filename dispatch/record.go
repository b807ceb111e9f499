package dispatch

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// Recorder sees the start and the end of every request; metrics, audit and traces hang on it.
// Implementations are called concurrently and must not block.
type Recorder interface {
	// Begin is called once per request. The context it returns is used for all that follows; the
	// function it returns is called exactly once, at the end.
	Begin(ctx context.Context, c CallInfo) (context.Context, func(Outcome))
	// Inject returns the `_meta` object that goes to the server: meta (nil if the agent sent none)
	// with the trace context of ctx. It returns meta itself when there is nothing to add.
	Inject(ctx context.Context, meta json.RawMessage) json.RawMessage
}

// CallInfo is what is known when a request starts.
type CallInfo struct {
	Agent  Agent
	Action string // "call", "search", …
	// Connection and Tool are as the agent wrote them, before they are resolved.
	Connection, Tool string
	// Arguments is given for its shape and size; its values must not be recorded.
	Arguments json.RawMessage
	// Meta is the request's `_meta`, the source of a parent trace.
	Meta json.RawMessage
}

// Outcome is what is known when a request ends.
type Outcome struct {
	Connection, Tool string // resolved names, empty when the request did not get that far
	Code             Code   // empty when the request succeeded
	IsError          bool   // the server's own result said isError
	Spilled          bool
	Bytes            int64 // size of the server's result
	Tokens           int   // its estimated tokens
	// From is where the kept data came from that the call was given, or that it was denied.
	From []string
}

// failed is the outcome of a call that failed.
func failed(err error) Outcome {
	out := Outcome{Code: asError(err).Code}
	if f, ok := errors.AsType[*flowError](err); ok {
		out.Connection, out.Tool, out.From = f.to.Server, f.to.Name, spill.Sources{f.from}.Names()
	}
	return out
}

// unrecorded is the Recorder of a Dispatcher that was given none.
type unrecorded struct{}

func (unrecorded) Begin(ctx context.Context, _ CallInfo) (context.Context, func(Outcome)) {
	return ctx, func(Outcome) {}
}

func (unrecorded) Inject(_ context.Context, meta json.RawMessage) json.RawMessage { return meta }
