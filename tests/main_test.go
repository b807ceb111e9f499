// Package tests proves the whole house: its rules, its contract end to end, its documents.
package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/everything"
	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/player"
	"github.com/proxy-dispatch/proxy-dispatch/tests/fixture"
)

// patience bounds every wait of a test that is not about time.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	fixture.RunIfAsked()
	everything.RunIfAsked()
	player.RunIfAsked()
	code := m.Run()
	if dir, err := binaryDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

var binaryDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "proxy-dispatch-tests-") })

// build compiles the proxy once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := binaryDir()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "proxy-dispatch")
	args := []string{"build", "-o", bin}
	if raceOn {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/proxy-dispatch")...)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the proxy: %w\n%s", err, out)
	}
	return bin, nil
})

func binary(t *testing.T) string {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// server is one entry of mcpServers.
type server struct{ name, body string }

// fix is the fixture as a server; args are its own.
func fix(name string, args ...string) server { return fixWith(name, "", args...) }

// fixWith adds more keys to the server's block, as JSON members: `"lazy":true`.
func fixWith(name, more string, args ...string) server {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	list, _ := json.Marshal(append([]string{}, args...))
	if len(args) == 0 {
		list = []byte("[]")
	}
	if more != "" {
		more = "," + more
	}
	return server{name, fmt.Sprintf(`{"command":%q,"args":%s,"env":{%q:"fixture-on"}%s}`, self, list, fixture.EnvKey, more)}
}

// config writes servers and other top level members as one configuration text, in this order.
func config(more string, servers ...server) string {
	var blocks []string
	for _, s := range servers {
		blocks = append(blocks, fmt.Sprintf("%q: %s", s.name, s.body))
	}
	if more != "" {
		more = ",\n" + more
	}
	return "{\"mcpServers\": {\n" + strings.Join(blocks, ",\n") + "\n}" + more + "}\n"
}

// home is a person's machine in small: everything the proxy may leave behind ends up below dir.
type home struct {
	dir, file string
	env       []string
}

func newHome(t *testing.T, conf string) *home {
	t.Helper()
	dir := t.TempDir()
	h := &home{dir: dir, file: filepath.Join(dir, "proxy-dispatch.yaml")}
	for _, d := range []string{"tmp", "cache", "config"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(h.file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	h.env = append(os.Environ(), "HOME="+dir, "TMPDIR="+filepath.Join(dir, "tmp"),
		"XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "PROXY_DISPATCH_CONFIG=",
		"GORACE=atexit_sleep_ms=0") // the detector's own second at the end is not the proxy's
	return h
}

func (h *home) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	return cmd
}

// session is an agent in front of the proxy.
type session struct {
	*agent.Agent
	t    *testing.T
	ctx  context.Context
	home *home
}

// serve starts the proxy with a configuration and says hello to it.
func serve(t *testing.T, conf string, args ...string) *session {
	t.Helper()
	return newHome(t, conf).serve(t, args...)
}

func (h *home) serve(t *testing.T, args ...string) *session {
	t.Helper()
	s := h.start(t, args...)
	if _, err := s.Hello(s.ctx); err != nil {
		t.Fatalf("hello: %v\n%s", err, s.Stderr())
	}
	return s
}

func (h *home) start(t *testing.T, args ...string) *session {
	t.Helper()
	a, err := agent.Start(h.command(t, append([]string{"serve", "--config", h.file}, args...)...))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(func() {
		cancel()
		_ = a.Close()
		if strings.Contains(a.Stderr(), "DATA RACE") {
			t.Errorf("the proxy has a data race:\n%s", a.Stderr())
		}
		if t.Failed() {
			t.Logf("stderr of the proxy:\n%s", clip(a.Stderr(), 4000))
		}
	})
	return &session{Agent: a, t: t, ctx: ctx, home: h}
}

// block is one content block as far as tests look into it.
type block struct {
	Type, Text, Data, MimeType string
	Resource                   struct{ URI, Text string }
	raw                        json.RawMessage
}

// answer is a CallToolResult: raw, and taken apart.
type answer struct {
	t       *testing.T
	raw     json.RawMessage
	fields  map[string]json.RawMessage
	blocks  []block
	isError bool
}

// callResult is a CallToolResult for reading.
type callResult struct {
	Content           []block
	StructuredContent json.RawMessage
	IsError           bool
}

func decode(raw []byte) (callResult, error) {
	var r callResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("parse result: %w", err)
	}
	return r, nil
}

func parseAnswer(t *testing.T, raw json.RawMessage) answer {
	t.Helper()
	a := answer{t: t, raw: raw}
	if err := json.Unmarshal(raw, &a.fields); err != nil {
		t.Fatalf("parse result: %v\n%s", err, clip(string(raw), 500))
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(a.fields["content"], &blocks); err != nil {
		t.Fatalf("parse content: %v\n%s", err, clip(string(raw), 500))
	}
	for _, b := range blocks {
		x := block{raw: b}
		_ = json.Unmarshal(b, &x)
		a.blocks = append(a.blocks, x)
	}
	a.isError = string(a.fields["isError"]) == "true"
	return a
}

// text is the text blocks, one below the other.
func (a answer) text() string {
	var parts []string
	for _, b := range a.blocks {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// object is content[0].text of an answer in format json.
func (a answer) object() map[string]any {
	a.t.Helper()
	var m map[string]any
	if len(a.blocks) == 0 {
		a.t.Fatalf("no content in %s", clip(string(a.raw), 500))
	}
	d := json.NewDecoder(strings.NewReader(a.blocks[0].Text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		a.t.Fatalf("content[0].text is no JSON object: %v\n%s", err, clip(a.blocks[0].Text, 800))
	}
	return m
}

// wants fails unless the text holds every one of the words.
func (a answer) wants(words ...string) {
	a.t.Helper()
	for _, w := range words {
		if !strings.Contains(a.text(), w) {
			a.t.Errorf("answer lacks %q:\n%s", w, clip(a.text(), 1500))
		}
	}
}

// fails fails unless the answer is an error with this code and these words.
func (a answer) fails(code string, words ...string) {
	a.t.Helper()
	if !a.isError || !strings.HasPrefix(a.text(), code+":") {
		a.t.Errorf("got %s, want an error %s", clip(string(a.raw), 800), code)
	}
	a.wants(words...)
}

// ok fails the test at once if the answer is an error.
func (a answer) ok() answer {
	a.t.Helper()
	if a.isError {
		a.t.Fatalf("unexpected error: %s", clip(a.text(), 1500))
	}
	return a
}

// do sends one action to the one tool.
func (s *session) do(arguments string) answer {
	s.t.Helper()
	return s.doWith(arguments, "")
}

func (s *session) doWith(arguments, extra string) answer {
	s.t.Helper()
	arguments = strings.ReplaceAll(arguments, "\n", " ") // a message is one line
	raw, err := s.Call(s.ctx, "proxy-dispatch", arguments, extra)
	if err != nil {
		s.t.Fatalf("call %s: %v\n%s", clip(arguments, 300), err, clip(s.Stderr(), 2000))
	}
	return parseAnswer(s.t, raw)
}

// tool calls a tool of a server through the one tool.
func (s *session) tool(name, arguments, more string) answer {
	s.t.Helper()
	if more != "" {
		more = "," + more
	}
	return s.do(fmt.Sprintf(`{"action":"call","tool":%q,"arguments":%s%s}`, name, arguments, more))
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n/2] + " … " + s[len(s)-n/2:]
}

// within fails unless done is closed in time.
func within(t *testing.T, d time.Duration, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(d):
		t.Errorf("%s took longer than %v", what, d)
	}
}

// eventually asks until it holds or patience ends; for what happens in other processes, where no channel reaches.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end := time.After(patience / 2)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Errorf("%s did not happen in %v", what, patience/2)
			return
		}
	}
}

func compactJSON(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// interrupt asks a process politely to end.
var interrupt = os.Interrupt

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
