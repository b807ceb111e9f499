package dispatch

import (
	"errors"
	"strings"
)

// Code tells the kinds of failure apart for an agent.
type Code string

// The codes an answer may carry.
const (
	UnknownTool          Code = "unknown_tool"
	AmbiguousTool        Code = "ambiguous_tool"
	InvalidArguments     Code = "invalid_arguments"
	BadRequest           Code = "bad_request"
	NotFound             Code = "not_found"
	Expired              Code = "expired"
	Denied               Code = "denied"
	AuthRequired         Code = "auth_required"
	ConfirmationRequired Code = "confirmation_required"
	DependencyFailed     Code = "dependency_failed"
	ServerUnavailable    Code = "server_unavailable"
	Timeout              Code = "timeout"
	TooLarge             Code = "too_large"
	Internal             Code = "internal"
)

// Fate says what became of a call's request.
type Fate int

// The fates a failed call can have met; NoCall is for failures that are not of a call.
const (
	NoCall Fate = iota
	NotSent
	SentUnknown
	Ran
)

// String returns the sentence that ends the error of a call; empty for NoCall.
func (f Fate) String() string {
	switch f {
	case NotSent:
		return "Not sent: safe to repeat."
	case SentUnknown:
		return "Sent, outcome unknown: check before repeating."
	case Ran:
		return "Ran and failed."
	}
	return ""
}

// Error is a failure in the form an agent can act on.
type Error struct {
	Code        Code
	Message     string   // what is wrong; no full stop at its end
	Do          string   // what to do about it, whole sentences; may be empty
	Suggestions []string // nearest names or values
	Fate        Fate
	Retryable   bool // waiting may help
	Repairs     []string
	Err         error

	login string // the server that wants a login and of which nothing is known; "" otherwise
}

// Error returns the text an agent reads: `code: what is wrong. What to do.` and the fate of the call.
func (e *Error) Error() string {
	var b strings.Builder
	if len(e.Repairs) > 0 {
		b.WriteString(repairedLine(e.Repairs) + "\n")
	}
	b.WriteString(string(e.Code) + ": " + sentence(e.Message))
	if e.Do != "" {
		b.WriteString(" " + sentence(e.Do))
	}
	if e.Retryable {
		b.WriteString(" Waiting may help.")
	}
	if f := e.Fate.String(); f != "" {
		b.WriteString(" " + f)
	}
	return b.String()
}

// Unwrap returns the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.Err }

// Permanent reports whether the same call would fail again.
func (e *Error) Permanent() bool {
	switch e.Code {
	case UnknownTool, AmbiguousTool, InvalidArguments, BadRequest, Denied, AuthRequired, ConfirmationRequired:
		return !e.Retryable
	}
	return false
}

// sentence ends s with a full stop unless it already ends like a sentence or a line of its own.
func sentence(s string) string {
	s = strings.TrimRight(s, " \n")
	if s == "" || strings.ContainsRune(".!?:`", rune(s[len(s)-1])) {
		return s
	}
	return s + "."
}

// asError turns any error into an *Error; what is not one already is internal.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: Internal, Message: err.Error(), Err: err}
}

// withFate returns err as an *Error that says what became of the call, unless it already does.
func withFate(err error, f Fate) *Error {
	e := *asError(err)
	if e.Fate == NoCall {
		e.Fate = f
	}
	return &e
}

// errorBody is a failure in the shape programs read.
type errorBody struct {
	Code        Code     `json:"code"`
	Message     string   `json:"message"`
	Suggestions []string `json:"suggestions,omitempty"`
	Retryable   bool     `json:"retryable"`
	Sent        bool     `json:"sent"` // the request reached the server, or may have
}

func (e *Error) body() *errorBody {
	bare := *e
	bare.Repairs = nil
	return &errorBody{Code: e.Code, Message: strings.TrimPrefix(bare.Error(), string(e.Code)+": "), Suggestions: e.Suggestions,
		Retryable: e.Retryable, Sent: e.Fate == SentUnknown || e.Fate == Ran}
}

// MarshalJSON gives the error in the shape programs read: {"error":{code,message,…}}.
func (e *Error) MarshalJSON() ([]byte, error) {
	return marshal(struct {
		Error   *errorBody `json:"error"`
		Repairs []string   `json:"repairs,omitempty"`
	}{e.body(), e.Repairs})
}
