package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Ears are told what a server says on its own. Neither may block; both may be called concurrently by connections of
// several streams.
type Ears struct {
	// Heard takes a notification. Call is the id of the request of ours that it came with, 0 if that is not known.
	Heard func(call int64, method string, params []byte)
	// Asked takes a request of the server, which waits for Answer or Drop.
	Asked func(q Question)
}

// Question is a request of a server.
type Question struct {
	// Call is the id of the request of ours that it came with, 0 if that is not known.
	Call int64
	// ID is the server's own, as written.
	ID json.RawMessage
	// Method and Params are what it asks; Params is nil if absent.
	Method string
	Params json.RawMessage

	send func(line []byte, wait bool)
}

// Take tells the ears of a message from a server if it is a notification or a question; false if it is neither. Call
// is as in Heard. What sends an answer waits for that if told to, and else may drop it.
func (e Ears) Take(call int64, m Message, send func(line []byte, wait bool)) bool {
	if m.method == nil {
		return false
	}
	var method string
	if json.Unmarshal(m.method, &method) != nil {
		return false
	}
	if m.id == nil {
		e.Heard(call, method, m.params)
	} else {
		e.Asked(Question{Call: call, ID: m.id, Method: method, Params: m.params, send: send})
	}
	return true
}

// Answer answers with a result, or with an error if there is one: an *RPCError as it is, any other as an internal
// error. It returns when the answer is sent or the connection lost.
func (q Question) Answer(result json.RawMessage, err error) { q.send(q.line(result, err), true) }

// Drop answers like Answer, but without waiting; a server that asks more than it listens may miss it.
func (q Question) Drop(result json.RawMessage, err error) { q.send(q.line(result, err), false) }

func (q Question) line(result json.RawMessage, err error) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), rawjson.Compact(q.ID)...)
	if err == nil {
		if len(result) == 0 {
			result = []byte(`{}`)
		}
		if result, err = rawjson.OneLine(result); err == nil {
			b = append(append(b, `,"result":`...), result...)
			return append(b, '}', '\n')
		}
		err = fmt.Errorf("the answer is no JSON: %w", err)
	}
	b = append(append(b, `,"error":`...), errorObject(err)...)
	return append(b, '}', '\n')
}

// errorObject is an error as JSON-RPC writes it, in one line.
func errorObject(err error) []byte {
	rpc, ok := errors.AsType[*RPCError](err)
	if !ok {
		rpc = &RPCError{Code: -32603, Message: err.Error()}
	}
	if rpc.Raw != nil {
		if raw, bad := rawjson.OneLine(rpc.Raw); bad == nil {
			return raw
		}
	}
	raw := fmt.Appendf(nil, `{"code":%d,"message":%s`, rpc.Code, rawjson.Quote(rpc.Message))
	if data, bad := rawjson.OneLine(rpc.Data); bad == nil && len(data) > 0 {
		raw = append(append(raw, `,"data":`...), data...)
	}
	return append(raw, '}')
}
