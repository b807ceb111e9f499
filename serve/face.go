package serve

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// Face is what an agent sees. Embed Defaults for all that a face does not care about.
//
// All methods may be called at once from many goroutines. Tools, Instructions and Capabilities answer
// from what is known and never wait for a server.
type Face interface {
	// Tools returns the tools/list entries that an agent sees, each a complete JSON object.
	Tools(a dispatch.Agent) []json.RawMessage
	// Call runs one tool and returns a complete CallToolResult object, in pieces. An error that is a *Fault
	// goes to the agent as it is; any other one means that no tool of that name exists. Every other failure is
	// a result with isError.
	Call(ctx context.Context, c Call) (dispatch.Pieces, error)
	// Instructions is the text for the agent in the answers to initialize and server/discover.
	Instructions(a dispatch.Agent) string
	// Capabilities is an object laid over ours in the same answers, member by member; nil means tools only.
	Capabilities(a dispatch.Agent) json.RawMessage
	// Handle answers every request that is neither tools/call nor the protocol's own (initialize, ping,
	// server/discover, subscriptions/listen) with a complete result object. ErrNoMethod: there is no such
	// method; logging/setLevel is then answered from what the session keeps, tools/list from Tools, in one page.
	// A *Fault goes to the agent as it is.
	Handle(ctx context.Context, r Request) (dispatch.Pieces, error)
	// Notified hears the agent's notifications, save that a request is cancelled. It must not block.
	Notified(a dispatch.Agent, method string, params json.RawMessage)
	// Attach is told of each agent that can be spoken to outside of requests: a session of the handshake eras
	// once it is initialized, or a subscription. detach is called when that ends. Neither may block.
	Attach(p Peer) (detach func())
}

// Call is one tools/call request.
type Call struct {
	Agent dispatch.Agent
	// Name is the tool's name as the agent wrote it.
	Name string
	// Arguments is the raw value the agent sent, nil if absent; it need not be an object.
	Arguments json.RawMessage
	// Params is the raw object that holds all of these, and what else the agent sent.
	Params json.RawMessage
	// Meta is the request's `_meta` object, nil if absent.
	Meta json.RawMessage
	// Contact leads back to the agent while the call runs. Nothing of it does anything once Call has returned.
	dispatch.Contact
}

// Request is any other request of an agent.
type Request struct {
	Agent  dispatch.Agent
	Method string
	// Params is the raw object the agent sent, `_meta` included; nil if absent.
	Params json.RawMessage
	// Meta is the request's `_meta` object, nil if absent.
	Meta json.RawMessage
	// Contact leads back to the agent while the request runs, as in Call.
	dispatch.Contact
}

// Peer is an agent that can be spoken to outside of requests. It is safe for concurrent use.
type Peer interface {
	Agent() dispatch.Agent
	// ClientInfo and Capabilities are what the agent said of itself, nil if nothing.
	ClientInfo() json.RawMessage
	Capabilities() json.RawMessage
	// Notify sends a notification, or keeps it for the moment the agent listens, within bounds. It never blocks
	// for long, and does nothing for an agent that did not subscribe to this kind or to this level of log.
	Notify(method string, params json.RawMessage)
	// Ask puts a request to the agent and waits for the raw result. An error that is a *dispatch.ServerError is
	// the agent's own JSON-RPC error.
	Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// ErrNoMethod is what Face.Handle returns for a method it does not have.
var ErrNoMethod = errors.New("method not found")

// Fault is a JSON-RPC error on its way to an agent, as it gets it.
type Fault struct {
	Code    int
	Message string
	Data    json.RawMessage // nil if there is none
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// Defaults is all of a face but Tools and Call, doing nothing.
type Defaults struct{}

// Instructions returns none.
func (Defaults) Instructions(dispatch.Agent) string { return "" }

// Capabilities returns none but ours.
func (Defaults) Capabilities(dispatch.Agent) json.RawMessage { return nil }

// Handle knows no method.
func (Defaults) Handle(context.Context, Request) (dispatch.Pieces, error) { return nil, ErrNoMethod }

// Notified ignores it.
func (Defaults) Notified(dispatch.Agent, string, json.RawMessage) {}

// Attach keeps nothing.
func (Defaults) Attach(Peer) (detach func()) { return func() {} }
