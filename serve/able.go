package serve

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// need is what an agent must be able to do to be asked something: a capability, and perhaps a part of it.
type need struct{ capability, part string }

// needOf says what a question needs; false if agents can't be asked this at all.
func needOf(method string, params json.RawMessage) (need, bool) {
	switch method {
	case "elicitation/create":
		if mode := rawjson.Unquote(rawjson.Member(params, "mode")); mode != "" && mode != "form" {
			return need{"elicitation", mode}, true
		}
		return need{"elicitation", "form"}, true
	case "sampling/createMessage":
		if rawjson.Member(params, "tools") != nil || rawjson.Member(params, "toolChoice") != nil {
			return need{"sampling", "tools"}, true
		}
		return need{"sampling", ""}, true
	case "roots/list":
		return need{"roots", ""}, true
	case "tasks/get", "tasks/list", "tasks/cancel", "tasks/result":
		return need{"tasks", ""}, true
	}
	return need{}, false
}

// met says whether an agent that said it can do this fulfils the need.
func (n need) met(capabilities json.RawMessage) bool {
	held := rawjson.Member(capabilities, n.capability)
	switch {
	case !isObject(held):
		return false
	case n.part == "", rawjson.Member(held, n.part) != nil:
		return true
	case n.part == "form": // which is meant where nothing is said
		return rawjson.Member(held, "url") == nil
	}
	return false
}

// wanted is the capabilities object an agent lacks.
func (n need) wanted() json.RawMessage {
	if n.part == "" {
		return fmt.Appendf(nil, `{%q:{}}`, n.capability)
	}
	return fmt.Appendf(nil, `{%q:{%q:{}}}`, n.capability, n.part)
}

// refusal is what a server hears that asks an agent for what it can't do; nil if it can.
func refusal(capabilities json.RawMessage, method string, params json.RawMessage) error {
	n, known := needOf(method, params)
	switch {
	case !known:
		return serverFault(mcp.METHOD_NOT_FOUND, "an agent can't be asked %s", method)
	case n.met(capabilities):
		return nil
	case rawjson.Member(capabilities, n.capability) == nil:
		return serverFault(mcp.METHOD_NOT_FOUND, "the agent does not support %s", n.capability)
	}
	return serverFault(mcp.INVALID_PARAMS, "the agent does not support %s of %s", n.part, n.capability)
}

// missing is the fault for an agent that would have to be asked for what it did not declare.
func missing(n need) *Fault {
	return &Fault{Code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, Message: "the request needs a capability that the agent did not declare: " + n.capability,
		Data: append(append([]byte(`{"requiredCapabilities":`), n.wanted()...), '}')}
}

// serverFault is an error of our own as the answer to a server's question.
func serverFault(code int, format string, args ...any) *dispatch.ServerError {
	text := fmt.Sprintf(format, args...)
	return &dispatch.ServerError{Code: int64(code), Message: text, Raw: fmt.Appendf(nil, `{"code":%d,"message":%s}`, code, rawjson.Quote(text))}
}
