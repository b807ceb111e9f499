package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata")

// environment reads NAME=VALUE lines.
func environment(lines string) func(string) (string, bool) {
	vars := map[string]string{"HOME": "/home/me"}
	for line := range strings.Lines(lines) {
		if name, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), "="); found {
			vars[name] = value
		}
	}
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// outcome loads a file and writes all that is seen of it: its problems, or what is in force, what
// each server is called in logs, and what was ignored.
func outcome(t *testing.T, path string, data []byte, env func(string) (string, bool)) string {
	t.Helper()
	c, err := Parse(path, data, env)
	var b strings.Builder
	if err != nil {
		b.WriteString(err.Error() + "\n")
		return b.String()
	}
	resolved, err := c.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	b.Write(resolved)
	for _, s := range c.Servers {
		b.WriteString(s.Name + " = " + s.Describe + "\n")
	}
	for _, line := range c.Ignored {
		b.WriteString(line + "\n")
	}
	wd, _ := os.Getwd()
	return strings.ReplaceAll(b.String(), wd, "$WORK")
}

// TestLoad runs every archive of testdata/load: a configuration, optionally the environment in env,
// and in want what comes of it.
func TestLoad(t *testing.T) {
	archives, _ := filepath.Glob("testdata/load/*.txtar")
	if len(archives) == 0 {
		t.Fatal("no archives")
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range a.Files {
				parts[f.Name] = string(f.Data)
			}
			for _, f := range a.Files {
				if f.Name == "env" || strings.HasPrefix(f.Name, "want ") {
					continue
				}
				want := "want " + f.Name
				got := outcome(t, f.Name, f.Data, environment(parts["env"]))
				if *update {
					a.Files = set(a.Files, want, got)
					continue
				}
				if diff := cmp.Diff(parts[want], got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func set(files []txtar.File, name, data string) []txtar.File {
	for i := range files {
		if files[i].Name == name {
			files[i].Data = []byte(data)
			return files
		}
	}
	return append(files, txtar.File{Name: name, Data: []byte(data)})
}
