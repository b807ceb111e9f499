package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxWhy = 600     // bytes shown of a reason
	maxRaw = 4 << 10 // bytes of a text in which secrets are looked for before it is cut to what is shown
)

// Fate says what became of a request that failed.
type Fate int

// The fates of a request.
const (
	NotSent     Fate = iota // the server never saw it: safe to repeat
	SentUnknown             // it was sent, at least in part, and nobody knows what became of it
	Ran                     // the server answered it
)

// String is the fate in words.
func (f Fate) String() string {
	switch f {
	case NotSent:
		return "not sent"
	case SentUnknown:
		return "sent, outcome unknown"
	default:
		return "ran"
	}
}

// Sentinels of this package; every failed Do is one of them, an RPCError, or the caller's own cancellation.
var (
	ErrUnavailable   = errors.New("server unavailable")
	ErrTimeout       = errors.New("timeout")
	ErrTooLarge      = errors.New("message too large")
	ErrAuthRequired  = errors.New("authorization required")
	ErrUnknownServer = errors.New("unknown server")
	ErrDisabled      = errors.New("server disabled")
)

// What ends a session; they stay inside this package.
var (
	errClosing = errors.New("the fleet is closing")
	errRestart = errors.New("restart asked for")
	errSilent  = errors.New("no answer to ping")
	errLost    = fmt.Errorf("%w: session lost", ErrUnavailable)
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

// RPCError is the JSON-RPC error a server answered with.
type RPCError struct {
	Code    int64
	Message string
	Data    json.RawMessage // nil if absent
	Raw     json.RawMessage // the error object as sent
}

// Error gives code and message.
func (e *RPCError) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// RPCCode gives Code, for callers that do not import this package.
func (e *RPCError) RPCCode() int64 { return e.Code }

func failed(fate Fate, err error) *Error { return &Error{Fate: fate, Err: err} }

// fateOf finds the fate in an error of a connection.
func fateOf(err error) Fate {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fate
	}
	return NotSent
}

// parseRPCError reads an error object and, since some servers send one, a bare string.
func parseRPCError(raw []byte) *RPCError {
	e := &RPCError{Code: -32603, Raw: raw}
	var object struct {
		Code    json.Number     `json:"code"`
		Message json.RawMessage `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		if json.Unmarshal(raw, &e.Message) != nil {
			e.Message = string(raw)
		}
		return e
	}
	if code, err := object.Code.Int64(); err == nil {
		e.Code = code
	}
	if json.Unmarshal(object.Message, &e.Message) != nil {
		e.Message = string(object.Message)
	}
	e.Data = object.Data
	return e
}

// ended turns the end of ctx into an error: the caller's cancellation as it is, a deadline as ErrTimeout.
func ended(ctx context.Context, fate Fate, while string) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return failed(fate, rewordedError{fmt.Errorf("%w: %w", ErrTimeout, cause), ErrTimeout.Error() + ": " + while})
	}
	return failed(fate, fmt.Errorf("%s: %w", while, cause))
}

// rewordedError shows other words for an error and keeps what it is.
type rewordedError struct {
	error
	words string
}

func (e rewordedError) Error() string { return e.words }
func (e rewordedError) Unwrap() error { return e.error }

// clip makes one short line without control characters of text from outside.
func clip(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
