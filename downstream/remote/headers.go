package remote

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

const maxHeaderTools = 10_000

// headerTools remembers the tools of a server that want arguments repeated as HTTP headers, across its sessions.
type headerTools struct {
	mu    sync.Mutex
	tools map[string]*mcp.Tool
}

// remember looks through a tools/list result.
func (t *headerTools) remember(result json.RawMessage) {
	if !bytes.Contains(result, []byte("x-mcp-header")) {
		return
	}
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	if json.Unmarshal(result, &list) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tools == nil {
		t.tools = map[string]*mcp.Tool{}
	}
	for _, entry := range list.Tools {
		tool := &mcp.Tool{Name: entry.Name, RawInputSchema: entry.InputSchema}
		delete(t.tools, entry.Name)
		if len(t.tools) < maxHeaderTools && mcp.ValidateParamHeaderAnnotations(tool) == nil {
			t.tools[entry.Name] = tool
		}
	}
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
