//go:build unix

package builtin

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe nobody writes to must not hold a call for ever.
func TestPipe(t *testing.T) {
	root, _ := tree(t)
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	s := utils(t, UtilsOptions{Roots: []string{root}})
	for _, tc := range []struct{ name, tool, args string }{
		{"read", "filesystemQuery", `{"path":"pipe"}`},
		{"search", "filesystemQuery", `{"operation":"search","path":"pipe","pattern":"x"}`},
		{"write", "filesystemModify", `{"operation":"write","path":"pipe","content":"x"}`},
		{"append", "filesystemModify", `{"operation":"append","path":"pipe","content":"x"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if a := call(t, s, tc.tool, tc.args); !a.IsError || !strings.Contains(a.text(), "not a regular file") {
				t.Errorf("got %s", a.text())
			}
		})
	}
	if a := call(t, s, "filesystemQuery", `{"operation":"search","pattern":"two"}`); a.IsError {
		t.Errorf("search beside a pipe: %s", a.text())
	}
}
