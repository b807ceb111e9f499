//go:build unix

package downstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// alive says if a process runs. A zombie that nobody waits for is dead enough.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func pidsIn(t *testing.T, path string) []int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func allGone(t *testing.T, pids []int) {
	t.Helper()
	eventually(t, fmt.Sprint("processes gone: ", pids), func() bool {
		for _, pid := range pids {
			if alive(pid) {
				return false
			}
		}
		return true
	})
}

func TestCloseLeavesNothing(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pids")
	t.Setenv("PIDS", pidFile)
	var servers []Server
	for i, faults := range [][]string{{"grandchild"}, {"grandchild", "stubborn"}, {"grandchild", "silent"}, {"grandchild", "deaf"}} {
		servers = append(servers, fixtureServer(t, fmt.Sprint("s", i), faults...))
	}
	f := newFleet(t, Options{Servers: servers})
	f.Start(t.Context())
	eventually(t, "all started", func() bool {
		text, err := os.ReadFile(pidFile)
		return err == nil && len(strings.Fields(string(text))) == 2*len(servers)
	})
	pids := pidsIn(t, pidFile)
	start := time.Now()
	f.Close()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("Close took %s, want 2 s at most", took)
	}
	allGone(t, pids)
	f.Close()
	if _, err := f.Do(t.Context(), Request{Server: "s0", Method: "ping"}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after Close: got %v, want ErrUnavailable", err)
	}
}

func TestGrandchildOfADeadServerIsEnded(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pids")
	t.Setenv("PIDS", pidFile)
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s", "grandchild")}})
	pidOf(t, f)
	start := time.Now()
	_, err := f.Do(t.Context(), Request{Server: "s", Method: "die"})
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v, want exit status 3", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("the call failed after %s", took)
	}
	allGone(t, pidsIn(t, pidFile))
}

func TestKilledProxyLeavesNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(t.TempDir(), "pids")
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), "PARENT="+self, "PIDS="+pidFile)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("parent said %q, %v", line, err)
	}
	pids := pidsIn(t, pidFile)
	if len(pids) != 6 {
		t.Fatalf("got %v, want three servers and three children of theirs", pids)
	}
	start := time.Now()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	allGone(t, pids)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %s, want 2 s at most", took)
	}
	_ = parent.Wait() // it was killed
}

// playParent is a proxy that waits to be killed.
func playParent() {
	self := os.Getenv("PARENT")
	os.Unsetenv("PARENT")
	os.Setenv("WATCHER", "1") // servers have FIXTURE, which counts first
	var servers []Server
	for i, faults := range []string{"grandchild", "grandchild,stubborn", "grandchild,stubborn,slow"} {
		servers = append(servers, Server{Name: fmt.Sprint("s", i), Command: self, Env: []string{"FIXTURE=" + faults}})
	}
	f, err := New(Options{Servers: servers, Watcher: []string{self}})
	if err != nil {
		panic(err)
	}
	for _, s := range servers {
		if _, err := f.Fetch(context.Background(), s.Name, "ping", nil); err != nil {
			panic(err)
		}
	}
	fmt.Println("ready")
	select {}
}
