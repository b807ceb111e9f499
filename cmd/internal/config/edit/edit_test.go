package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

const written = `# My servers.
mcpServers:

  # The first.
  one:
    command: npx   # why
    args: [-y, "a b"]
    env:
      TOKEN: ${T}

  # The second
  # has two lines.
  "two":
    url: https://example.com/mcp

# Where it listens.
http:
  listen: 127.0.0.1:1
allowedRoots:
- /a
- /b
text: |
  first

  last
`

func node(t testing.TB, text string) *notation.Node {
	t.Helper()
	n, faults := notation.ParseYAML([]byte(text))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return n
}

func TestYAML(t *testing.T) {
	cases := []struct {
		name     string
		change   func(t *testing.T) Change
		old, new string // what changes in written
	}{
		{"a new server", func(t *testing.T) Change { return Set(node(t, "{command: x, disabled: true}"), "mcpServers", "three") },
			"    url: https://example.com/mcp\n", "    url: https://example.com/mcp\n  three:\n    command: x\n    disabled: true\n"},
		{"a new key inside", func(t *testing.T) Change { return Set(node(t, "true"), "mcpServers", "two", "disabled") },
			"    url: https://example.com/mcp\n", "    url: https://example.com/mcp\n    disabled: true\n"},
		{"keys on the way", func(t *testing.T) Change { return Set(node(t, "[x]"), "mcpServers", "two", "tools", "deny") },
			"    url: https://example.com/mcp\n", "    url: https://example.com/mcp\n    tools:\n      deny: [x]\n"},
		{"a value replaced", func(t *testing.T) Change { return Set(node(t, "0.0.0.0:2"), "http", "listen") }, "  listen: 127.0.0.1:1\n", "  listen: 0.0.0.0:2\n"},
		{"a list replaced", func(t *testing.T) Change { return Set(node(t, "[/c]"), "allowedRoots") }, "allowedRoots:\n- /a\n- /b\n", "allowedRoots: [/c]\n"},
		{"a text in lines replaced", func(t *testing.T) Change { return Set(node(t, "x"), "text") }, "text: |\n  first\n\n  last\n", "text: x\n"},
		{"at the top", func(t *testing.T) Change { return Set(node(t, "{level: debug}"), "log") }, "  last\n", "  last\nlog:\n  level: debug\n"},
		{"removed with its comment", func(*testing.T) Change { return Remove("mcpServers", "two") },
			"  # The second\n  # has two lines.\n  \"two\":\n    url: https://example.com/mcp\n", ""},
		{"removed inside", func(*testing.T) Change { return Remove("mcpServers", "one", "env") }, "    env:\n      TOKEN: ${T}\n", ""},
		{"the last one removed", func(*testing.T) Change { return Remove("text") }, "text: |\n  first\n\n  last\n", ""},
		{"renamed", func(*testing.T) Change { return Rename("uno", "mcpServers", "one") }, "  one:\n", "  uno:\n"},
		{"renamed, in quotes", func(*testing.T) Change { return Rename("a: b", "mcpServers", "two") }, "  \"two\":\n", "  'a: b':\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Apply("x.yaml", []byte(written), c.change(t))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(written, c.old, c.new, 1)
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	cases := []struct {
		name, file, old string
		change          Change
		want            string
	}{
		{"an empty file", "x.yaml", "", Set(notation.NewText("x"), "mcpServers", "a", "command"), "mcpServers:\n  a:\n    command: x\n"},
		{"only a comment", "x.yaml", "# mine\n", Set(notation.NewText("x"), "cacheDir"), "# mine\ncacheDir: x\n"},
		{"flow style", "x.yaml", "a: {b: 1} # c\n", Set(notation.NewText("x"), "a", "d"), "a: {b: 1, d: x} # c\n"},
		{"no line break at the end", "x.yaml", "a:\n  b: 1", Set(notation.NewText("x"), "a", "c"), "a:\n  b: 1\n  c: x\n"},
		{"nothing as a mapping", "x.yaml", "a:\nb: 1\n", Set(notation.NewText("x"), "a", "c"), "a:\n  c: x\nb: 1\n"},
		{"JSON", "x.json", "{\n\t// mine\n\t\"a\": {\"b\": 1},\n}\n", Set(notation.NewText("x"), "a", "c"), "{\n\t// mine\n\t\"a\": {\"b\": 1, \"c\": \"x\"},\n}\n"},
		{"JSON, not formatted", "x.json", "{ \"a\":1 }", Set(notation.NewText("x"), "b", "c"), "{ \"a\":1,\"b\":{\"c\":\"x\"} }"},
		{"JSON renamed", "x.json", "{\"a\": 1, /* c */ \"b\": 2}", Rename("z", "b"), "{\"a\": 1, /* c */ \"z\": 2}\n"},
		{"JSON removed", "x.json", "{\"a\": 1, \"b/c\": 2}", Remove("b/c"), "{\"a\": 1}\n"},
		{"JSON replaced", "x.json", "{\"a\": 1}", Set(&notation.Node{Kind: notation.Number, Text: "1.50"}, "a"), "{\"a\": 1.50}\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Apply(c.file, []byte(c.old), c.change)
			if err != nil || string(got) != c.want {
				t.Errorf("got %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	cases := []struct {
		name, file, old string
		change          Change
		want            error // nil: any
	}{
		{"removed, not there", "x.yaml", written, Remove("mcpServers", "three"), ErrNoKey},
		{"removed, not there in JSON", "x.json", `{"a":1}`, Remove("b", "c"), ErrNoKey},
		{"a name taken", "x.yaml", written, Rename("two", "mcpServers", "one"), ErrTaken},
		{"a value on the way", "x.yaml", written, Set(notation.NewText("x"), "http", "listen", "deeper"), nil},
		{"TOML", "x.toml", "a = 1\n", Set(notation.NewText("x"), "b"), ErrNotation},
		{"a broken file", "x.yaml", "a: [", Set(notation.NewText("x"), "b"), nil},
		{"a key that stands twice", "x.yaml", "a: 1\na: 2\n", Set(notation.NewText("x"), "b"), nil},
		{"a list", "x.yaml", "- a\n", Set(notation.NewText("x"), "b"), nil},
		{"no path", "x.yaml", written, Change{Remove: true}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Apply(c.file, []byte(c.old), c.change)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %q, %v, want %v", got, err, c.want)
			}
		})
	}
}

// FuzzApply: what Apply returns means what it was asked for, or there is an error.
func FuzzApply(f *testing.F) {
	for _, file := range []string{written, "", "a: {b: 1}", "a: &x {b: 1}\nc: *x\n", "a:\n# c\n b: 1\n", "a: 1 # x\n\n\n#y", "? a\n: b\n", "{\"a\": {\"b\": 1}}"} {
		f.Add(file, "a", "b", "v")
	}
	f.Fuzz(func(t *testing.T, file, one, two, value string) {
		for _, name := range []string{"x.yaml", "x.json"} {
			before, err := read(name, []byte(file))
			if err != nil {
				continue
			}
			for _, c := range []Change{Set(notation.NewText(value), one, two), Remove(one, two), Rename(value, one)} {
				got, err := Apply(name, []byte(file), c)
				if err != nil {
					continue
				}
				after, err := read(name, got)
				if err != nil {
					t.Fatalf("%q became %q: %v", file, got, err)
				}
				if c.Value != nil && (after.Get(one).Get(two) == nil || after.Get(one).Get(two).Text != value) {
					t.Errorf("%q became %q, which lacks the value", file, got)
				}
				if len(after.Members) < len(before.Members)-1 {
					t.Errorf("%q became %q: keys are gone", file, got)
				}
			}
		}
	})
}
