package tests

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// brokenServers is one server of every kind of trouble.
func brokenServers() []server {
	return []server{
		fix("silent", "--mode", "silent"),
		fix("garbage", "--mode", "garbage"),
		fix("half-line", "--mode", "half-line"),
		fix("crashing", "--mode", "crash-start"),
		{"absent", `{"command":"no-such-program-anywhere"}`},
		{"unreachable", `{"url":"http://127.0.0.1:1/mcp"}`},
	}
}

// TestBrokenServersDelayNobody has no line for time but a generous one: an answer that waited for a silent
// server would take its start timeout of 30 s.
func TestBrokenServersDelayNobody(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", append(brokenServers(), fix("good"))...))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.Request(s.ctx, "tools/list", `{}`)
		s.tool("good/echo", `{"message":"fine"}`, "").ok().wants("fine")
		s.do(`{"action":"search","query":"add two numbers"}`).ok().wants("good/add")
		s.do(`{"action":"list"}`).ok().wants("good")
	}()
	within(t, 15*time.Second, done, "work beside six broken servers")
	<-done
	for _, name := range []string{"crashing", "absent", "unreachable"} {
		s.tool(name+"/echo", `{"message":"x"}`, "").fails("server_unavailable", name)
	}
	s.tool("silent/echo", `{"message":"x"}`, `"timeoutMs":300`).wants("silent")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		args []string
	}{
		{"babbling between its answers", []string{"--mode", "babble"}},
		{"slow to start", []string{"--delay", "700ms"}},
		{"noisy on stderr", []string{"--stderr", "noise"}},
		{"a storm of list_changed", []string{"--mode", "storm"}},
		{"both eras", []string{"--era", "both"}},
		{"without sessions", []string{"--era", "modern"}},
		{"neither prompts nor resources", []string{"--no-prompts"}},
		{"lists of many pages", []string{"--page", "1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, config("", fix("odd", c.args...), fix("even", "--only-echo")))
			s.tool("odd/add", `{"a":1,"b":2}`, "").ok().wants("3")
			s.tool("even/echo", `{"message":"fine"}`, "").ok().wants("fine")
			eventually(t, "the catalog", func() bool {
				return strings.Contains(s.do(`{"action":"search","query":"records_sum"}`).text(), "odd/records_sum")
			})
		})
	}
}

func TestHugeLine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("300 MB through a pipe")
	}
	s := serve(t, config("", fix("huge", "--mode", "huge-line"), fix("good", "--only-echo")))
	s.tool("good/echo", `{"message":"fine"}`, "").ok().wants("fine")
	if got := s.tool("huge/echo", `{"message":"x"}`, ""); !got.isError {
		t.Errorf("got %s, want an error", got.text())
	}
	s.tool("good/echo", `{"message":"still"}`, "").ok().wants("still")
	if kb := peakMemory(s.Pid()); kb > 1<<20 && !raceOn {
		t.Errorf("a line of 300 MB cost %d MB of memory", kb>>10)
	}
}

// peakMemory is the largest resident size of a process in KiB; 0 where the system does not tell.
func peakMemory(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	n, _ := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "kB", 2)[0]))
	return n
}

// TestKilledMidCall kills the server, not the proxy: the call says what became of it, the next one works.
func TestKilledMidCall(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	s := serve(t, config("", fix("fixture", "--pidfile", pids)))
	s.tool("count", `{"key":"k"}`, "").ok()
	got := make(chan answer, 1)
	go func() { got <- s.tool("hang", `{}`, "") }()
	go func() {
		time.Sleep(200 * time.Millisecond) // the call has to be on its way; too early only makes the test easier
		for _, pid := range readPids(pids) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	(<-got).fails("server_unavailable", "Sent, outcome unknown: check before repeating.")
	s.tool("count", `{"key":"k"}`, "").ok().wants("1")
	if n := len(readPids(pids)); n != 2 {
		t.Errorf("the server was started %d times, want 2", n)
	}
}

// TestRetries repeats a call whose server died under it only where repeating cannot hurt.
func TestRetries(t *testing.T) {
	t.Parallel()
	cases := []struct {
		tool, arguments string
		again           bool
	}{
		{"echo", `{"message":"safe"}`, true},         // says that it only reads
		{"put_thing", `{"id":"safe"}`, true},         // says that repeating changes nothing
		{"mirror", `{"x":"not safe"}`, false},        // says nothing
		{"delete_thing", `{"id":"not safe"}`, false}, // says the worst
	}
	for _, c := range cases {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			s := serve(t, config("", fix("fixture", "--crash-once", filepath.Join(t.TempDir(), "crashed"))))
			got := s.tool(c.tool, c.arguments, "")
			if c.again {
				got.ok().wants("safe")
				return
			}
			got.fails("server_unavailable", "Sent, outcome unknown: check before repeating.")
			s.tool(c.tool, c.arguments, "").ok().wants("not safe")
		})
	}
}

func readPids(file string) []int {
	b, _ := os.ReadFile(file)
	var pids []int
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(state, "Z")
}

func living(pids []int) (list []int) {
	for _, p := range pids {
		if alive(p) {
			list = append(list, p)
		}
	}
	return list
}

// goneWithin is the promise; busy is what a machine with other work to do may add to it.
const (
	goneWithin = 2 * time.Second
	busy       = time.Second
)

// TestAgentGone looks at what is left two seconds after the agent went, in each of the ways an agent goes.
func TestAgentGone(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc to look for processes")
	}
	ways := []struct {
		name   string
		leave  func(s *session)
		noFile bool // a killed process cannot remove its files; the next start does
	}{
		{"closes stdin", func(s *session) { go s.Close() }, true},
		{"sends SIGTERM", func(s *session) { _ = syscall.Kill(s.Pid(), syscall.SIGTERM) }, true},
		{"kills the proxy", func(s *session) { _ = s.Kill() }, false},
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			h := newHome(t, config("", fix("plain", "--pidfile", pids), fix("stubborn", "--pidfile", pids, "--stubborn", "--child"), fix("silent", "--pidfile", pids, "--mode", "silent")))
			s := h.serve(t)
			s.tool("plain/big", `{"bytes":100000}`, "").ok()
			s.tool("stubborn/echo", `{"message":"x"}`, "").ok()
			go func() {
				_, _ = s.Call(s.ctx, "proxy-dispatch", `{"action":"call","tool":"plain/hang","arguments":{}}`, "")
			}()
			eventually(t, "four processes", func() bool { return len(readPids(pids)) >= 4 })
			w.leave(s)
			began := time.Now()
			for len(living(append(readPids(pids), s.Pid()))) > 0 && time.Since(began) < goneWithin+busy {
				time.Sleep(10 * time.Millisecond)
			}
			t.Logf("all ended after %v", time.Since(began).Round(10*time.Millisecond))
			if pids := living(readPids(pids)); len(pids) > 0 {
				t.Errorf("processes %v outlived the agent by more than %v", pids, goneWithin)
			}
			if alive(s.Pid()) {
				t.Errorf("the proxy outlived the agent by more than %v", goneWithin)
			}
			if files := left(filepath.Join(h.dir, "tmp")); w.noFile && len(files) > 0 {
				t.Errorf("left behind: %v", files)
			}
		})
	}
}

func TestTwoHundredServers(t *testing.T) {
	t.Parallel()
	if testing.Short() || raceOn {
		t.Skip("200 processes")
	}
	var servers []server
	for i := range 200 {
		servers = append(servers, fix(fmt.Sprintf("s%03d", i), "--only-echo"))
	}
	s := serve(t, config("", servers...))
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	if _, err := s.Request(ctx, "tools/list", `{}`); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s000", "s199", "c100"} {
		s.tool(name+"/echo", `{"message":"hello"}`, "").ok().wants("hello")
	}
	eventually(t, "all catalogs", func() bool {
		return fmt.Sprint(s.do(`{"action":"status","format":"json"}`).ok().object()["totalTools"]) == "200"
	})
}

// TestLazy proves that a sleeping server is known from the disk, and started by its first call only.
func TestLazy(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	h := newHome(t, config("", fixWith("sleeper", `"lazy":true`, "--pidfile", pids)))
	s := h.serve(t)
	s.tool("sleeper/echo", `{"message":"x"}`, "").ok()
	eventually(t, "the catalog", func() bool {
		return strings.Contains(s.do(`{"action":"search","query":"records_sum"}`).text(), "sleeper/records_sum")
	})
	_ = s.Close()
	before := len(readPids(pids))
	again := h.serve(t)
	again.do(`{"action":"search","query":"records_sum"}`).ok().wants("sleeper/records_sum", "asleep")
	if n := len(readPids(pids)); n != before {
		t.Errorf("a search started the sleeping server (%d starts, then %d)", before, n)
	}
	again.tool("sleeper/echo", `{"message":"awake"}`, "").ok().wants("awake")
}
