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

// FuzzSLON checks that what was read, printed and read again is the same.
func FuzzSLON(f *testing.F) {
	for _, s := range []string{"(cmd: 'ojob x.yaml')", "[(a: 1), (b: [x | 'y' | 2])]", `(a: "q\u00e9\n", b: null, c: true)`, "(url: http://h:1/p, t: 5)", "[]", "()"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseSLON(text)
		if err != nil {
			return
		}
		out := printSLON(n)
		again, err := parseSLON(out)
		if err != nil {
			t.Fatalf("printed %q does not parse: %v", out, err)
		}
		if diff := cmp.Diff(n, again, cmp.AllowUnexported(node{}, member{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("printed and read again: %s", diff)
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

// FuzzSplitWords checks that quoted words come back as they were.
func FuzzSplitWords(f *testing.F) {
	f.Add("a b", "it's")
	f.Fuzz(func(t *testing.T, a, b string) {
		quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
		got, err := splitWords(quote(a) + " \t" + quote(b))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{a, b}, got); diff != "" {
			t.Error(diff)
		}
		_, _ = splitWords(a)
	})
}

// printSLON writes n as SLON; parseSLON reads the same value back.
func printSLON(n *node) string {
	var b strings.Builder
	writeSLON(&b, n)
	return b.String()
}

func writeSLON(b *strings.Builder, n *node) {
	switch n.kind {
	case aMapping:
		b.WriteByte('(')
		for i, m := range n.members {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(slonQuote(m.key) + ": ")
			writeSLON(b, m.value)
		}
		b.WriteByte(')')
	case aList:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteString(" | ")
			}
			writeSLON(b, item)
		}
		b.WriteByte(']')
	case aText:
		b.WriteString(slonQuote(n.text))
	default:
		b.WriteString(n.text)
	}
}

func slonQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
