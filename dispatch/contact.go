package dispatch

import (
	"context"
	"encoding/json"
)

// Contact is how the agent is reached while its request runs. The zero Contact is an agent that hears and
// answers nothing. Its functions are safe for concurrent use.
type Contact struct {
	// Progress receives the params of each progress notification of the called server, without a token.
	// Nil: the agent wants none.
	Progress func(params json.RawMessage)
	// Told hears the server's other notifications that belong to this request (notifications/message, …), in
	// order; none that came before the result is lost. Nil: not wanted.
	Told func(method string, params json.RawMessage)
	// Ask puts a server's own request (elicitation/create, sampling/createMessage, roots/list) to the agent and
	// gives the raw result. An error that is a *ServerError is the agent's own JSON-RPC error. Nil: the agent
	// can't be asked.
	Ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Asker tells agents apart on a connection that several share, so that a question reaches the right one;
	// "" is nobody in particular.
	Asker string
	// Relay passes a server's result that asks for input (resultType input_required) on as it is: the agent
	// answers it by repeating the request. Otherwise the inputs are asked for with Ask.
	Relay bool
	// Inputs and State are the inputResponses and the server's own requestState of such a repeated request,
	// raw; nil if it has none.
	Inputs, State json.RawMessage
}
