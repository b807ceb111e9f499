package outside

import (
	"context"
	"encoding/json"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/script"
)

// Module is a hook that a module exports: export(context, args) before a call, export(context, args, result, data) after
// it. The module stays its owner's. Timeout 0 means DefaultTimeout.
func Module(m *script.Module, export string, timeout time.Duration) dispatch.Hook {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return dispatch.HookFunc(func(ctx context.Context, c dispatch.HookCall) (dispatch.Verdict, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		args := []json.RawMessage{told(c), c.Arguments}
		if c.Result != nil {
			args = append(args, c.Result, dispatch.DataOf(c.Result))
		}
		raw, err := m.Call(ctx, export, scope{principal: c.Agent.Principal + "\x00" + c.Agent.View}, args...)
		if err != nil {
			return dispatch.Verdict{}, err
		}
		return verdict(c, raw)
	})
}

// scope is the host of a hook: it offers nothing, and what a module keeps in variables stays with one principal.
type scope struct {
	script.Closed
	principal string
}

// Scope names the principal and the view.
func (s scope) Scope() string { return s.principal }
