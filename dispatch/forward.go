package dispatch

import (
	"context"
	"encoding/json"
	"time"
)

// Request is one raw message to a server.
type Request struct {
	Server, Method string
	// Params is sent byte for byte.
	Params json.RawMessage
	// Idempotent allows a second try after the session was lost.
	Idempotent bool
	// Timeout bounds waiting and answering together; 0 means the server's own.
	Timeout time.Duration
	// Progress receives the params of progress notifications; nil means none are asked for.
	Progress func(params json.RawMessage)
	// Meta is merged into the params' `_meta`; nil means none.
	Meta json.RawMessage
	// Told hears the server's notifications that belong to this request other than progress, in order, never after
	// the call returned, none lost that came before the result; nil: not wanted.
	Told func(method string, params json.RawMessage)
	// Ask puts a request of the server to the agent and gives the raw result; an error that is a *ServerError is
	// the agent's own. Nil: the agent can't be asked.
	Ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Capabilities is what the agent can do, as it said it; nil if it said nothing.
	Capabilities json.RawMessage
	// Asker identifies the agent on a connection that several share; "" is nobody in particular.
	Asker string
	// Relay passes a result that asks for input on as it is, instead of asking for the inputs with Ask.
	Relay bool
}

// Forwarder carries requests to servers. Implementations are safe for concurrent use.
type Forwarder interface {
	// Forward sends one request and returns the raw result, which is valid JSON. It waits for a server that is
	// starting, starts one that is asleep, and follows ctx's cancellation. It fails with
	// *ForwardError, or with *ServerError when the server itself answered with an error.
	Forward(ctx context.Context, r Request) (json.RawMessage, error)
	// State tells a server's state (ready, asleep, starting, needs login, failing, disabled) and why.
	State(server string) (state, why string)
}

// ForwardError is a request that got no answer.
type ForwardError struct {
	Code      Code // ServerUnavailable, Timeout, TooLarge, AuthRequired, Denied, NotFound or Internal
	Fate      Fate
	Message   string
	Do        string // what to do about it
	Retryable bool   // waiting may help
	Err       error
}

// Error returns what went wrong.
func (e *ForwardError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *ForwardError) Unwrap() error { return e.Err }

// ServerError is a JSON-RPC error by which a server answered a request.
type ServerError struct {
	Code    int64
	Message string
	Raw     json.RawMessage // the error object as the server sent it
}

// Error returns the server's own message.
func (e *ServerError) Error() string { return e.Message }
