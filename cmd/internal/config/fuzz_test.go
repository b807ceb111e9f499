package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"
)

// printed writes a configuration as it is, secrets included, so that it can be read again.
func printed(t *testing.T, c *Config) []byte {
	t.Helper()
	plain := func(s string) string { return s }
	data, err := c.print(func(s *Server) maskedServer {
		return maskedServer{command: s.Command, url: s.URL, dir: s.Dir, args: s.Args}
	}, plain, plain)
	if err != nil {
		t.Fatalf("print: %v", err)
	}
	return data
}

var sameConfig = cmp.Options{
	cmpopts.IgnoreFields(Config{}, "Path", "Ignored"),
	cmpopts.IgnoreFields(Server{}, "File", "Line", "Describe"),
	cmpopts.IgnoreUnexported(Config{}, Server{}),
	cmpopts.EquateEmpty(),
}

// FuzzLoad checks that no file makes the reader panic, and that what was read, printed and read
// again is the same.
func FuzzLoad(f *testing.F) {
	archives, _ := filepath.Glob("testdata/load/*.txtar")
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			if file.Name != "env" {
				f.Add(filepath.Base(strings.TrimPrefix(file.Name, "want ")), file.Data)
			}
		}
	}
	env := environment("SET=value-of-set\nEMPTY=\n")
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		c, err := Parse(name, data, env)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if _, err := c.Resolved(); err != nil {
			t.Fatalf("Resolved: %v", err)
		}
		for i := range c.Servers {
			if c.Servers[i].Unset != nil {
				return // its variables are gone from the printed form
			}
		}
		out := printed(t, c)
		again, err := Parse("again.yaml", out, env)
		if err != nil {
			t.Fatalf("printed configuration does not load: %v\n%s", err, out)
		}
		if diff := cmp.Diff(c, again, sameConfig); diff != "" {
			t.Errorf("printed and read again (-first +again):\n%s\n%s", diff, out)
		}
	})
}

// FuzzWords checks that no word makes the reader panic.
func FuzzWords(f *testing.F) {
	f.Add("mcp=(cmd: 'npx x')", "useutils=true")
	f.Add(`mcp=[{"url":"http://h/"}]`, "mcpproxydeny=[a")
	f.Fuzz(func(t *testing.T, a, b string) {
		if c, err := FromWords([]string{a, b}, environment("")); err == nil {
			if _, err := c.Resolved(); err != nil {
				t.Fatalf("Resolved: %v", err)
			}
		}
	})
}
