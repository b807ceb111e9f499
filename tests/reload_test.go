package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
)

// write replaces the configuration as editors do: a new file in the place of the old one.
func (h *home) write(t *testing.T, conf string) {
	t.Helper()
	tmp := h.file + ".new"
	if err := os.WriteFile(tmp, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, h.file); err != nil {
		t.Fatal(err)
	}
}

// connections are the names that status shows.
func (s *session) connections() string {
	s.t.Helper()
	var names []string
	for _, c := range s.do(`{"action":"status","format":"json"}`).ok().object()["connections"].([]any) {
		m := c.(map[string]any)
		name := m["connection"].(string)
		if m["state"] == "disabled" {
			name += "(off)"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func (s *session) becomes(t *testing.T, want string) {
	t.Helper()
	eventually(t, "connections are "+want, func() bool { return s.connections() == want })
}

func TestReload(t *testing.T) {
	t.Parallel()
	one, two, three := fix("one", "--only-echo"), fix("two", "--only-echo"), fix("three", "--only-echo")
	h := newHome(t, config("", one, two))
	s := h.serve(t)
	before := definition(s)
	s.tool("one/echo", `{"message":"x"}`, "").ok()

	h.write(t, config("", two, three))
	s.becomes(t, "two three")
	s.tool("three/echo", `{"message":"hello"}`, "").ok().wants("hello")
	s.tool("one/echo", `{"message":"x"}`, "").fails("unknown_tool")
	if after := definition(s); string(after) != string(before) {
		t.Errorf("the definition changed\nfrom %s\n  to %s", before, after)
	}

	for name, bad := range map[string]string{
		"half a file": config("", one)[:20], "empty": "", "only blanks": "  \n\n", "an unknown key": config(`"nonsense": 1`, one), "no mapping": "[]",
	} {
		t.Run(name, func(t *testing.T) {
			h.write(t, bad)
			eventually(t, "the fault is told", func() bool {
				told := strings.Count(s.Stderr(), "configuration not taken over") > 0
				return told
			})
			if got := s.connections(); got != "two three" {
				t.Errorf("got %s", got)
			}
		})
	}
	s.tool("three/echo", `{"message":"still"}`, "").ok().wants("still")

	h.write(t, config(`"tools": {"deny": ["three/*"]}`, two, three))
	eventually(t, "the rule holds", func() bool { return strings.HasPrefix(s.tool("three/echo", `{"message":"x"}`, "").text(), "denied:") })
	h.write(t, config("", two, server{"three", three.body[:len(three.body)-1] + `,"disabled":true}`}))
	s.becomes(t, "two three(off)")
}

func TestReloadBySignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such signal")
	}
	t.Parallel()
	h := newHome(t, config("", fix("one", "--only-echo")))
	cmd := h.command(t, "serve", "--config", h.file, "--http", "127.0.0.1:0")
	addr := listen(t, cmd)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := &session{agent.Dial("http://"+addr+"/mcp", nil), t, ctx, h}
	if _, err := s.Hello(ctx); err != nil {
		t.Fatal(err)
	}
	h.write(t, config("", fix("two", "--only-echo")))
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.becomes(t, "two")
}

func TestServerCommand(t *testing.T) {
	t.Parallel()
	one := fix("one", "--only-echo")
	text := "# mine\nmcpServers:\n\n  # the first\n  one: " + one.body + " # is here\n\n# the end\n"
	h := newHome(t, text)
	s := h.serve(t)
	run := func(want int, args ...string) string {
		t.Helper()
		cmd := h.command(t, append([]string{"server", "--config", h.file}, args...)...)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("server %v: exit code %d, want %d: %s", args, got, want, out)
		}
		return string(out)
	}
	eventually(t, "the socket is there", func() bool {
		found, _ := filepath.Glob(filepath.Join(h.dir, "*", "*", "run", "*.sock"))
		return len(found) == 1
	})
	if out := run(0, "add", "data", "--json", `{"builtin":"dataset"}`); !strings.Contains(out, "One running proxy was told.") {
		t.Errorf("got %s", out)
	}
	if got := s.connections(); got != "one data" {
		t.Errorf("after add: %s", got)
	}
	run(0, "disable", "data")
	if got := s.connections(); got != "one data(off)" {
		t.Errorf("after disable: %s", got)
	}
	run(0, "enable", "data")
	first := s.tool("one/echo", `{"message":"x"}`, "").ok()
	run(0, "restart", "one")
	if second := s.tool("one/echo", `{"message":"x"}`, "").ok(); second.text() != first.text() {
		t.Errorf("after restart: %s", second.text())
	}
	if out := run(1, "restart", "nobody"); !strings.Contains(out, "no such server") {
		t.Errorf("got %s", out)
	}
	for _, wrong := range [][]string{{"add", "data", "--json", `{"builtin":"dataset"}`}, {"remove", "nobody"}, {"add", "x"}, {"add", "x", "--json", `{"commnd":"y"}`}, {"add", "x", "--json", `[]`}} {
		run(2, wrong...)
	}
	run(0, "remove", "data")
	if got := s.connections(); got != "one" {
		t.Errorf("after remove: %s", got)
	}
	if now, err := os.ReadFile(h.file); err != nil || string(now) != text {
		t.Errorf("the file is not as it was: %v\n%s", err, now)
	}
	_ = s.Close()
	if left, _ := filepath.Glob(filepath.Join(h.dir, "*", "*", "run", "*.sock")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAdminRoutes(t *testing.T) {
	t.Parallel()
	const token = "an-admin-token-of-some-length"
	h := newHome(t, config(`"http": {"adminToken": "`+token+`"}`, fix("one", "--only-echo")))
	addr := listen(t, h.command(t, "serve", "--config", h.file, "--http", "127.0.0.1:0"))
	do := func(method, path, body, token string) (int, string) {
		t.Helper()
		q, err := http.NewRequest(method, "http://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			q.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(got)
	}
	cases := []struct {
		method, path, body, token string
		status                    int
		want                      string
	}{
		{"GET", "/admin/servers", "", "", 401, "admin token"},
		{"GET", "/admin/servers", "", token + "x", 401, ""},
		{"GET", "/admin/servers", "", token, 200, `"name":"one"`},
		{"PUT", "/admin/servers/data", `{"builtin":"dataset"}`, token, 200, `"added":["data"]`},
		{"POST", "/admin/servers/data/disable", "", token, 200, `"changed":["data"]`},
		{"POST", "/admin/servers/data/enable", "", token, 200, `"changed":["data"]`},
		{"POST", "/admin/servers/one/restart", "", token, 200, `{}`},
		{"POST", "/admin/servers/none/restart", "", token, 404, "no such server"},
		{"DELETE", "/admin/servers/data", "", token, 200, `"removed":["data"]`},
		{"DELETE", "/admin/servers/data", "", token, 404, "no such server"},
		{"PUT", "/admin/servers/bad", `{"commnd":1}`, token, 422, "unknown key"},
		{"POST", "/admin/reload", "", token, 200, `{}`},
		{"POST", "/admin/nonsense", "", token, 404, ""},
	}
	for _, c := range cases {
		if status, body := do(c.method, c.path, c.body, c.token); status != c.status || !strings.Contains(body, c.want) || strings.Contains(body, token) {
			t.Errorf("%s %s: got %d %s, want %d %s", c.method, c.path, status, body, c.status, c.want)
		}
	}
}

// TestReloadStorm reloads all the time under concurrent calls: none is lost.
func TestReloadStorm(t *testing.T) {
	t.Parallel()
	h := newHome(t, config("", fix("stays", "--only-echo"), fix("comes0", "--only-echo")))
	s := h.serve(t)
	eventually(t, "the socket is there", func() bool {
		found, _ := filepath.Glob(filepath.Join(h.dir, "*", "*", "run", "*.sock"))
		return len(found) == 1
	})
	var stop atomic.Bool
	var callers sync.WaitGroup
	var calls atomic.Int64
	for n := range 64 {
		callers.Go(func() {
			for k := 0; !stop.Load(); k++ {
				message := fmt.Sprintf("%d-%d", n, k)
				args, _ := json.Marshal(map[string]any{"action": "call", "tool": "stays/echo", "arguments": map[string]any{"message": message}})
				raw, err := s.Call(s.ctx, "proxy-dispatch", string(args), "")
				if err != nil || !strings.Contains(string(raw), message) || strings.Contains(string(raw), `"isError":true`) {
					t.Errorf("got %s, %v", raw, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for n := range 60 {
		h.write(t, config(fmt.Sprintf(`"tools": {"deny": ["none%d"]}`, n), fix("stays", "--only-echo"), fix(fmt.Sprint("comes", n%5), "--only-echo")))
		cmd := h.command(t, "server", "restart", "--config", h.file, fmt.Sprint("comes", n%5))
		if n%20 == 19 {
			_ = cmd.Run() // it may not be there yet
		}
		eventually(t, "the last change is there", func() bool { return n%10 != 9 || strings.Contains(s.connections(), fmt.Sprint("comes", n%5)) })
	}
	stop.Store(true)
	callers.Wait()
	if calls.Load() < 64 {
		t.Errorf("only %d calls", calls.Load())
	}
}
