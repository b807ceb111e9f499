package downstream

import (
	"errors"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/remote"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const maxWhy = 600 // bytes shown of a reason

// Fate says what became of a request that failed.
type Fate = wire.Fate

// The fates of a request.
const (
	NotSent     = wire.NotSent     // the server never saw it: safe to repeat
	SentUnknown = wire.SentUnknown // it was sent, at least in part, and nobody knows what became of it
	Ran         = wire.Ran         // the server answered it
)

// Sentinels of this package; every failed Do is one of them, an RPCError, or the caller's own cancellation.
var (
	ErrUnavailable   = wire.ErrUnavailable
	ErrTimeout       = wire.ErrTimeout
	ErrTooLarge      = wire.ErrTooLarge
	ErrAuthRequired  = remote.ErrAuthRequired
	ErrUnknownServer = errors.New("unknown server")
	ErrDisabled      = errors.New("server disabled")
)

// What ends a session; they stay inside this package.
var (
	errClosing = errors.New("the fleet is closing")
	// errReplaced ends a server that the configuration has no longer, or has changed.
	errReplaced = errors.New("its configuration was changed")
	errRestart  = errors.New("restart asked for")
	errSilent   = errors.New("no answer to ping")
	errLeft     = errors.New("the agent left")
	errIdle     = errors.New("the agent has asked nothing for long")
	errAgents   = errors.New("too many agents use this server at once")
)

// Error is a failed request: whose, what became of it, and why. Its words are redacted,
// but for those of an RPCError, which are the server's answer.
type Error struct {
	Server string
	Fate   Fate
	Err    error
}

// Error names the server and the reason.
func (e *Error) Error() string {
	if e.Server == "" {
		return e.Err.Error()
	}
	return "server " + e.Server + ": " + e.Err.Error()
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

// ScopeError is the refusal of a login that allows too little; it is an ErrAuthRequired.
type ScopeError = remote.ScopeError

// RPCError is the JSON-RPC error a server answered with.
type RPCError = wire.RPCError
