package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// maxTimeout is the longest a call may ask for.
const maxTimeout = 24 * time.Hour

// admit checks what can be said of a call before anything is looked up.
func (d *Dispatcher) admit(r CallRequest) error {
	switch {
	case r.Tool == "":
		return &Error{Code: BadRequest, Message: "tool is missing", Do: "Name it as connection/name; search finds one"}
	case r.Timeout > maxTimeout:
		return &Error{Code: BadRequest, Message: fmt.Sprintf("timeoutMs is more than a day (%s)", r.Timeout)}
	case r.Meta != nil:
		if _, err := arguments.ParseObject(r.Meta); err != nil {
			return &Error{Code: BadRequest, Message: "meta is not a JSON object: " + err.Error(), Err: err}
		}
	}
	if r.pagesErr != nil {
		return r.pagesErr
	}
	if r.Pages != nil {
		if err := d.checkPages(*r.Pages); err != nil {
			return err
		}
	}
	if r.Read != nil {
		return d.checkRead(*r.Read)
	}
	return nil
}

// waitOf is how long a call may wait for a connection whose offers are not known.
func waitOf(r CallRequest) time.Duration {
	const unnamed, named = 10 * time.Second, 60 * time.Second
	switch {
	case r.Timeout > 0:
		return r.Timeout
	case r.Connection != "":
		return named
	}
	return unnamed
}

// record begins the record of a call; the function it returns ends it and passes the answer on.
func (d *Dispatcher) record(ctx context.Context, a Agent, r CallRequest) (context.Context, func(*CallAnswer, error) (*CallAnswer, error)) {
	ctx, done := d.o.Recorder.Begin(ctx, CallInfo{Agent: a, Action: "call", Connection: r.Connection, Tool: r.Tool, Arguments: r.Arguments, Meta: r.RequestMeta})
	return ctx, func(c *CallAnswer, err error) (*CallAnswer, error) {
		if err != nil {
			done(failed(err))
			return nil, err
		}
		done(Outcome{From: c.given.Names(), Connection: c.Connection, Tool: c.Tool, IsError: c.IsError, Spilled: c.Handle != "", Bytes: c.ByteSize, Tokens: c.EstimatedTokens})
		return c, nil
	}
}
