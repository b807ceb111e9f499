package tests

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
)

var listening = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// listen starts a program that names its loopback address on stderr, and returns that address.
func listen(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		r := bufio.NewReader(stderr)
		for {
			line, err := r.ReadString('\n')
			if a := listening.FindString(line); a != "" && strings.Contains(line, "listen") {
				select {
				case addr <- a:
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Signal(interrupt); <-drained; _ = cmd.Wait() })
	select {
	case a := <-addr:
		return a
	case <-time.After(patience):
		t.Fatal("nobody listens")
		return ""
	}
}

func httpProxy(t *testing.T, conf string) string {
	t.Helper()
	h := newHome(t, conf)
	return listen(t, h.command(t, "serve", "--config", h.file, "--http", "127.0.0.1:0"))
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	addr := httpProxy(t, config("", fix("fixture")))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	one, two := &session{agent.Dial("http://"+addr+"/mcp", nil), t, ctx, nil}, &session{agent.Dial("http://"+addr+"/mcp", nil), t, ctx, nil}
	for _, s := range []*session{one, two} {
		if _, err := s.Hello(ctx); err != nil {
			t.Fatalf("hello: %v", err)
		}
		definition(s)
	}
	if got := one.tool("exact", `{}`, "").ok(); !strings.Contains(string(got.raw), `"structuredContent":{"z":1.10,"a":9007199254740993,"m":{"y":1E400,"b":-0.0}}`) {
		t.Errorf("numbers changed: %s", got.raw)
	}
	one.doWith(`{"action":"call","tool":"slow","arguments":{"steps":3,"ms":5}}`, `"_meta":{"progressToken":"p"}`).ok()
	if n := len(one.Notes()); n < 3 {
		t.Errorf("got %d notifications, want 3 steps of progress", n)
	}
	h := one.spilled("big", `{"bytes":100000}`)
	one.read(h, `"op":"head","lines":2`).ok().wants("item-000001")
	two.read(h, `"op":"head","lines":2`).fails("not_found")
	for path, word := range map[string]string{"/healthz": "", "/readyz": "", "/metrics": "proxy_dispatch"} {
		resp, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), word) {
			t.Errorf("%s: got %d %s", path, resp.StatusCode, clip(string(body), 200))
		}
	}
}

// TestHTTPWords starts it with the other pair of words.
func TestHTTPWords(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	h := newHome(t, config("", fix("fixture", "--only-echo")))
	addr := listen(t, h.command(t, "serve", "--config", h.file, "--transport", "http", "--port", port))
	if !strings.HasSuffix(addr, ":"+port) {
		t.Errorf("listens on %s, want port %s", addr, port)
	}
}

func TestHTTPRefuses(t *testing.T) {
	t.Parallel()
	addr := httpProxy(t, config("", fix("fixture")))
	cases := []struct {
		name   string
		change func(r *http.Request)
	}{
		{"foreign origin", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }},
		{"foreign host", func(r *http.Request) { r.Host = "evil.example" }},
		{"endless body", func(r *http.Request) {
			r.Body = io.NopCloser(io.LimitReader(endless{}, 400<<20))
			r.ContentLength = -1
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, _ := http.NewRequest("POST", "http://"+addr+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			c.change(r)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				return // cut off, which is a refusal too
			}
			defer resp.Body.Close()
			if resp.StatusCode < 400 {
				t.Errorf("got status %d, want a refusal", resp.StatusCode)
			}
		})
	}
	h := newHome(t, config("", fix("fixture")))
	out, err := h.command(t, "serve", "--config", h.file, "--http", "0.0.0.0:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "auth") {
		t.Errorf("an open address without authentication: got %v, %s", err, out)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestRemoteServers puts servers behind the proxy that speak HTTP, the new way and the old one.
func TestRemoteServers(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	cmd := h.command(t)
	cmd.Path, cmd.Args = self(t), []string{self(t), "--http", "127.0.0.1:0"}
	cmd.Env = append(h.env, "PROXY_DISPATCH_FIXTURE=1")
	addr := listen(t, cmd)
	s := serve(t, config("", server{"http", `{"url":"http://` + addr + `/mcp"}`}, server{"sse", `{"url":"http://` + addr + `/sse","transport":"sse"}`}))
	for _, name := range []string{"http", "sse"} {
		t.Run(name, func(t *testing.T) {
			if got := s.tool(name+"/mirror", `{"n":9007199254740993,"f":1.10}`, "").ok().text(); got != `{"n":9007199254740993,"f":1.10}` {
				t.Errorf("arguments: got %s", got)
			}
			if got := s.tool(name+"/exact", `{}`, "").ok(); !strings.Contains(string(got.raw), `"structuredContent":{"z":1.10,"a":9007199254740993,"m":{"y":1E400,"b":-0.0}}`) {
				t.Errorf("result: got %s", got.raw)
			}
			before := len(s.Notes())
			s.doWith(`{"action":"call","tool":"`+name+`/slow","arguments":{"steps":3,"ms":5}}`, `"_meta":{"progressToken":"`+name+`"}`).ok()
			if n := len(s.Notes()) - before; n != 3 {
				t.Errorf("got %d notifications, want 3", n)
			}
			s.tool(name+"/hang", `{}`, `"timeoutMs":200`).fails("timeout")
			s.tool(name+"/big", `{"bytes":3000000}`, "").ok().wants("item-000001")
		})
	}
}
