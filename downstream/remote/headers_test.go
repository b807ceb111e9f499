package remote

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func toolWith(name, properties string) string {
	return fmt.Sprintf(`{"name":%q, "n":1.10,"inputSchema":{"type":"object","properties":{%s}}}`, name, properties)
}

func TestToolsWithHeaders(t *testing.T) {
	good := toolWith("good", `"region":{"type":"string","x-mcp-header":"Region"},"inner":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Depth"}}}`)
	tests := []struct{ name, list, want string }{
		{"none", `{"tools":[{"name":"a"}],"z":1}`, `{"tools":[{"name":"a"}],"z":1}`},
		{"valid", `{"tools":[` + good + `]}`, `{"tools":[` + good + `]}`},
		{"no token", `{"tools":[` + toolWith("bad", `"a":{"type":"string","x-mcp-header":"a b"}`) + `,` + good + `],"z":1.0}`, `{"tools":[` + good + `],"z":1.0}`},
		{"not of a simple type", `{"tools":[` + good + `,` + toolWith("bad", `"a":{"type":"object","x-mcp-header":"A"}`) + `]}`, `{"tools":[` + good + `]}`},
		{"twice", `{"tools":[` + toolWith("bad", `"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}`) + `]}`, `{"tools":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tools headerTools
			if got := tools.remember(json.RawMessage(tt.list)); string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// What a request of the new era says in headers, and what it leaves out.
func TestHeadersOfRequests(t *testing.T) {
	seen := make(chan http.Header, 10)
	c := dial(t, typed(object, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		list := toolWith("t", `"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"on":{"type":"boolean","x-mcp-header":"On"}`)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, idOf(r), list)
	}), mute)
	c.Settle(mcp.ProtocolVersion20260728)
	tests := []struct {
		name, method, params string
		want                 map[string]string
	}{
		{"a list", "tools/list", ``, map[string]string{"Mcp-Method": "tools/list", "Mcp-Name": "", "Mcp-Protocol-Version": "2026-07-28"}},
		{"a call", "tools/call", `{"name":"t","arguments":{"region":"north","n":42,"on":false}}`,
			map[string]string{"Mcp-Name": "t", "Mcp-Param-Region": "north", "Mcp-Param-N": "42", "Mcp-Param-On": "false", "Mcp-Session-Id": ""}},
		{"null and absent", "tools/call", `{"name":"t","arguments":{"region":null}}`, map[string]string{"Mcp-Param-Region": "", "Mcp-Param-N": ""}},
		{"not plain", "tools/call", `{"name":"t","arguments":{"region":"nördlich"}}`, map[string]string{"Mcp-Param-Region": "=?base64?bsO2cmRsaWNo?="}},
		{"an unknown tool", "tools/call", `{"name":"u","arguments":{"region":"north"}}`, map[string]string{"Mcp-Name": "u", "Mcp-Param-Region": ""}},
		{"a resource", "resources/read", `{"uri":"file:///x"}`, map[string]string{"Mcp-Name": "file:///x"}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := c.Call(t.Context(), int64(i+1), tt.method, []byte(tt.params)); err != nil {
				t.Fatal(err)
			}
			h := <-seen
			for name, want := range tt.want {
				if got := h.Get(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
		})
	}
}
