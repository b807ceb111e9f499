package serve

import (
	"crypto/rand"
	"encoding/json"
	"slices"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// newToken returns a JSON string that stands for an agent's id inside mcp-go. It is random, so that
// no text from outside can be taken for it.
func newToken() json.RawMessage {
	return json.RawMessage(`"` + rand.Text() + `"`)
}

// encode writes the message for mcp-go with another id, none if nil.
func (m message) encode(id json.RawMessage) json.RawMessage {
	line := slices.Concat([]byte(`{"jsonrpc":"2.0","method":`), rawjson.Quote(m.method))
	if id != nil {
		line = slices.Concat(line, []byte(`,"id":`), id)
	}
	if m.params != nil {
		line = slices.Concat(line, []byte(`,"params":`), m.params)
	}
	return append(line, '}')
}
