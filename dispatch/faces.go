package dispatch

import (
	"context"
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// What a face of its own words needs beside Call, Batch and Pass: what is seen, records of what it answers itself, and
// answers as results of the protocol.

// Form gives a server's raw answer to resources/read or prompts/get the form of a tool's result; nil leaves it to us.
type Form func(kind catalog.Kind, raw json.RawMessage) json.RawMessage

// Offers is Seen after waiting shortly, two seconds at most, for servers that nobody has heard of yet.
func (d *Dispatcher) Offers(ctx context.Context, a Agent) *view.View {
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	return d.awaited(ctx, a)
}

// Await is Seen once all servers that the agent sees have been heard of or have failed, or when ctx ends.
func (d *Dispatcher) Await(ctx context.Context, a Agent) *view.View { return d.awaited(ctx, a) }

// Begin records a request that a face answers itself, as Recorder.Begin does: the function returned must be called
// once, at its end.
func (d *Dispatcher) Begin(ctx context.Context, c CallInfo) (context.Context, func(Outcome)) {
	return d.o.Recorder.Begin(ctx, c)
}

// NotAsked names the servers whose offers are not known, and why, in one line; "" if there are none.
func (d *Dispatcher) NotAsked(a Agent) string {
	return unavailableLine(d.unavailable(d.Seen(a), ""))
}

// MaxInput is the most bytes of one input of an agent.
func (d *Dispatcher) MaxInput() int { return d.o.MaxInput }

// Result is the failure as a complete CallToolResult.
func (e *Error) Result() json.RawMessage { return errorResult(e, false) }

// Result is the answer as a complete CallToolResult: the server's own with our words in `_meta`, or ours.
func (c *CallAnswer) Result() Pieces { return c.render(&request{}) }

// Result is what one call of a batch gave as a complete CallToolResult.
func (it BatchItem) Result() Pieces {
	if it.err != nil {
		return Pieces{it.err.Result()}
	}
	return it.CallAnswer.Result()
}

// Failure is why one call of a batch gave no result; nil if it gave one.
func (it BatchItem) Failure() error {
	if it.err == nil {
		return nil
	}
	return it.err
}
