//go:build unix

package process

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWatch(t *testing.T) {
	group := func() (id int, gone chan struct{}) {
		cmd := exec.Command("sleep", "300")
		ownGroup(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		gone = make(chan struct{})
		go func() {
			defer close(gone)
			_ = cmd.Wait() // it is always killed
		}()
		return cmd.Process.Pid, gone
	}
	kept, keptGone := group()
	ended, endedGone := group()
	input := fmt.Sprintf("+%d\nnonsense\n+\n+0\n+1\n-x\n+-5\n+%d\n-%d\n+%d", kept, ended, kept, ended)
	if err := Watch(strings.NewReader(input)); err != nil {
		t.Fatal(err)
	}
	<-endedGone
	select {
	case <-keptGone:
		t.Error("a group that was taken back was ended")
	default:
	}
}

func TestWatcherIsReplaced(t *testing.T) {
	t.Setenv("ROLE", "watcher")
	w := NewWatcher([]string{self(t)}, slog.New(slog.DiscardHandler))
	defer w.Close()
	server := Options{Command: self(t), Env: []string{"ROLE=reader"}, Watcher: w}
	start(t, server)
	first := w.cmd.Process
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Wait(); err != nil {
		t.Fatal(err)
	}
	start(t, server)
	second := w.cmd.Process
	if err := second.Signal(syscall.Signal(0)); second.Pid == first.Pid || err != nil {
		t.Errorf("the watcher was not replaced: %v", err)
	}
	if len(w.living) != 2 {
		t.Errorf("it knows %d groups, want 2", len(w.living))
	}
}

func TestPathOfTheServerCounts(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(self(t), filepath.Join(dir, "only-here")); err != nil {
		t.Fatal(err)
	}
	start(t, Options{Command: "only-here", Env: []string{"ROLE=reader", "PATH=" + dir}})
}
