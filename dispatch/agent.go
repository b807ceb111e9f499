package dispatch

import "encoding/json"

// Agent is who asks: an LLM host or a program. The zero Agent is an anonymous one.
type Agent struct {
	// Principal names who it is; empty is anonymous.
	Principal string
	// Role names the rights that apply; empty means all.
	Role string
	// Claims is the text of the JSON object an identity provider signed about it; "" if there is none.
	Claims string
	// View names the tool view the agent came in by; empty is none. It sees nothing else.
	View string
	// Session scopes the handles of spilled results; empty means that only long ids reach them.
	Session string
	// Client is the agent's own name (clientInfo.name); it chooses the inline budget.
	Client string
}

// Input is one use of the one tool, as it came from the agent.
type Input struct {
	Agent Agent
	// Arguments is the flat JSON object the agent sent.
	Arguments json.RawMessage
	// Meta is the request's `_meta` object, nil if absent. It carries trace context.
	Meta json.RawMessage
	// Contact leads back to the agent; nothing of it is used once Handle has returned.
	Contact
}
