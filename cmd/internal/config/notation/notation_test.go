package notation

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func scalar(line int, kind Kind, text string) *Node { return &Node{Kind: kind, Text: text, Line: line} }

func TestParse(t *testing.T) {
	pair := func(a, b Member) *Node { return &Node{Kind: Mapping, Line: 1, Members: []Member{a, b}} }
	for _, tt := range []struct {
		name, path, text string
		want             *Node
		faults           []Fault
	}{
		{name: "YAML", path: "c.yml", text: "a: 1\nb:\n  - x\n  - true\n",
			want: pair(Member{"a", 1, scalar(1, Number, "1")}, Member{"b", 2, &Node{Kind: List, Line: 3, Items: []*Node{scalar(3, Text, "x"), scalar(4, Bool, "true")}}})},
		{name: "merge keys", path: "c.yaml", text: "base: &b {x: 1}\nn: {<<: *b, y: 2}\n",
			want: pair(Member{"base", 1, &Node{Kind: Mapping, Line: 1, Members: []Member{{"x", 1, scalar(1, Number, "1")}}}},
				Member{"n", 2, &Node{Kind: Mapping, Line: 2, Members: []Member{{"y", 2, scalar(2, Number, "2")}, {"x", 1, scalar(1, Number, "1")}}}})},
		{name: "JSON by its beginning", path: "c", text: "// words\n{\"a\": \"x\", // more\n\"b\": null,}",
			want: &Node{Kind: Mapping, Line: 2, Members: []Member{{"a", 2, scalar(2, Text, "x")}, {"b", 3, scalar(3, Null, "null")}}}},
		{name: "TOML", path: "c.toml", text: "a = 1\n[b.c]\nd = \"x\"\n",
			want: pair(Member{"a", 1, scalar(1, Number, "1")}, Member{"b", 2, &Node{Kind: Mapping, Line: 2, Members: []Member{
				{"c", 2, &Node{Kind: Mapping, Line: 2, Members: []Member{{"d", 3, scalar(3, Text, "x")}}}}}}})},
		{name: "a key twice", path: "c.json", text: "{\"a\": 1,\n\"a\": 2}", want: &Node{Kind: Mapping, Line: 1, Members: []Member{{"a", 1, scalar(1, Number, "1")}}},
			faults: []Fault{{2, `duplicate key "a" (first on line 1)`}}},
		{name: "empty", path: "c.yaml", text: " \n", faults: []Fault{{1, "file is empty"}}},
		{name: "only a comment", path: "c.yaml", text: "# nothing\n", faults: []Fault{{1, "file is empty"}}},
		{name: "deep JSON", path: "c.json", text: strings.Repeat("[", 300), faults: []Fault{{1, "nested more than 200 levels deep"}}},
		{name: "deep TOML", path: "c.toml", text: "a = " + strings.Repeat("[", 300), faults: []Fault{{1, "nested more than 200 levels deep"}}},
		{name: "a multiplying file", path: "c.yaml", text: multiplying(), faults: []Fault{{0, "aliases make the file larger than 2000000 values"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, faults := Parse(tt.path, []byte(tt.text))
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.faults, faults, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// multiplying is a small file that aliases make ten million values of.
func multiplying() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 6 {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		b.WriteString("a" + to + ": &a" + to + " [" + strings.Repeat("*a"+from+", ", 9) + "*a" + from + "]\n")
	}
	return b.String()
}

func TestPrintYAML(t *testing.T) {
	n := &Node{Kind: Mapping, Comment: "from \x89\x07file"}
	n.Put("a", NewText("true"))
	n.Put("b", &Node{Kind: List, Items: []*Node{NewText("x y"), scalar(0, Number, "1")}})
	got, err := PrintYAML(n.YAML())
	if want := "# from ��file\na: 'true'\nb: [x y, 1]\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// FuzzParse checks that no file makes the readers panic, and that what was read and printed reads the same.
func FuzzParse(f *testing.F) {
	f.Add("c.yaml", []byte("a: &x [1, ~, 'b']\n<<: {c: *x}\n"))
	f.Add("c.json", []byte("{\"a\": [1.50, true, null, \"\\u00e9\"] /* c */,}"))
	f.Add("c.toml", []byte("a.b = 1_000\n[[c]]\nd = {e = 1979-05-27, f = inf}\n"))
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		n, faults := Parse(path, data)
		if n == nil && len(faults) == 0 {
			t.Fatal("neither a node nor a fault")
		}
		if n == nil || len(faults) > 0 || n.Kind == Null {
			return
		}
		out, err := PrintYAML(n.YAML())
		if err != nil {
			t.Fatalf("print: %v", err)
		}
		again, faults := ParseYAML(out)
		if again == nil || len(faults) > 0 {
			t.Fatalf("printed, it does not parse: %v\n%s", faults, out)
		}
		if second, err := PrintYAML(again.YAML()); err != nil || !bytes.Equal(out, second) {
			t.Errorf("printed %q, read and printed again %q, %v", out, second, err)
		}
	})
}
