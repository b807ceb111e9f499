package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// known makes a server as a refresh leaves it.
func known(t *testing.T) *Server {
	t.Helper()
	s := &Server{Name: "fs", ID: "abc123", Known: true, Refreshed: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
	if err := s.readHello(json.RawMessage(`{ "protocolVersion":"2025-11-25", "serverInfo":{"name":"<x>&"},"instructions":"Read\u200b.","capabilities":{"tools":{}} }`)); err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct {
		of  list
		raw string
	}{
		{lists[0], `{ "name":"read",  "n":12345678901234567890, "m":1.10, "h":"<&>" }`},
		{lists[1], `{"uri":"file:///a","name":"a"}`},
		{lists[2], `{"uriTemplate":"file:///{p}","name":"b"}`},
		{lists[3], `{"name":"ask"}`},
	} {
		e, err := readEntry(l.of, s.Name, json.RawMessage(l.raw))
		if err != nil {
			t.Fatal(err)
		}
		s.Entries = append(s.Entries, e)
	}
	return s.settle()
}

func TestCacheKeepsEverything(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "cache")
	s := known(t)
	if err := saveCache(dir, s); err != nil {
		t.Fatal(err)
	}
	got := &Server{Name: "renamed", Alias: "c7", ID: s.ID, Description: "d"}
	if err := loadCache(dir, got, 1<<20); err != nil {
		t.Fatal(err)
	}
	if !got.Known || !got.Cached || got.Name != "renamed" || got.Alias != "c7" || got.Description != "d" ||
		!got.Refreshed.Equal(s.Refreshed) || got.Instructions != "Read." || got.ProtocolVersion != "2025-11-25" {
		t.Errorf("server = %+v, want the saved one under its new name", got)
	}
	if string(got.Info) != string(s.Info) || string(got.hello) != string(s.hello) {
		t.Errorf("hello = %s, want %s", got.hello, s.hello)
	}
	if len(got.Entries) != len(s.Entries) {
		t.Fatalf("entries = %d, want %d", len(got.Entries), len(s.Entries))
	}
	for i, e := range s.Entries {
		g := got.Entries[i]
		if string(g.Raw) != string(e.Raw) || g.Kind != e.Kind || g.Template != e.Template || g.Server != "renamed" {
			t.Errorf("entry %d = %v %s, want %v %s", i, g.Ref, g.Raw, e.Ref, e.Raw)
		}
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, cachePath(dir, s.ID): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s = %v, error %v, want %v", path, info.Mode(), err, want)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("cache folder holds %d files, want 1", len(files))
	}
}

func TestLoadCacheRefuses(t *testing.T) {
	good := string(encodeCache(known(t)))
	for _, tc := range []struct{ name, file string }{
		{"empty", ""},
		{"half", good[:len(good)/2]},
		{"no object", `[]`},
		{"other version", strings.Replace(good, `"version":1`, `"version":2`, 1)},
		{"no version", strings.Replace(good, `"version":1`, `"v":1`, 1)},
		{"bad time", strings.Replace(good, "2026-", "x", 1)},
		{"bad hello", strings.Replace(good, `"hello":{`, `"hello":7,"x":{`, 1)},
		{"too large", good + strings.Repeat(" ", 4<<10)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(cachePath(dir, "x"), []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			s := &Server{Name: "fs", ID: "x"}
			if err := loadCache(dir, s, 4<<10); !errors.Is(err, errCorrupt) {
				t.Errorf("loadCache error = %v, want errCorrupt", err)
			}
			if s.Known || s.Entries != nil {
				t.Errorf("server = %+v, want it untouched", s)
			}
		})
	}
	if err := loadCache(t.TempDir(), &Server{ID: "x"}, 1); !absent(err) {
		t.Errorf("loadCache without a file: error = %v, want fs.ErrNotExist", err)
	}
}

func TestCachePathStaysInside(t *testing.T) {
	for _, id := range []string{"abc", "", "..", "../x", "a/b", `a\b`, ".hidden", strings.Repeat("x", 300), "a\x00b"} {
		if got := filepath.Dir(cachePath("/cache", id)); got != filepath.FromSlash("/cache") {
			t.Errorf("cachePath(%q) lies in %s, want /cache", id, got)
		}
	}
}

func FuzzDecodeCache(f *testing.F) {
	f.Add([]byte(`{"version":1,"refreshed":"2026-01-02T03:04:05Z","hello":{"serverInfo":{}},"lists":[{"method":"tools/list","entries":[{"name":"a"}, {"name":"a"},7]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Server{Name: "s", ID: "x"}
		if err := decodeCache(bytes.Clone(data), s); err != nil {
			if s.Known || s.Entries != nil {
				t.Errorf("decodeCache(%q) failed and left %+v", data, s)
			}
			return
		}
		again := &Server{Name: "s", ID: "x"}
		if err := decodeCache(encodeCache(s), again); err != nil {
			t.Fatalf("decode of what was encoded: %v", err)
		}
		// What is left out is not written again, and lists come back in their own order.
		if diff := cmp.Diff(raws(s), raws(again)); diff != "" || string(s.hello) != string(again.hello) {
			t.Errorf("encode and decode changed the entries (-want +got):\n%s", diff)
		}
	})
}

func raws(s *Server) map[string]int {
	all := map[string]int{}
	for _, e := range s.Entries {
		all[string(e.Raw)]++
	}
	return all
}
