package wire

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Message is one JSON-RPC message from a server, its parts as sent; nil is absent.
type Message struct {
	id, method, params, result, err []byte
}

// Parse takes one JSON object apart; false if it is none. The message shares the memory of data.
func Parse(data []byte) (Message, bool) {
	var m Message
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

// Refusal is the error that a response carries; nil if there is none.
func (m Message) Refusal() *RPCError {
	if m.err == nil {
		return nil
	}
	return parseRPCError(m.err)
}

// Answer gives what a response carries. Its error is an *Error.
func (m Message) Answer() (json.RawMessage, error) {
	switch {
	case m.err != nil:
		return nil, Failed(Ran, m.Refusal())
	case m.result == nil:
		return nil, Failed(Ran, errors.New("the answer has neither result nor error"))
	}
	return m.result, nil
}

// RequestLine is a request as it travels, its line break included. Params must hold no line break.
func RequestLine(id int64, method string, params []byte) []byte {
	b := make([]byte, 0, len(params)+len(method)+64)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	return finishLine(b, method, params)
}

// NotificationLine is a notification as it travels, its line break included. Params must hold no line break.
func NotificationLine(method string, params []byte) []byte {
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

// CancelParams are the params of the notification that nobody waits for the answer to a request of ours.
func CancelParams(id int64, reason string) []byte {
	b := append([]byte(`{"requestId":`), strconv.FormatInt(id, 10)...)
	b = append(b, `,"reason":`...)
	b = append(b, rawjson.Quote(reason)...)
	return append(b, '}')
}
