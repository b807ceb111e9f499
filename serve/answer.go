package serve

import (
	"bytes"
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// parts is one JSON-RPC message in pieces, so that a large result is never copied into place. Joined
// they are one line without line breaks.
type parts [][]byte

func (p parts) size() (n int) {
	for _, piece := range p {
		n += len(piece)
	}
	return n
}

// joinBelow is the size under which one copy costs less than writing piece by piece.
const joinBelow = 64 << 10

// joined returns p as few pieces: one if it is small.
func (p parts) joined() parts {
	if p.size() > joinBelow {
		return p
	}
	return parts{bytes.Join(p, nil)}
}

// answerTo wraps a result, or what stands in its place, into a response.
func answerTo(id json.RawMessage, result parts, bad *Fault) parts {
	if bad != nil {
		return faultAnswer(id, bad)
	}
	return resultAnswer(id, result)
}

// resultAnswer wraps a raw result, given in pieces, into a response.
func resultAnswer(id json.RawMessage, result parts) parts {
	answer := make(parts, 0, len(result)+2)
	answer = append(answer, append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"result":`...))
	answer = append(answer, result...)
	return append(answer, []byte(`}`))
}

// faultAnswer wraps an error into a response; a nil id is null.
func faultAnswer(id json.RawMessage, f *Fault) parts {
	if id == nil {
		id = json.RawMessage("null")
	}
	body, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   any             `json:"error"`
	}{"2.0", id, struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{f.Code, f.Message, f.Data}})
	if err != nil { // only data that cannot be JSON: a bug of ours
		panic(err)
	}
	return parts{body}
}

// progressMessage is the notification for one step of a call. Params that are no object yield nil.
func progressMessage(token, params json.RawMessage) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), token...)
	ok := rawjson.Object(params, func(key, value []byte) {
		if rawjson.Unquote(key) == "progressToken" { // the server's own, meaningless to the agent
			return
		}
		line = append(append(append(append(line, ','), key...), ':'), value...)
	})
	if !ok {
		return nil
	}
	line, err := rawjson.OneLine(append(line, "}}"...))
	if err != nil {
		return nil
	}
	return line
}
