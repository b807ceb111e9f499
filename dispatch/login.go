package dispatch

import (
	"context"
	"errors"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// resolveOrLogIn is resolve for a call. Where the name leads to a server of which nothing is known because it wants a
// login, the person at the agent is asked for that first.
func (d *Dispatcher) resolveOrLogIn(ctx context.Context, a Agent, r CallRequest) (*catalog.Entry, *view.View, error) {
	kind := kindOf(string(r.Type))
	e, v, err := d.resolve(ctx, a, kind, r.Tool, r.Connection, waitOf(r))
	own, ok := errors.AsType[*Error](err)
	if !ok || own.login == "" || d.o.LogIn == nil || r.DryRun {
		return e, v, err
	}
	within := ctx
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	if d.o.LogIn(within, own.login, r.Contact) != nil {
		return e, v, err // which says what a person can do
	}
	return d.resolve(ctx, a, kind, r.Tool, r.Connection, waitOf(r))
}
