package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
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

// Sentinels of this package.
var (
	ErrUnavailable = errors.New("server unavailable")
	ErrTimeout     = errors.New("timeout")
	ErrTooLarge    = errors.New("message too large")
	// ErrLost is the end of a connection; it is ErrUnavailable as well.
	ErrLost = fmt.Errorf("%w: session lost", ErrUnavailable)
)

// Error is a failed request: what became of it, and why.
type Error struct {
	Fate Fate
	Err  error
}

// Error gives the reason.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

// Failed makes an Error.
func Failed(fate Fate, err error) *Error { return &Error{fate, err} }

// FateOf finds the fate in an error; one that has none was not sent.
func FateOf(err error) Fate {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fate
	}
	return NotSent
}

// Lost is the error of calls whose connection ended: ErrLost with the cause of life's end.
func Lost(life context.Context) error {
	cause := context.Cause(life)
	if errors.Is(cause, ErrLost) {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrLost, cause)
}

// Ended turns the end of ctx into an error: the caller's cancellation as it is, a deadline as ErrTimeout.
func Ended(ctx context.Context, fate Fate, while string) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return Failed(fate, Reword(fmt.Errorf("%w: %w", ErrTimeout, cause), ErrTimeout.Error()+": "+while))
	}
	return Failed(fate, fmt.Errorf("%s: %w", while, cause))
}

// Reword gives err other words and keeps what it is.
func Reword(err error, words string) error { return rewordedError{err, words} }

type rewordedError struct {
	error
	words string
}

func (e rewordedError) Error() string { return e.words }
func (e rewordedError) Unwrap() error { return e.error }

// Clip makes one line of at most limit bytes, and … if it was longer, without control characters of a text from outside.
func Clip(text string, limit int) string {
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
