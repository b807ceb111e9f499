package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// message is one JSON-RPC message from an agent; its raw parts are slices of the line it came in.
type message struct {
	id     json.RawMessage // as spelled; nil in a notification
	method string          // empty in a response
	params json.RawMessage // an object, or nil
}

func faultf(code int, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// faultOf is what an agent sees of a face's error: the fault it is, else that there is no such tool.
func faultOf(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	return faultf(mcp.INVALID_PARAMS, "%v", err)
}

// parseMessage reads one message. Beside a fault the message still carries its id if that was legible.
func parseMessage(line []byte) (message, *Fault) {
	line = bytes.TrimSpace(line)
	switch err := rawjson.Check(line); {
	case errors.Is(err, rawjson.ErrDepth):
		return message{}, faultf(mcp.INVALID_REQUEST, "message is nested deeper than %d", rawjson.MaxDepth)
	case err != nil:
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

func readEnvelope(line []byte) (m message, bad *Fault) {
	found := map[string]json.RawMessage{}
	for key, value := range rawjson.Members(line) {
		if _, twice := found[key]; twice && bad == nil {
			bad = faultf(mcp.INVALID_REQUEST, "message holds %q twice", key)
		}
		found[key] = value
	}
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
	if m.method = rawjson.Unquote(found["method"]); m.method == "" {
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

func readCall(params json.RawMessage) (c callParams, bad *Fault) {
	named := false
	for key, value := range rawjson.Members(params) {
		switch key {
		case "name":
			named = value[0] == '"'
			c.name = rawjson.Unquote(value)
		case "arguments":
			c.arguments = value
		case "_meta":
			c.meta = value
		}
	}
	if !named {
		return c, faultf(mcp.INVALID_PARAMS, "params.name must be a string: the tool to call")
	}
	if c.meta != nil && c.meta[0] != '{' {
		return c, faultf(mcp.INVALID_PARAMS, "params._meta must be an object")
	}
	return c, nil
}

// idKey makes ids comparable: numbers by their spelling, strings by their value.
func idKey(id json.RawMessage) string {
	if len(id) > 0 && id[0] == '"' {
		return `"` + rawjson.Unquote(id)
	}
	return string(id)
}
