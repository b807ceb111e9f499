package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/downstream"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/oauth"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/serve/transparent"
)

// forwarder carries the dispatcher's requests to the fleet and words its errors for agents.
type forwarder struct {
	fleet *downstream.Fleet
	usher *usher // nil: nobody is asked to log in
}

// Forward implements dispatch.Forwarder.
func (f forwarder) Forward(ctx context.Context, r dispatch.Request) (json.RawMessage, error) {
	person := dispatch.Contact{Ask: r.Ask, Told: r.Told, Capabilities: r.Capabilities}
	sent := time.Now()
	r.Ask = asking(r.Server, r.Ask)
	raw, err := f.fleet.Do(ctx, downstream.Request(r))
	if errors.Is(err, downstream.ErrAuthRequired) && f.usher != nil && f.usher.invited(ctx, person, &r, sent, err) {
		raw, err = f.fleet.Do(ctx, downstream.Request(r))
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, downstream.ErrTimeout) {
		return nil, ended(err)
	}
	if err != nil {
		return nil, forwardError(r.Server, err)
	}
	return raw, nil
}

// asking puts a server's questions to an agent, saying whose they are, and words the agent's own errors as the fleet
// knows them.
func asking(server string, ask askFunc) askFunc {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		raw, err := ask(serve.AskedBy(ctx, server), method, transparent.Signed(server, params))
		if own, ok := errors.AsType[*dispatch.ServerError](err); ok {
			err = &downstream.RPCError{Code: own.Code, Message: own.Message, Raw: own.Raw}
		}
		return raw, err
	}
}

type askFunc = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

// State implements dispatch.Forwarder.
func (f forwarder) State(server string) (string, string) {
	state, why := f.fleet.State(server)
	return string(state), why
}

// ended is the error of a call that was given up while it ran: by its agent, who hears no more of it, or because the
// proxy ends.
func ended(err error) error {
	out := &dispatch.ForwardError{Code: dispatch.ServerUnavailable, Fate: dispatch.SentUnknown, Message: "the call was ended before its answer came", Retryable: true, Err: err}
	if e, ok := errors.AsType[*downstream.Error](err); ok {
		out.Fate = fates[e.Fate]
	}
	return out
}

// forwardError is what a failure of the fleet means to an agent.
func forwardError(server string, err error) error {
	if rpc, ok := errors.AsType[*downstream.RPCError](err); ok {
		return &dispatch.ServerError{Code: rpc.Code, Message: rpc.Message, Raw: rpc.Raw}
	}
	out := &dispatch.ForwardError{Code: dispatch.Internal, Fate: dispatch.SentUnknown, Message: err.Error(), Err: err}
	if e, ok := errors.AsType[*downstream.Error](err); ok {
		out.Fate = fates[e.Fate]
	}
	switch {
	case errors.Is(err, downstream.ErrAuthRequired):
		out.Code, out.Do = dispatch.AuthRequired, "Ask the person to run: "+loginLine(server, err)
	case errors.Is(err, downstream.ErrTimeout):
		out.Code, out.Retryable = dispatch.Timeout, out.Fate == dispatch.NotSent
		out.Do = "Give more time with timeoutMs, or ask for less"
	case errors.Is(err, downstream.ErrTooLarge):
		out.Code, out.Do = dispatch.TooLarge, "Ask the tool for less"
	case errors.Is(err, downstream.ErrDisabled):
		out.Code, out.Do = dispatch.ServerUnavailable, "It is switched off in the configuration"
	case errors.Is(err, downstream.ErrUnknownServer):
		out.Code = dispatch.NotFound
	case errors.Is(err, downstream.ErrUnavailable):
		out.Code, out.Retryable = dispatch.ServerUnavailable, true
	}
	return out
}

// loginLine is the command by which a person logs in to a server that refused us.
func loginLine(server string, err error) string {
	line := "proxy-dispatch login " + server
	if e, ok := errors.AsType[*downstream.ScopeError](err); ok {
		for _, scope := range oauth.Missing(e.Challenge) {
			if plainScope(scope) {
				line += " --scope " + scope
			}
		}
	}
	return line
}

// plainScope says that a scope can stand on a command line as it is: it is a server's word.
func plainScope(s string) bool {
	return len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(":/._-", r))
	})
}

var fates = map[downstream.Fate]dispatch.Fate{
	downstream.NotSent: dispatch.NotSent, downstream.SentUnknown: dispatch.SentUnknown, downstream.Ran: dispatch.Ran,
}
