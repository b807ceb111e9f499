package downstream

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// message is one JSON-RPC message from a server, its parts as sent; nil is absent.
type message struct {
	id, method, params, result, err []byte
}

// parseMessage takes one JSON object apart; false if it is none.
func parseMessage(data []byte) (message, bool) {
	var m message
	ok := rawjson.Object(data, func(key, value []byte) {
		switch rawjson.Unquote(key) {
		case "id":
			m.id = present(value)
		case "method":
			m.method = value
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.err = present(value)
		}
	})
	return m, ok
}

// present is nil for null.
func present(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// number reads an id of ours, which some servers send back as a string.
func number(raw []byte) (int64, bool) {
	if len(raw) > 2 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// answer gives what a response carries.
func (m message) answer() (json.RawMessage, error) {
	switch {
	case m.err != nil:
		return nil, failed(Ran, parseRPCError(m.err))
	case m.result == nil:
		return nil, failed(Ran, errors.New("the answer has neither result nor error"))
	}
	return m.result, nil
}

// requestLine is a request as it travels, its line break included. Params must hold no line break.
func requestLine(id int64, method string, params []byte) []byte {
	b := make([]byte, 0, len(params)+len(method)+64)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	return finishLine(b, method, params)
}

// notificationLine is a notification as it travels.
func notificationLine(method string, params []byte) []byte {
	return finishLine([]byte(`{"jsonrpc":"2.0"`), method, params)
}

func finishLine(b []byte, method string, params []byte) []byte {
	b = append(b, `,"method":`...)
	b = append(b, rawjson.Quote(method)...)
	if len(params) > 0 {
		b = append(b, `,"params":`...)
		b = append(b, params...)
	}
	return append(b, '}', '\n')
}

// replyLine answers a request of a server. A proxy offers servers nothing but a sign of life: it has no roots,
// no model and nobody to ask of its own.
func replyLine(id, method []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), rawjson.Compact(id)...)
	if string(method) == `"ping"` {
		b = append(b, `,"result":{}}`...)
	} else {
		b = append(b, `,"error":{"code":-32601,"message":"method not found"}}`...)
	}
	return append(b, '\n')
}

func cancelParams(id int64, reason string) []byte {
	b := append([]byte(`{"requestId":`), strconv.FormatInt(id, 10)...)
	b = append(b, `,"reason":`...)
	b = append(b, rawjson.Quote(reason)...)
	return append(b, '}')
}
