package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
)

// posted is an answer to one HTTP request: its status and the last message in it.
type posted struct {
	status int
	raw    string
	Result json.RawMessage
	Error  struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// post sends a body as it stands; headers are pairs of name and value and override the usual ones.
func post(t *testing.T, url, body string, headers ...string) posted {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	p := posted{status: resp.StatusCode, raw: string(b)}
	last := p.raw
	for line := range strings.Lines(p.raw) {
		if data, ok := strings.CutPrefix(line, "data:"); ok && strings.TrimSpace(data) != "" {
			last = data
		}
	}
	_ = json.Unmarshal([]byte(last), &p)
	return p
}

const modernVersion = "2026-07-28"

// modernPost sends one request of the era without sessions; params are the members beside _meta.
func modernPost(t *testing.T, url, method, name, params string, headers ...string) posted {
	t.Helper()
	return post(t, url, modernBody(method, params), append([]string{"Mcp-Protocol-Version", modernVersion, "Mcp-Method", method, "Mcp-Name", name}, headers...)...)
}

func modernBody(method, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"test-agent","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}`,
		method, params, modernVersion)
}

// TestBadLines sends over stdio what no well-behaved agent sends; each is answered or passed over, and the session goes on.
func TestBadLines(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, line, code string }{
		{"no JSON", `{"jsonrpc":"2.0","id":1,`, "-32700"},
		{"no JSON at all", `hello there`, "-32700"},
		{"control characters", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\x01ng\"}", "-32700"},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, "-32600"},
		{"a number", `17`, "-32600"},
		{"no version", `{"id":"x1","method":"ping"}`, "-32600"},
		{"a method that is none", `{"jsonrpc":"2.0","id":"x2","method":17}`, "-32600"},
		{"an unknown method", `{"jsonrpc":"2.0","id":"x3","method":"tools/destroy","params":{}}`, "-32601"},
		{"params that are none", `{"jsonrpc":"2.0","id":"x4","method":"tools/call","params":[1]}`, "-32602"},
		{"an unknown tool", `{"jsonrpc":"2.0","id":"x5","method":"tools/call","params":{"name":"nothing"}}`, "-32602"},
		{"a call without a name", `{"jsonrpc":"2.0","id":"x6","method":"tools/call","params":{}}`, "-32602"},
	}
	s := serve(t, config("", fix("fixture", "--only-echo")))
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := s.SendRaw(s.ctx, c.line); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
			defer cancel()
			got, err := s.Stray(ctx, i)
			if err != nil || !strings.Contains(string(got), `"code":`+c.code) {
				t.Errorf("got %s, %v; want an error %s", got, err, c.code)
			}
			s.tool("fixture/echo", `{"message":"still here"}`, "").ok().wants("still here")
		})
	}
}

// TestBadRequests does the same over HTTP, where others must not notice.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	url := "http://" + httpProxy(t, config("", fix("fixture", "--only-echo"))) + "/mcp"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	other := &session{agent.Dial(url, nil), t, ctx, nil}
	if _, err := other.Hello(ctx); err != nil {
		t.Fatal(err)
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`
	cases := []struct {
		name, body string
		headers    []string
		status     int
		code       int
	}{
		{"no JSON", `{"jsonrpc":`, nil, 400, -32700},
		{"a batch", `[` + ping + `]`, nil, 400, -32600},
		{"a number", `17`, nil, 400, -32600},
		{"no session", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, nil, 400, 0},
		{"somebody's old session", ping, []string{"Mcp-Session-Id", "mcp-session-00000000-0000-0000-0000-000000000000"}, 404, 0},
		{"a session id that is none", ping, []string{"Mcp-Session-Id", strings.Repeat("x", 3000)}, 404, 0},
		{"a revision nobody knows", modernBody("tools/list", ""), []string{"Mcp-Protocol-Version", "1999-01-01", "Mcp-Method", "tools/list"}, 400, -32020},
		{"an unknown method", modernBody("tools/destroy", ""), []string{"Mcp-Protocol-Version", modernVersion, "Mcp-Method", "tools/destroy"}, 404, -32601},
		{"the handshake of the other era", modernBody("initialize", ""), []string{"Mcp-Protocol-Version", modernVersion, "Mcp-Method", "initialize"}, 404, -32601},
		{"a header that says something else", modernBody("tools/list", ""), []string{"Mcp-Protocol-Version", modernVersion, "Mcp-Method", "prompts/list"}, 400, -32020},
		{"no _meta", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, []string{"Mcp-Protocol-Version", modernVersion, "Mcp-Method", "tools/list"}, 400, -32602},
		{"a body of another kind", ping, []string{"Content-Type", "text/plain"}, 415, 0},
		{"headers without end", ping, []string{"X-Long", strings.Repeat("a", 2<<20)}, 431, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := post(t, url, c.body, c.headers...)
			if got.status != c.status || c.code != 0 && got.Error.Code != c.code {
				t.Errorf("got %d %s, want %d and code %d", got.status, clip(got.raw, 300), c.status, c.code)
			}
			other.tool("fixture/echo", `{"message":"undisturbed"}`, "").ok().wants("undisturbed")
		})
	}
}
