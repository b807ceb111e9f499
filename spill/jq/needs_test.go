package jq

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"
)

// unbound is what run takes without Run.
var unbound = Options{Time: time.Second, Size: 1 << 20}

// needed shows a need: * for all, [] for elements.
func (n *need) String() string {
	if n.whole {
		return "*"
	}
	var parts []string
	for _, k := range sortedKeys(n.members) {
		parts = append(parts, k+n.members[k].String())
	}
	out := ""
	if len(parts) > 0 {
		out = "{" + strings.Join(parts, " ") + "}"
	}
	if n.listed {
		out += "[]"
	}
	if n.elem != nil {
		out += n.elem.String()
	}
	return out
}

func sortedKeys(m map[string]*need) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	for i := range keys {
		for j := range i {
			if keys[i] < keys[j] {
				keys[i], keys[j] = keys[j], keys[i]
			}
		}
	}
	return keys
}

// programs are tried on all of worlds; what each needs of its data is beside it.
var programs = []struct{ source, needs string }{
	{".", "*"}, {"..", "*"}, {"length", "[]"}, {"keys", "*"}, {"type", ""}, {".a", "{a*}"}, {".a.b", "{a{b*}}"}, {`.["a"]`, "{a*}"}, {`."a"`, "{a*}"}, {`.["a"].b?`, "{a{b*}}"},
	{"map(.a)", "[]{a*}"}, {"[.[].a]", "[]{a*}"}, {"map(.a.b)", "[]{a{b*}}"}, {"map({a, n: .b})", "[]{a* b*}"}, {"map(select(.a > 1))", "[]*"}, {"map(select(.a > 1) | .b)", "[]{a* b*}"},
	{"map(select(.a)|.b)|length", "[]{a b}"}, {"group_by(.a)|map({v: .[0].a, n: length, s: (map(.b)|add)})", "[]{a* b*}"}, {"group_by(.a)|map(.[0])", "[]*"}, {"sort_by(.a)|.[:2]|map(.b)", "[]{a* b*}"},
	{"sort_by(.a)[0]", "[]*"}, {"max_by(.a).b", "[]{a* b*}"}, {"map(.a)|add", "[]{a*}"}, {"map(.a)|unique", "[]{a*}"}, {"[.[]|.a//.b]", "[]{a* b*}"}, {"[.[]|if .a then .b else .c end]", "[]{a b* c*}"},
	{"reduce .[] as $x (0; . + $x.a)", "[]{a*}"}, {"reduce .[] as $x ({}; .[$x.a|tostring] += 1)", "[]{a*}"}, {"[foreach .[] as $x (0; . + 1; [., $x.b])]", "[]{b*}"}, {". as $d | $d|map(.a)", "[]{a*}"},
	{".[0] as $f | map(.a == $f.a)", "[]{a*}"}, {".[0] as $f | map(. == $f)", "[]*"}, {".[1:]|map(.a)", "[]{a*}"}, {".[-1].a", "[]{a*}"}, {"map(has(\"a\"))", "[]{a}"}, {"map(to_entries)", "[]*"},
	{"map(.a|tostring)", "[]{a*}"}, {`map("\(.a)-\(.b)")`, "[]{a* b*}"}, {"map([.a,.b]|@csv)", "[]{a* b*}"}, {"any(.[]; .a)", "*"}, {"any(.a)", "[]{a}"}, {"all", "[]"}, {"first.a", "[]{a*}"}, {"[limit(2; .[]|.a)]", "[]{a*}"},
	{"[.[]|.a?]", "[]{a*}"}, {"try error(.) catch .", "*"}, {"[.[]|try .a.x catch .]", "*"}, {"def f: .a; map(f)", "*"}, {"map(del(.a))", "[]*"}, {"map(.a = 1)", "[]*"}, {".[].a |= 1", "*"}, {"map({(.a|tostring): .b})", "[]{a* b*}"},
	{". as [$x] | $x.a", "*"}, {"map(-(.a|numbers))", "[]{a*}"}, {"map(.a,.b)", "[]{a* b*}"}, {"map(.a)|map(.b?)", "[]{a{b*}}"}, {"flatten", "*"}, {"map(.c[]?)", "[]{c[]*}"}, {"map(.c|length)", "[]{c[]}"},
	{"map(.c|map(.b))", "[]{c[]{b*}}"}, {"map(.c[0].b?)", "[]{c[]{b*}}"}, {"label $out | .[] | .a, break $out", "*"}, {"map(.a and .b)", "[]{a b}"}, {"map(.c|not)", "[]{c}"}, {"map(values|.a)", "[]{a*}"}, {"reverse|map(.a)", "[]{a*}"},
	{"with_entries(.value)", "*"}, {"map(.a) - map(.b)", "[]{a* b*}"}, {"INDEX(.a)", "*"}, {"unique_by(.a)|length", "[]{a*}"}, {"[.[]|.c|first.b?]", "[]{c[]{b*}}"}, {"map(.c.b)", "[]{c{b*}}"}, {"map(isempty(.c[]?))", "[]{c[]}"},
	{"{a: (.a|length), b}", "{a[] b*}"}, {".a|add", "{a[]*}"}, {"[.a[]?|.b?]", "{a[]{b*}}"}, {"map(.a.b.c?)", "[]{a{b{c*}}}"},
}

var worlds = []string{
	`[]`, `{}`, `null`, `5`, `"text"`,
	`[{"b":1,"a":2,"c":[{"b":1,"z":[1,{"a":2}]},{"b":"x"}]},{"a":1,"b":"yes","z":{"a":[1,2]}},{"a":2,"c":"\u00e9\"]}","b":1.50,"d":null}]`,
	`[{"a":{"b":{"c":1},"y":0},"c":{"b":[1],"k":2}},{"a":null,"b":false,"c":[]},{"c":{"q":1},"a":[1,2]}]`,
	`{"a":[{"b":1,"z":2},{"b":2}],"b":{"a":1},"c":[1,2,3]}`, `{"a":{"b":3,"c":{"b":4}},"x":[]}`, `[1,"a",null,[{"a":1}],{"a":"b"}]`, `[[{"a":1,"b":2}],[{"a":3}]]`,
	`[{"a":1,"a":2,"b":[],"b":{}},{"a":12345678901234567890,"b":1E400}]`,
}

// TestNeeds: a program gives the same whether it sees all of its data or what it needs.
func TestNeeds(t *testing.T) {
	for _, p := range programs {
		query, err := gojq.Parse(p.source)
		if err != nil {
			t.Fatalf("%s: %v", p.source, err)
		}
		if got := needsOf(query).String(); got != p.needs {
			t.Errorf("%s needs %s, want %s", p.source, got, p.needs)
		}
		code, n, err := program(p.source)
		if err != nil {
			t.Fatalf("%s: %v", p.source, err)
		}
		for _, world := range worlds {
			want, wantErr := run(t.Context(), p.source, code, world, everything, unbound)
			got, gotErr := run(t.Context(), p.source, code, world, n, unbound)
			if string(got) != string(want) || (gotErr == nil) != (wantErr == nil) {
				t.Errorf("%s on %s: got %s, %v, want %s, %v", p.source, world, got, gotErr, want, wantErr)
			}
			whole, wholeErr := Run(t.Context(), p.source, func() (string, error) { return world, nil }, Options{})
			if string(whole) != string(want) || fmt.Sprint(wholeErr) != fmt.Sprint(wantErr) {
				t.Errorf("%s on %s: got %s, %v, want %s, %v", p.source, world, whole, wholeErr, want, wantErr)
			}
		}
	}
}

// FuzzNeeds holds the two ways against each other for any program and data.
func FuzzNeeds(f *testing.F) {
	for i, p := range programs {
		f.Add(p.source, worlds[i%len(worlds)])
	}
	f.Fuzz(func(t *testing.T, source, world string) {
		if len(source) > 100 || len(world) > 1000 || !json.Valid([]byte(world)) || strings.Contains(source, "now") || strings.Contains(source, "time") {
			return
		}
		code, n, err := program(source)
		if err != nil || n.whole {
			return
		}
		want, wantErr := run(t.Context(), source, code, world, everything, unbound)
		got, gotErr := run(t.Context(), source, code, world, n, unbound)
		if string(got) != string(want) || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s on %s: got %s, %v, want %s, %v", source, world, got, gotErr, want, wantErr)
		}
	})
}
