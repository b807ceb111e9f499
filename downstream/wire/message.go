package wire

import (
	"bytes"
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
		switch string(spelled(key)) {
		case `"id"`:
			m.id = present(value)
		case `"method"`:
			m.method = value
		case `"params"`:
			m.params = value
		case `"result"`:
			m.result = value
		case `"error"`:
			m.err = present(value)
		}
	})
	return m, ok
}

// spelled is a key as it is usually written: without escapes.
func spelled(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	return rawjson.Quote(rawjson.Unquote(key))
}

// present is nil for null.
func present(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// Number writes an id of ours.
func Number(id int64) []byte { return strconv.AppendInt(nil, id, 10) }

// number reads an id of ours, which some servers send back as a string.
func number(raw []byte) (int64, bool) {
	if len(raw) > 2 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// ResponseID is the id of ours that a response carries; false if the message is none.
func (m Message) ResponseID() (int64, bool) {
	if m.id == nil || m.method != nil {
		return 0, false
	}
	return number(m.id)
}

// IsError reports a response that carries an error.
func (m Message) IsError() bool { return m.err != nil && m.method == nil }

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

// Cancelled reads which question of its own a server takes back: the id as written, nil if the params name none.
func Cancelled(params []byte) json.RawMessage {
	return rawjson.Compact(rawjson.Member(params, "requestId"))
}

// CancelParams are the params of the notification that nobody waits for the answer to a request of ours.
func CancelParams(id int64, reason string) []byte {
	b := append([]byte(`{"requestId":`), strconv.FormatInt(id, 10)...)
	b = append(b, `,"reason":`...)
	b = append(b, rawjson.Quote(reason)...)
	return append(b, '}')
}

// HasID reports a message that names an id.
func (m Message) HasID() bool { return m.id != nil }

// Batch gives the messages of what may be one message or, as one version of the protocol allowed, a list of them.
func Batch(data []byte) [][]byte {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '[' || !rawjson.Valid(data) {
		return [][]byte{data}
	}
	var all [][]byte
	for message := range rawjson.Elements(data) {
		all = append(all, message)
	}
	return all
}
