package process

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The test binary plays the other processes: with ROLE set it is the watcher, a server that reads to the end of its
// input, or one that tells why it fails.
func TestMain(m *testing.M) {
	switch os.Getenv("ROLE") {
	case "":
		os.Exit(m.Run())
	case "watcher":
		if Watch(os.Stdin) != nil {
			os.Exit(1)
		}
	case "reader":
		io.Copy(io.Discard, os.Stdin)
	case "failing":
		os.Stderr.WriteString("starting up\nError: no such door\nbye\n")
		os.Exit(3)
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t *testing.T, o Options) *Process {
	t.Helper()
	p, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.End)
	return p
}

func TestWhy(t *testing.T) {
	tests := []struct {
		name string
		show func(string, int) string
		want string
	}{
		{"as it is", nil, "exited: exit status 3: Error: no such door"},
		{"shown", func(text string, _ int) string { return strings.ReplaceAll(text, "door", "***") }, "exited: exit status 3: Error: no such ***"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, Options{Command: self(t), Env: []string{"ROLE=failing"}, Show: tt.show})
			_, err := io.Copy(io.Discard, p.Stdout)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, p.Why(io.EOF).Error()); d != "" {
				t.Error(d)
			}
			p.End()
			p.End()
		})
	}
}

func TestNoSuchProgram(t *testing.T) {
	if _, err := Start(Options{Command: self(t) + "-is-not-here"}); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "start: ") {
		t.Errorf("got %v, want start: no such file", err)
	}
}

// A server that floods its stderr costs a bounded number of lines in our log.
func TestLogIsBounded(t *testing.T) {
	var out strings.Builder
	l := NewLog(slog.New(slog.NewTextHandler(&out, nil)))
	for range 10 * logsAtOnce {
		l.Line(slog.LevelInfo, "server stderr", "x")
	}
	if n := strings.Count(out.String(), "\n"); n < logsAtOnce || n > 2*logsAtOnce {
		t.Errorf("got %d lines, want about %d", n, logsAtOnce)
	}
}
