package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// message is one JSON-RPC message from an agent; its raw parts are slices of the line it came in.
type message struct {
	id     json.RawMessage // as spelled; nil in a notification
	method string          // empty in a response
	params json.RawMessage // an object, or nil

	result, fault json.RawMessage // in a response: one of them
}

func faultf(code int, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// parseMessage reads one message. Beside a fault the message still carries its id if that was legible.
func parseMessage(line []byte) (message, *Fault) {
	line = bytes.TrimSpace(line)
	if bad := checkJSON(line); bad != nil {
		return message{}, bad
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

func checkJSON(line []byte) *Fault {
	switch err := rawjson.Check(line); {
	case errors.Is(err, rawjson.ErrDepth):
		return faultf(mcp.INVALID_REQUEST, "message is nested deeper than %d", rawjson.MaxDepth)
	case err != nil:
		return faultf(mcp.PARSE_ERROR, "message is not valid JSON")
	}
	return nil
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
		// Whatever is wrong with it: answering an answer would go on for ever.
		return message{id: found["id"], result: found["result"], fault: found["error"]}, nil
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

// requestParams is what the params of a request hold for us.
type requestParams struct {
	name                           string
	named                          bool
	arguments, meta, inputs, state json.RawMessage
}

func readParams(params json.RawMessage) (p requestParams, bad *Fault) {
	for key, value := range rawjson.Members(params) {
		switch key {
		case "name":
			p.named = value[0] == '"'
			p.name = rawjson.Unquote(value)
		case "arguments":
			p.arguments = value
		case "_meta":
			p.meta = value
		case "inputResponses":
			p.inputs = value
		case "requestState":
			p.state = value
		}
	}
	if p.meta != nil && p.meta[0] != '{' {
		return p, faultf(mcp.INVALID_PARAMS, "params._meta must be an object")
	}
	return p, nil
}

// idKey makes ids comparable: numbers by their spelling, strings by their value.
func idKey(id json.RawMessage) string {
	if len(id) > 0 && id[0] == '"' {
		return `"` + rawjson.Unquote(id)
	}
	return string(id)
}

// notification writes a notification on one line; nil if its params are no object.
func notification(method string, params json.RawMessage) []byte {
	return outgoing(nil, method, params)
}

// outgoing writes a request of ours on one line, a notification without id; nil if its params are neither nil nor an object.
func outgoing(id json.RawMessage, method string, params json.RawMessage) []byte {
	line := []byte(`{"jsonrpc":"2.0",`)
	if id != nil {
		line = slices.Concat(line, []byte(`"id":`), id, []byte{','})
	}
	line = slices.Concat(line, []byte(`"method":`), rawjson.Quote(method))
	if params == nil {
		return append(line, '}')
	}
	params = bytes.TrimSpace(params)
	if !rawjson.Object(params, func(_, _ []byte) {}) {
		return nil
	}
	params, err := rawjson.OneLine(params)
	if err != nil {
		return nil
	}
	return slices.Concat(line, []byte(`,"params":`), params, []byte{'}'})
}
