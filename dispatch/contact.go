package dispatch

import (
	"context"
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
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
	// Capabilities is what the agent said it can do, an object as in its request or handshake; nil if it said nothing.
	Capabilities json.RawMessage
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

// alone is the contact of a call among several: its questions are asked one by one, because the agent can't repeat
// a part of its request.
func (c Contact) alone() Contact {
	c.Relay, c.Inputs, c.State = false, nil, nil
	return c
}

// answered puts the answers to a server's questions where the server looks for them.
func (c Contact) answered(params json.RawMessage) json.RawMessage {
	if c.Inputs == nil && c.State == nil {
		return params
	}
	obj, err := arguments.ParseObject(params)
	if err != nil {
		return params // the server says what is wrong with them
	}
	if c.Inputs != nil {
		obj = obj.Set("inputResponses", c.Inputs)
	}
	if c.State != nil {
		obj = obj.Set("requestState", c.State)
	}
	return obj.Raw()
}

// asks reports whether a result asks the agent for input. A long one is none: it isn't walked through.
func (c Contact) asks(result json.RawMessage) bool {
	const longest = 16 << 20
	return c.Relay && len(result) <= longest && rawjson.Unquote(rawjson.Member(result, "resultType")) == "input_required"
}
