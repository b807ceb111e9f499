package minia

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

func TestSplitWords(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		want       []string
		bad        bool
	}{
		{name: "nothing", line: "  "},
		{name: "blanks", line: " a\tb  c ", want: []string{"a", "b", "c"}},
		{name: "single quotes", line: `'a b\' c`, want: []string{`a b\`, "c"}},
		{name: "double quotes", line: `"a \"b\" \x $HOME"`, want: []string{`a "b" \x $HOME`}},
		{name: "joined parts", line: `a'b'"c"d`, want: []string{"abcd"}},
		{name: "empty word", line: `a ''`, want: []string{"a", ""}},
		{name: "backslash", line: `a\ b \\`, want: []string{"a b", `\`}},
		{name: "continued line", line: "a\\\nb", want: []string{"ab"}},
		{name: "operators mean nothing", line: "a | b > c", want: []string{"a", "|", "b", ">", "c"}},
		{name: "open quote", line: `a "b`, bad: true},
		{name: "open backslash", line: `a \`, bad: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := splitWords(tt.line)
			if (err != nil) != tt.bad {
				t.Fatalf("error = %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSLON(t *testing.T) {
	for _, tt := range []struct{ name, text, want, err string }{
		{name: "map", text: "( a : b c , d:1.5,e:true, f: null )", want: "('a': 'b c', 'd': 1.5, 'e': true, 'f': null)"},
		{name: "bars and commas", text: "[a|b, 'c' | [1]]", want: "['a' | 'b' | 'c' | [1]]"},
		{name: "colons in values", text: "(url: http://h:80/p, t: 1)", want: "('url': 'http://h:80/p', 't': 1)"},
		{name: "a bar in a map's value", text: "(a: x|y)", want: "('a': 'x|y')"},
		{name: "escapes", text: `("a": "\u00e9\t\"", 'b': 'it\'s')`, want: "('a': 'é\t\"', 'b': 'it\\'s')"},
		{name: "trailing separator", text: "(a: 1,)", want: "('a': 1)"},
		{name: "missing value", text: "(a:)", err: "at character 4: a value is missing"},
		{name: "missing colon", text: "(a)", err: `at character 3: a ':' is missing after the key "a"`},
		{name: "open map", text: "(a: 1", err: "at character 6: a ')' is missing at the end"},
		{name: "open list", text: "[a", err: "at character 3: a ']' is missing at the end"},
		{name: "twice", text: "(a: 1, a: 2)", err: `at character 12: duplicate key "a"`},
		{name: "rest", text: "(a: 1) x", err: `at character 8: unexpected "x" after the value`},
		{name: "deep", text: strings.Repeat("[", 500), err: "at character 201: nested more than 200 levels deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, err := parseSLON(tt.text)
			if err != nil || tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("error = %v, want %s", err, tt.err)
				}
				return
			}
			if got := printSLON(n); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
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
		if diff := cmp.Diff(n, again, cmp.AllowUnexported(notation.Node{}, notation.Member{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("printed and read again: %s", diff)
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
func printSLON(n *notation.Node) string {
	var b strings.Builder
	writeSLON(&b, n)
	return b.String()
}

func writeSLON(b *strings.Builder, n *notation.Node) {
	switch n.Kind {
	case notation.Mapping:
		b.WriteByte('(')
		for i, m := range n.Members {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(slonQuote(m.Key) + ": ")
			writeSLON(b, m.Value)
		}
		b.WriteByte(')')
	case notation.List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteString(" | ")
			}
			writeSLON(b, item)
		}
		b.WriteByte(']')
	case notation.Text:
		b.WriteString(slonQuote(n.Text))
	default:
		b.WriteString(n.Text)
	}
}

func slonQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
