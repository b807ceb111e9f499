package wholefile

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", "file")
	for _, body := range []string{"one", "", "another"} {
		if err := Write(path, []byte(body), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != body {
			t.Errorf("got %q, %v, want %q", got, err, body)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got %v, %v, want mode 640", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d files are left, want 1", len(left))
	}
}

func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "taken", "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "taken"), []byte("x"), 0o600); err == nil {
		t.Error("a folder in the place of the file: no error")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d entries are left, want the folder alone", len(left))
	}
}

// TestReadersSeeWholeFiles writes and reads at once.
func TestReadersSeeWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	bodies := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 50_000)}
	if err := Write(path, []byte(bodies[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for range 50 {
				if err := Write(path, []byte(bodies[n%2]), 0o600); err != nil {
					t.Error(err)
				}
				if got, err := os.ReadFile(path); err != nil || string(got) != bodies[0] && string(got) != bodies[1] {
					t.Errorf("half a file: %d bytes, %v", len(got), err)
				}
			}
		})
	}
	all.Wait()
}
