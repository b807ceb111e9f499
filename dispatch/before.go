package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// before turns an agent's arguments into the server's: the view's binding first, then the hooks in their order. A hook
// may answer in the server's place; what it must be told in the end is in done.
func (d *Dispatcher) before(ctx context.Context, x *crossing, args json.RawMessage) (sent, answer json.RawMessage, done []func(json.RawMessage, error), err error) {
	if x.own.Binding != nil {
		args = x.own.Binding.Apply(args)
	}
	for _, h := range d.hooksFor(x.agent, x.own.Entry.Ref, false) {
		v, err := d.runHook(ctx, h, x, args, nil)
		if err != nil {
			return nil, nil, nil, err
		}
		if v.Done != nil {
			done = append(done, v.Done)
		}
		if v.Arguments != nil {
			args = v.Arguments
		}
		if v.Result != nil {
			return args, v.Result, done, nil
		}
	}
	return args, nil, done, nil
}

// recheck holds arguments that a view or a hook has changed against the server's own schema.
func (d *Dispatcher) recheck(x crossing, checked, sent json.RawMessage) error {
	if x.own.Binding == nil && bytes.Equal(checked, sent) {
		return nil
	}
	s := d.schemaOf(x.agent, x.own.Entry)
	if s == nil {
		return nil
	}
	err := s.Check(sent)
	if err == nil {
		return nil
	}
	d.o.Log.Warn("arguments that a view or a hook has changed do not fit the server's schema", "tool", x.own.Entry.Ref.String(), "view", x.agent.View, "error", err)
	return &Error{Code: InvalidArguments, Message: fmt.Sprintf("what the configuration makes of the arguments of %s does not fit its server", x.entry.Ref),
		Do: "Other values may; else ask the person who runs proxy-dispatch, whose log says more", Err: err}
}

// runHook runs one hook and checks what it gives.
func (d *Dispatcher) runHook(ctx context.Context, h hookRule, x *crossing, args, result json.RawMessage) (Verdict, error) {
	own := x.own.Entry
	v, err := h.Hook.Run(ctx, HookCall{Agent: x.agent, Ref: own.Ref, Shown: x.entry.Name, Arguments: args, Result: result,
		ReadOnly: own.ReadOnly != nil && *own.ReadOnly, Idempotent: own.Idempotent != nil && *own.Idempotent})
	if err == nil {
		err = checkVerdict(&v)
	}
	if err != nil {
		if ctx.Err() != nil {
			return v, &Error{Code: Timeout, Message: "the call ended while a hook ran", Err: err}
		}
		d.o.Log.Warn("a hook failed", "hook", h.Name, "tool", own.Ref.String(), "error", err)
		return v, &Error{Code: Internal, Message: fmt.Sprintf("the hook %s failed, and nothing passes without it", h.Name), Err: err,
			Do: "Ask the person who runs proxy-dispatch, whose log says more"}
	}
	if v.Abort != "" {
		e := &Error{Code: v.Code, Message: clip(v.Abort, 1000), Retryable: v.Retryable}
		if e.Code == "" {
			e.Code = Denied
		}
		return v, e
	}
	if v.Meta != nil {
		x.meta = append(x.meta, v.Meta)
	}
	return v, nil
}

// checkVerdict holds what a hook gives to the form the stations count on.
func checkVerdict(v *Verdict) error {
	for _, part := range []struct {
		name string
		raw  json.RawMessage
	}{{"arguments", v.Arguments}, {"meta", v.Meta}} {
		if part.raw == nil {
			continue
		}
		if _, err := arguments.ParseObject(part.raw); err != nil {
			return fmt.Errorf("its %s: %w", part.name, err)
		}
	}
	if v.Result != nil {
		if trimmed := bytes.TrimSpace(v.Result); !json.Valid(trimmed) || trimmed[0] != '{' {
			return errors.New("its result is not a JSON object")
		}
	}
	return nil
}
