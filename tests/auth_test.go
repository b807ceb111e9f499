package tests

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
)

const guarded = `"auth": {"tokens": "tokens.json", "roles": {
	"reader": {"principals": ["ann"], "servers": ["open"], "tools": {"deny": ["exact"]}},
	"busy": {"perMinute": 4},
	"admin": {"principals": ["boss"]}}}`

// token makes a token with the program itself.
func (h *home) token(t *testing.T, args ...string) string {
	t.Helper()
	out, err := h.command(t, append([]string{"token", "create", "--config", h.file}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// by is an agent that sends a token.
func by(t *testing.T, ctx context.Context, addr, token string) *session {
	t.Helper()
	s := &session{agent.Dial("http://"+addr+"/mcp", http.Header{"Authorization": {"Bearer " + token}}), t, ctx, nil}
	if _, err := s.Hello(ctx); err != nil {
		t.Fatalf("hello: %v", err)
	}
	return s
}

// status posts a message as it is and returns what HTTP says.
func status(t *testing.T, addr, path, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	q, err := http.NewRequest(http.MethodPost, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			q.Host = header[i+1]
			continue
		}
		q.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	return resp.StatusCode, resp.Header, string(got)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestAuthDoor(t *testing.T) {
	t.Parallel()
	h := newHome(t, config(guarded, fix("open", "--only-echo")))
	boss, lost, busy := h.token(t, "boss"), h.token(t, "stranger"), h.token(t, "worker", "--role", "busy")
	addr := listen(t, h.command(t, "serve", "--config", h.file, "--http", "127.0.0.1:0"))
	cases := []struct {
		name, path string
		header     []string
		want       int
		challenge  string
	}{
		{"no token", "/mcp", nil, 401, "Bearer"},
		{"no token, for numbers", "/metrics", nil, 401, "Bearer"},
		{"a wrong one", "/mcp", []string{"Authorization", "Bearer " + boss + "x"}, 401, `Bearer error="invalid_token"`},
		{"another scheme", "/mcp", []string{"Authorization", "Basic " + boss}, 401, `Bearer error="invalid_token"`},
		{"in the address", "/mcp?access_token=" + boss, nil, 401, "Bearer"},
		{"two of them", "/mcp", []string{"Authorization", "Bearer " + boss, "Authorization", "Bearer " + boss}, 401, `Bearer error="invalid_token"`},
		{"without a role", "/mcp", []string{"Authorization", "Bearer " + lost}, 403, ""},
		{"a page elsewhere", "/mcp", []string{"Authorization", "Bearer " + boss, "Origin", "https://evil.example"}, 403, ""},
		{"a null origin", "/mcp", []string{"Authorization", "Bearer " + boss, "Origin", "null"}, 403, ""},
		{"a name that is not ours", "/mcp", []string{"Authorization", "Bearer " + boss, "Host", "evil.example"}, 403, ""},
		{"good", "/mcp", []string{"Authorization", "Bearer " + boss}, 200, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, header, body := status(t, addr, c.path, initialize, c.header...)
			if got != c.want || header.Get("WWW-Authenticate") != c.challenge {
				t.Errorf("got %d %q %s, want %d %q", got, header.Get("WWW-Authenticate"), body, c.want, c.challenge)
			}
			if strings.Contains(body, boss) {
				t.Errorf("the answer holds the token: %s", body)
			}
		})
	}
	for n := range 4 {
		if got, _, _ := status(t, addr, "/mcp", initialize, "Authorization", "Bearer "+busy); got != 200 {
			t.Fatalf("message %d of 4 a minute: got %d", n, got)
		}
	}
	got, header, _ := status(t, addr, "/mcp", initialize, "Authorization", "Bearer "+busy)
	if got != 429 || header.Get("Retry-After") == "" {
		t.Errorf("one too many: got %d, Retry-After %q", got, header.Get("Retry-After"))
	}
	if err := h.command(t, "token", "revoke", "boss", "--config", h.file).Run(); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := status(t, addr, "/mcp", initialize, "Authorization", "Bearer "+boss); got != 401 {
		t.Errorf("a revoked token: got %d, want 401", got)
	}
}

// TestAuthWays is one principal who tries every way to what is another's.
func TestAuthWays(t *testing.T) {
	t.Parallel()
	h := newHome(t, config(guarded, fix("open"), fix("private")))
	tokens := []string{h.token(t, "ann"), h.token(t, "boss")}
	addr := listen(t, h.command(t, "serve", "--config", h.file, "--http", "127.0.0.1:0"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ann, boss := by(t, ctx, addr, tokens[0]), by(t, ctx, addr, tokens[1])

	boss.do(`{"action":"list","limit":200}`).ok().wants("private")
	kept := boss.do(`{"action":"call","tool":"private/big","arguments":{"bytes":100000},"format":"json"}`).ok().object()
	handle, file := kept["handle"].(string), kept["resultFile"].(string)

	if text := ann.do(`{"action":"list","limit":200}`).ok().text(); strings.Contains(text, "private") || strings.Contains(text, "exact") {
		t.Errorf("the list shows what is not hers: %s", text)
	}
	for _, look := range []string{
		`{"action":"search","query":"private exact numbers","limit":50}`, `{"action":"status"}`, `{"action":"help"}`,
		`{"action":"list","type":"resource"}`, `{"action":"list","type":"prompt"}`, `{"action":"status","format":"json"}`,
	} {
		if text := ann.do(look).text(); strings.Contains(strings.ReplaceAll(text, "private exact numbers", ""), "private") {
			t.Errorf("%s shows what is not hers: %s", look, text)
		}
	}
	// What is another's and what never was must sound the same.
	same := func(theirs, nothing string) {
		t.Helper()
		plain := func(input string, names ...string) string {
			text := ann.do(input).text()
			for _, n := range names {
				text = strings.ReplaceAll(text, n, "NAME")
			}
			return text
		}
		a, b := plain(theirs, "private", "exact"), plain(nothing, "nowhere", "nothin")
		if a != b || !regexp.MustCompile(`^(unknown_tool|not_found):`).MatchString(a) {
			t.Errorf("%s\ngot  %s\n and %s for what never was", theirs, a, b)
		}
	}
	for _, input := range []string{
		`{"action":"call","tool":"private/echo","arguments":{"message":"x"}}`,
		`{"action":"call","tool":"private__echo","arguments":{"message":"x"}}`,
		`{"action":"call","tool":"private.echo","arguments":{"message":"x"}}`,
		`{"action":"call","tool":"echo","connection":"private","arguments":{"message":"x"}}`,
		`{"action":"call","tool":"private/echo","dryRun":true}`,
		`{"action":"describe","tool":"private/echo"}`,
		`{"action":"describe","connection":"private"}`,
		`{"action":"list","connection":"private"}`,
		`{"action":"search","query":"echo","connection":"private"}`,
		`{"action":"call","type":"resource","tool":"mem://x","connection":"private"}`,
		`{"action":"call","type":"prompt","tool":"x","connection":"private"}`,
	} {
		same(input, strings.ReplaceAll(input, "private", "nowhere"))
	}
	same(`{"action":"call","tool":"open/exact"}`, `{"action":"call","tool":"open/nothin"}`)
	if text := ann.do(`{"action":"batch","calls":[{"tool":"private/echo","arguments":{"message":"x"}}]}`).text(); !strings.Contains(text, "unknown_tool") {
		t.Errorf("a batch: %s", text)
	}
	for _, ref := range []string{handle, file, "spill://" + handle, handle + "#raw"} {
		ann.do(`{"action":"readresult","resultFile":"` + ref + `"}`).fails("not_found")
		ann.do(`{"action":"call","tool":"open/echo","arguments":{"message":{"$from":"` + ref + `"}}}`).fails("not_found")
		ann.do(`{"action":"call","tool":"open/echo","argumentsFile":"` + ref + `"}`).fails("not_found")
	}
	// The session of another does not exist.
	_, header, _ := status(t, addr, "/mcp", initialize, "Authorization", "Bearer "+tokens[1])
	theirs := header.Get("Mcp-Session-Id")
	ping := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	if got, _, _ := status(t, addr, "/mcp", ping, "Authorization", "Bearer "+tokens[1], "Mcp-Session-Id", theirs); got != 200 {
		t.Errorf("his own session: got %d", got)
	}
	if got, _, _ := status(t, addr, "/mcp", ping, "Authorization", "Bearer "+tokens[0], "Mcp-Session-Id", theirs); got != 404 {
		t.Errorf("another's session: got %d, want 404", got)
	}
	boss.do(`{"action":"readresult","resultFile":"` + handle + `"}`).ok()
	ann.do(`{"action":"call","tool":"open/echo","arguments":{"message":"still here"}}`).ok().wants("still here")
}

// TestAuthOnEveryFace: what a role does not let see is on no face.
func TestAuthOnEveryFace(t *testing.T) {
	t.Parallel()
	h := newHome(t, config(guarded, fix("open"), fix("private")))
	token := h.token(t, "ann")
	addr := listen(t, h.command(t, "serve", "--config", h.file, "--http", "127.0.0.1:0"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dial := func(face string) *agent.Agent {
		t.Helper()
		a := agent.Dial("http://"+addr+"/mcp/"+face, http.Header{"Authorization": {"Bearer " + token}})
		hello, err := a.Hello(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(hello), "private") {
			t.Errorf("%s: the answer to initialize tells of what is not hers: %s", face, hello)
		}
		return a
	}
	all := dial("transparent")
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		raw, err := all.Request(ctx, method, `{}`)
		if err != nil || !strings.Contains(string(raw), "open") || strings.Contains(string(raw), "private") || strings.Contains(string(raw), "open__exact") {
			t.Errorf("%s: got %v %s", method, err, clip(string(raw), 500))
		}
	}
	for _, name := range []string{"private__echo", "private::echo", "open__exact"} {
		raw, err := all.Request(ctx, "tools/call", `{"name":"`+name+`","arguments":{"message":"x"}}`)
		if err == nil && !strings.Contains(string(raw), "unknown") {
			t.Errorf("%s: got %s", name, clip(string(raw), 300))
		}
	}
	draft := dial("proxy")
	for _, args := range []string{`{"action":"list","type":"tool"}`, `{"action":"list","type":"resource"}`, `{"action":"list","type":"prompt"}`} {
		raw, err := draft.Call(ctx, "proxy", args, "")
		if err != nil || !strings.Contains(string(raw), "open") || strings.Contains(string(raw), "private") || strings.Contains(string(raw), "open_exact") {
			t.Errorf("%s: got %v %s", args, err, clip(string(raw), 500))
		}
	}
	for _, path := range []string{"private_echo", "open_exact"} {
		raw, err := draft.Call(ctx, "proxy", `{"action":"call","type":"tool","path":"`+path+`","args":{"message":"x"}}`, "")
		if err == nil && !strings.Contains(string(raw), `"isError":true`) {
			t.Errorf("%s: got %s", path, clip(string(raw), 300))
		}
	}
	one := dial("dispatch")
	raw, err := one.Request(ctx, "tools/list", `{}`)
	if err != nil || strings.Contains(string(raw), "private") {
		t.Errorf("the definition: %v %s", err, raw)
	}
}
