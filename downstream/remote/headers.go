package remote

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const maxHeaderTools = 10_000

// headerTools remembers the tools of a server that want arguments repeated as HTTP headers, across its sessions.
type headerTools struct {
	mu    sync.Mutex
	tools map[string]*mcp.Tool
}

// remember looks through a tools/list result and gives it without the tools whose headers would not be valid: they
// are not to be offered.
func (t *headerTools) remember(result json.RawMessage) json.RawMessage {
	if !bytes.Contains(result, []byte("x-mcp-header")) {
		return result
	}
	var kept []json.RawMessage
	rejected := false
	for entry := range rawjson.Elements(rawjson.Member(result, "tools")) {
		if t.take(entry) {
			kept = append(kept, entry)
		} else {
			rejected = true
		}
	}
	if !rejected {
		return result
	}
	list := slices.Concat([]byte("["), bytes.Join(asBytes(kept), []byte(",")), []byte("]"))
	without, err := wire.WithMembers(result, []wire.Member{wire.Own("tools", list)})
	if err != nil {
		return result
	}
	return without
}

func asBytes(all []json.RawMessage) [][]byte {
	out := make([][]byte, len(all))
	for i, one := range all {
		out[i] = one
	}
	return out
}

// take remembers a tool; false if it is to be rejected.
func (t *headerTools) take(entry json.RawMessage) bool {
	var tool struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if json.Unmarshal(entry, &tool) != nil {
		return true // whoever reads the list says what is wrong with it
	}
	known := &mcp.Tool{Name: tool.Name, RawInputSchema: tool.InputSchema}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tools, tool.Name)
	switch {
	case mcp.ValidateParamHeaderAnnotations(known) != nil:
		return false
	case len(mcp.ExtractParamHeaderBindings(known)) == 0 || len(t.tools) >= maxHeaderTools:
		return true
	case t.tools == nil:
		t.tools = map[string]*mcp.Tool{}
	}
	t.tools[tool.Name] = known
	return true
}

// headers sets what the called tool wants.
func (t *headerTools) headers(h http.Header, params []byte) {
	var call struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(params, &call) != nil {
		return
	}
	t.mu.Lock()
	tool := t.tools[call.Name]
	t.mu.Unlock()
	if tool == nil {
		return
	}
	for name, value := range mcp.GenerateParamHeaders(tool, params) {
		h.Set(name, value)
	}
}
