package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unsafe"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/tidwall/gjson"
)

// maxDepth is how deep an incoming message may nest, as in encoding/json; deeper ones would cost
// the readers behind us their stack.
const maxDepth = 10000

// message is one JSON-RPC message from an agent; its raw parts are slices of the line it came in.
type message struct {
	id     json.RawMessage // as spelled; nil in a notification
	method string          // empty in a response
	params json.RawMessage // an object, or nil
}

// fault is a JSON-RPC error on its way to the agent.
type fault struct {
	code int
	text string
	data any
}

func faultf(code int, format string, args ...any) *fault {
	return &fault{code: code, text: fmt.Sprintf(format, args...)}
}

// parseMessage reads one message. Beside a fault the message still carries its id if that was legible.
func parseMessage(line []byte) (message, *fault) {
	line = bytes.TrimSpace(line)
	if tooDeep(line) {
		return message{}, faultf(mcp.INVALID_REQUEST, "message is nested deeper than %d", maxDepth)
	}
	if !gjson.ValidBytes(line) {
		return message{}, faultf(mcp.PARSE_ERROR, "message is not valid JSON")
	}
	switch line[0] {
	case '{':
	case '[':
		return message{}, faultf(mcp.INVALID_REQUEST, "batches are not supported: send one message at a time")
	default:
		return message{}, faultf(mcp.INVALID_REQUEST, "message is not a JSON object")
	}
	return readEnvelope(line)
}

func readEnvelope(line []byte) (m message, bad *fault) {
	found := map[string]json.RawMessage{}
	eachMember(line, func(key string, value json.RawMessage) {
		if _, twice := found[key]; twice && bad == nil {
			bad = faultf(mcp.INVALID_REQUEST, "message holds %q twice", key)
		}
		found[key] = value
	})
	if found["method"] == nil && (found["result"] != nil || found["error"] != nil) {
		return m, nil // whatever its id: answering an answer would go on for ever
	}
	if id, present := found["id"]; present {
		if id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
			return m, faultf(mcp.INVALID_REQUEST, "id must be a string or a number")
		}
		m.id = id
	}
	if bad != nil {
		return m, bad
	}
	if string(found["jsonrpc"]) != `"2.0"` {
		return m, faultf(mcp.INVALID_REQUEST, `jsonrpc must be "2.0"`)
	}
	if found["method"] == nil {
		return m, faultf(mcp.INVALID_REQUEST, "message is neither request, notification nor response")
	}
	if json.Unmarshal(found["method"], &m.method) != nil || m.method == "" {
		return m, faultf(mcp.INVALID_REQUEST, "method must be a string")
	}
	if params := found["params"]; params != nil && string(params) != "null" {
		if params[0] != '{' {
			return m, faultf(mcp.INVALID_PARAMS, "params must be an object")
		}
		m.params = params
	}
	return m, nil
}

// callParams is the params of tools/call.
type callParams struct {
	name            string
	arguments, meta json.RawMessage
}

func readCall(params json.RawMessage) (c callParams, bad *fault) {
	named := false
	eachMember(params, func(key string, value json.RawMessage) {
		switch key {
		case "name":
			named = value[0] == '"' && json.Unmarshal(value, &c.name) == nil
		case "arguments":
			c.arguments = value
		case "_meta":
			c.meta = value
		}
	})
	if !named {
		return c, faultf(mcp.INVALID_PARAMS, "params.name must be a string: the tool to call")
	}
	if c.meta != nil && c.meta[0] != '{' {
		return c, faultf(mcp.INVALID_PARAMS, "params._meta must be an object")
	}
	return c, nil
}

// member returns one member of a JSON object as spelled, nil if absent; the last one counts.
func member(object json.RawMessage, key string) (found json.RawMessage) {
	eachMember(object, func(k string, value json.RawMessage) {
		if k == key {
			found = value
		}
	})
	return found
}

// eachMember visits the members of a valid JSON object in order. The values are slices of object.
func eachMember(object json.RawMessage, visit func(key string, value json.RawMessage)) {
	eachMemberAt(object, func(key string, value json.RawMessage, _ int) { visit(key, value) })
}

// eachMemberAt also tells where in object each value begins.
func eachMemberAt(object json.RawMessage, visit func(key string, value json.RawMessage, at int)) {
	// Nobody writes to a message once it was read, so its text need not be copied to be looked at.
	text := unsafe.String(unsafe.SliceData(object), len(object))
	gjson.Parse(text).ForEach(func(key, value gjson.Result) bool {
		end := value.Index + len(value.Raw)
		visit(key.String(), object[value.Index:end:end], value.Index)
		return true
	})
}

// tooDeep says whether brackets nest deeper than maxDepth. It needs no valid JSON.
func tooDeep(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// stringEnd returns the index of the quote closing the string that opens at start.
func stringEnd(text []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		next := bytes.IndexByte(text[i:], '"')
		if next < 0 {
			return len(text)
		}
		i += next
		slashes := 0
		for slashes < i-start-1 && text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return len(text)
}

// idKey makes ids comparable: numbers by their spelling, strings by their value.
func idKey(id json.RawMessage) string {
	var text string
	if len(id) > 0 && id[0] == '"' && json.Unmarshal(id, &text) == nil {
		return `"` + text
	}
	return string(id)
}
