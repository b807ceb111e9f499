package dispatch

import (
	"context"
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// crossing is one request on its way to what stands behind a seen entry, and back.
type crossing struct {
	agent Agent
	entry *catalog.Entry // as the agent sees it
	own   view.Origin
	// send takes the arguments, in the server's own words, to the server.
	send func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)
	// asks tells results that ask the agent for input first.
	asks func(result json.RawMessage) bool
	// person leads to whom a confirmation is asked of; agreed says that it was given.
	person Contact
	agreed bool
	meta   []json.RawMessage // what hooks add to the result's `_meta`
}

// cross takes an agent's checked arguments through the stations between the agent's words and the server's: before,
// recheck, confirm, the server itself, after. A result that asks the agent for input first is for no hook.
func (d *Dispatcher) cross(ctx context.Context, x crossing, args json.RawMessage) (json.RawMessage, error) {
	sent, answer, done, err := d.before(ctx, &x, args)
	if err == nil && answer == nil {
		if err = d.recheck(x, args, sent); err == nil {
			err = d.confirm(ctx, x, sent)
		}
	}
	if err != nil {
		return nil, withFate(err, NotSent)
	}
	if answer == nil {
		answer, err = x.send(ctx, sent)
	}
	for _, f := range done {
		f(answer, err)
	}
	if err != nil || x.asks(answer) {
		return answer, err
	}
	return d.after(ctx, &x, sent, answer)
}
