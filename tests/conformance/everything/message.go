package everything

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
)

// message is any JSON-RPC message that reaches the server; the id stays as it was written.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (m message) request() bool  { return m.Method != "" && len(m.ID) > 0 }
func (m message) response() bool { return m.Method == "" && len(m.ID) > 0 }

// params is the union of what the methods take.
type params struct {
	Name            string
	URI             string
	Cursor          string
	Level           string
	TaskID          string
	RequestID       json.RawMessage
	ProtocolVersion string
	Capabilities    json.RawMessage
	ClientInfo      json.RawMessage
	Arguments       json.RawMessage
	Task            json.RawMessage
	InputResponses  json.RawMessage
	RequestState    string
	Ref             struct{ Type, Name, URI string }
	Argument        struct{ Name, Value string }
	Notifications   filter
	Meta            *meta `json:"_meta"`
}

type meta struct {
	ProgressToken json.RawMessage `json:"progressToken"`
	Version       string          `json:"io.modelcontextprotocol/protocolVersion"`
	ClientInfo    json.RawMessage `json:"io.modelcontextprotocol/clientInfo"`
	Capabilities  json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	LogLevel      string          `json:"io.modelcontextprotocol/logLevel"`
}

// fault is a JSON-RPC error; status is the HTTP status that goes with it in the modern era, 0 for 200.
type fault struct {
	code    int
	message string
	data    string
	status  int
}

func (f *fault) Error() string { return f.message }

func invalid(format string, args ...any) *fault {
	return &fault{code: -32602, message: fmt.Sprintf(format, args...)}
}

func noMethod(method string) *fault {
	return &fault{code: -32601, message: "method not found: " + method, status: 404}
}

func (f *fault) raw() string {
	data := ""
	if f.data != "" {
		data = `,"data":` + f.data
	}
	return fmt.Sprintf(`{"code":%d,"message":%s%s}`, f.code, quote(f.message), data)
}

// sink takes whole messages, one at a time, safe for concurrent use.
type sink interface{ send(line []byte) }

func result(id json.RawMessage, raw string) []byte {
	b := make([]byte, 0, len(raw)+len(id)+40)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"result":`...)
	b = append(b, raw...)
	return append(b, '}')
}

func failure(id json.RawMessage, f *fault) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + f.raw() + `}`)
}

func notification(method, params string) []byte {
	return []byte(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
}

// quote writes s as a JSON string without HTML escapes.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

// object writes a map as a JSON object whose values are JSON already, keys in order.
func object(values map[string]string) string {
	keys := make([]string, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(k) + ":" + values[k])
	}
	b.WriteByte('}')
	return b.String()
}

// has says whether a JSON object holds a member, descending along path.
func has(raw json.RawMessage, path ...string) bool {
	for _, name := range path {
		var o map[string]json.RawMessage
		if json.Unmarshal(raw, &o) != nil || o[name] == nil {
			return false
		}
		raw = o[name]
	}
	return true
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
