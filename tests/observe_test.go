package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/tests/fixture"
)

// TestAudit looks for one line a call in the log: who called what, with what shape and outcome, and no value.
func TestAudit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "proxy.log")
	s := serve(t, config(fmt.Sprintf(`"log":{"format":"json","file":%q}`, file), fix("fixture")))
	s.tool("echo", `{"message":"a private word"}`, "").ok()
	s.tool("error", `{"message":"another private word"}`, "")
	_ = s.Close()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]string{}
	for line := range strings.Lines(string(body)) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("a line of the log is no JSON: %s", line)
		}
		if l["action"] == "call" {
			outcomes[fmt.Sprint(l["tool"])] = fmt.Sprint(l["outcome"])
			keys(t, l, "client connection tool arguments bytes tokens ms outcome")
		}
	}
	if outcomes["echo"] != "ok" || outcomes["error"] == "ok" || outcomes["error"] == "" {
		t.Errorf("outcomes: got %v", outcomes)
	}
	if strings.Contains(string(body), "private word") {
		t.Errorf("a value of an argument or a result is in the log:\n%s", clip(string(body), 2000))
	}
}

// TestTraceContext follows a trace from the agent's request to the server's.
func TestTraceContext(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	const trace = "0af7651916cd43dd8448eb211c80319c"
	got := s.doWith(`{"action":"call","tool":"mirror","arguments":{}}`, `"_meta":{"traceparent":"00-`+trace+`-b7ad6b7169203331-01"}`).ok()
	if !strings.Contains(string(got.fields["_meta"]), `"traceparent":"00-`+trace) {
		t.Errorf("the trace did not reach the server: %s", got.fields["_meta"])
	}
}

// TestBudgets sends the same result to clients that take more or less of it at once.
func TestBudgets(t *testing.T) {
	t.Parallel()
	cases := []struct {
		client, conf, arguments string
		inline                  bool
	}{
		{"some-agent", "", `{"bytes":15000}`, true},
		{"some-agent", "", `{"bytes":18000}`, false},
		{"claude-code", "", `{"bytes":22000}`, true},
		{"claude-code", "", `{"bytes":30000}`, false},
		{"Visual Studio Code", "", `{"bytes":10000}`, false},
		{"codex-mcp-client", "", `{"bytes":8000}`, true},
		{"codex-mcp-client", "", `{"bytes":8000,"kind":"text"}`, false}, // over 240 lines
		{"claude-code", `"spill":{"threshold":2000}`, `{"bytes":5000}`, false},
		{"some-agent", `"spill":{"threshold":100000}`, `{"bytes":50000}`, true},
	}
	for _, c := range cases {
		t.Run(c.client+c.conf+c.arguments, func(t *testing.T) {
			t.Parallel()
			s := newHome(t, config(c.conf, fix("fixture"))).start(t)
			s.Client = c.client
			if _, err := s.Hello(s.ctx); err != nil {
				t.Fatal(err)
			}
			got := s.tool("big", c.arguments, "").ok()
			if kept := strings.Contains(got.text(), `"resultFile":"r`); kept == c.inline {
				t.Errorf("inline is %v, want %v: %s", !kept, c.inline, clip(got.text(), 300))
			}
		})
	}
}

// TestStrictHosts lets arguments be a string, for hosts that refuse free-form objects.
func TestStrictHosts(t *testing.T) {
	t.Parallel()
	s := serve(t, config(`"definition":{"arguments":"string"}`, fix("fixture")))
	if raw := string(definition(s)); !strings.Contains(raw, `"arguments":{"type":"string"`) {
		t.Errorf("arguments is no string in %s", clip(raw, 3000))
	}
	s.do(`{"action":"call","tool":"add","arguments":"{\"a\":1,\"b\":2}"}`).ok().wants("3")
}

// TestSecretsBesides looks where nobody looks: the metrics, the log file, what init prints.
func TestSecretsBesides(t *testing.T) {
	t.Parallel()
	h := secretHome(t)
	file := filepath.Join(h.dir, "proxy.log")
	conf, _ := os.ReadFile(h.file)
	conf = []byte(strings.Replace(string(conf), `"level":"debug"`, fmt.Sprintf(`"level":"debug","format":"json","file":%q`, file), 1))
	if err := os.WriteFile(h.file, conf, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := h.command(t, "serve", "--config", h.file, "--http", "127.0.0.1:0", "--verbose")
	addr := listen(t, cmd)
	eventually(t, "the server's words in the log", func() bool {
		body, _ := os.ReadFile(file)
		return strings.Contains(string(body), "environment")
	})
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/", "/mcp"} {
		resp, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		_ = resp.Body.Close()
		leaks(t, path, string(body))
	}
	body, _ := os.ReadFile(file)
	leaks(t, "the log file", string(body))
	client := fmt.Sprintf(`{"mcpServers":{"x":{"command":"x","args":["--token",%q],"env":{%q:"on","K":%q}},"y":{"url":"http://u:%s@127.0.0.1:1/","headers":{"A":%q}}}}`,
		secrets["after a flag"], fixture.EnvKey, secrets["env value"], secrets["userinfo"], secrets["header value"])
	for _, name := range []string{".mcp.json", ".cursor/mcp.json"} {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(h.dir, name)), 0o700)
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(client), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "claude-code"}, {"init", "cursor"}, {"init", "claude-code", "--write"}} {
		out, _ := h.command(t, args...).CombinedOutput()
		leaks(t, strings.Join(args, " "), string(out))
	}
}
