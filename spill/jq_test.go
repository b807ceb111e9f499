package spill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

func TestJQ(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, `{"content":[],"structuredContent":`+records(5)+`}`)
	b := put(t, s, text(`[{"id":1,"team":"red"},{"id":3,"team":"blue"}]`))
	plain := put(t, s, text("x=1\ny=2"))
	odd := put(t, s, text(`{"z":1.10,"y":1e2,"x":-0,"w":12345678901234567890123,"v":0.1,"u":1.0E+2,"t":100000000000000000000.5,"s":[0.000001,1234.5678,-7.25]}`))
	tests := []struct {
		name  string
		items []Item
		w     Want
		want  string
	}{
		{"one value", []Item{{a, Data}}, Want{JQ: ".[1].name"}, `"user 1"`},
		{"several", []Item{{a, Data}}, Want{JQ: ".[:2][].id"}, `[0,1]`},
		{"one list", []Item{{a, Data}}, Want{JQ: "[.[].id]"}, `[0,1,2,3,4]`},
		{"null", []Item{{a, Data}}, Want{JQ: ".[0].none"}, `null`},
		{"big numbers and order stay", []Item{{a, Data}}, Want{JQ: ".[3]"}, `{"id":3,"name":"user 3","price":1.10,"big":12345678901234567890}`},
		{"big numbers are computed exactly", []Item{{a, Data}}, Want{JQ: ".[3].big + 1"}, `12345678901234567891`},
		{"spelling", []Item{{odd, Data}}, Want{JQ: "."}, `{"z":1.10,"y":1e2,"x":-0,"w":12345678901234567890123,"v":0.1,"u":1.0E+2,"t":100000000000000000000.5,"s":[0.000001,1234.5678,-7.25]}`},
		{"new keys come last", []Item{{odd, Data}}, Want{JQ: "{b:1,v,a:2}"}, `{"v":0.1,"a":2,"b":1}`},
		{"path first", []Item{{a, Data}}, Want{Path: "#.id", JQ: "add"}, `10`},
		{"text", []Item{{plain, Data}}, Want{JQ: `split("\n") | map(split("=")[1] | tonumber) | add`}, `3`},
		{"joined", []Item{{a, Data}, {b, Data}}, Want{JQ: `.[0] as $users | .[1][] | . as $t | {name: ($users[] | select(.id == $t.id) | .name), team}`},
			`[{"name":"user 1","team":"red"},{"name":"user 3","team":"blue"}]`},
		{"joined path", []Item{{a, Data}, {b, Data}}, Want{Path: "1.0.team"}, `"red"`},
		{"joined path into each", []Item{{b, Data}, {b, Data}}, Want{Path: "1"}, `[{"id":1,"team":"red"},{"id":3,"team":"blue"}]`},
		{"path of each", []Item{{odd, Data}, {odd, Data}}, Want{Path: "v"}, `[0.1,0.1]`},
		{"raw", []Item{{b, Raw}}, Want{JQ: ".content | length"}, `1`},
		{"group", []Item{{a, Data}}, Want{JQ: `group_by(.id % 2) | map({odd: (.[0].id % 2 == 1), n: length})`}, `[{"n":3,"odd":false},{"n":2,"odd":true}]`},
		{"quotes", []Item{{plain, Data}}, Want{JQ: `{"a\"b": "\u0001\\"}`}, `{"a\"b":"\u0001\\"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Extract(t.Context(), tt.items, tt.w)
			if err != nil || string(got) != tt.want {
				t.Errorf("Extract = %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	got, err := s.Read(t.Context(), a, Data, Query{Op: "head", Lines: 2, JQ: "map({id})"})
	if want := "[{\"id\":0},\n{\"id\":1},"; err != nil || got.Text != want || got.TotalLines != 5 {
		t.Errorf("head of jq = %q, %v, want %q", got.Text, err, want)
	}
	if got, err := s.Read(t.Context(), a, Data, Query{Op: "jq", JQ: ".[0].name"}); err != nil || got.Text != "user 0" || got.Op != "read" {
		t.Errorf("jq = %+v, %v, want the bare text", got, err)
	}
	if got, err := s.ReadAll(t.Context(), []Item{{a, Data}, {b, Data}}, Query{}); err != nil || !strings.Contains(got.Text, b.Handle) {
		t.Errorf("stat of two = %+v, %v", got, err)
	}
}

func TestJQRefused(t *testing.T) {
	s := newShelf(t, Options{})
	for _, source := range []string{"env", "$ENV.HOME", "input", "[inputs]", "input_line_number", "debug", `debug("x")`, "stderr", "halt", "halt_error",
		`.[] | if .a then (.b | env) else . end`, `import "x" as x; .`, `include "x"; .`, "$__prog_args", "nonsense", ".[", "", "1 +", strings.Repeat("(", 4001),
		`def f: input; f`, `reduce .[] as $x (0; input)`, `"\(env)"`, `{a: $ENV}`, `try input catch .`, `.["\(env.X)"]`, "get_search_list", `modulemeta`} {
		if source == "" {
			continue
		}
		if err := s.Check(Query{Op: "read", JQ: source}); !errors.Is(err, ErrBadQuery) {
			t.Errorf("Check(%.40q) = %v, want ErrBadQuery", source, err)
		}
	}
	for _, source := range []string{".", ".a.env", `.["input"]`, `"debug"`, "now", `{env: 1}.env`, "[limit(3; repeat(1))]"} {
		if err := s.Check(Query{Op: "read", JQ: source}); err != nil {
			t.Errorf("Check(%q) = %v", source, err)
		}
	}
}

// Programs without end, or that make far more than there is, stop in time, and others go on.
func TestJQCatastrophic(t *testing.T) {
	s := newShelf(t, Options{JQTime: 300 * time.Millisecond})
	a := put(t, s, text(`[1,2,3]`))
	for _, source := range []string{"repeat(.)", "[range(1e9)]", "last(range(1e18))", "def f: f; f", "def f: 1 + f; f", "[repeat(1)]", `reduce range(60) as $i ("x"; . + .)`,
		"[.[] | repeat(.)] | length", "until(false; .)", "range(1e9)", `last(repeat("x" * 100000))`, "[combinations(40)]", "[limit(1e9; repeat([1,2,3]))]"} {
		t.Run(source, func(t *testing.T) {
			start, before := time.Now(), collected()
			_, err := s.Extract(t.Context(), []Item{{a, Data}}, Want{JQ: source})
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("error %v, want ErrTooLarge", err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("stopped after %s", took)
			}
			if now := heap(); now > before+1<<30 {
				t.Errorf("heap grew by %d MiB", (now-before)>>20)
			}
			if !strings.Contains(fmt.Sprint(err), "stopped") && !strings.Contains(fmt.Sprint(err), "more than") {
				t.Errorf("error %v does not say why", err)
			}
		})
	}
	if got, err := s.Extract(t.Context(), []Item{{a, Data}}, Want{JQ: "add"}); err != nil || string(got) != "6" {
		t.Errorf("afterwards: %s, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Extract(ctx, []Item{{a, Data}}, Want{JQ: "repeat(.)"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended context: %v", err)
	}
}

// What jq does not touch comes out as it went in.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(forms[seed%4](randomValue(rand.New(rand.NewPCG(seed, 9)), 4)))
	}
	for _, s := range []string{"", "[", "01", "-", "1.", "-0", "-0.0", "0.1", "1e5", "0.0000001", "123456789012345678", "1234567890123456789", "9.99999999999999999", "1.5e", `"\ud800"`, "tru", `{"a":1,"b":{"c":[1.5]},"a":2}`, "0.1234567", "-12.25", ".5", "1..2", "1.2.3", "--1", "00", "0.10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, ranks, err := decode(s, everything)
		if !json.Valid([]byte(s)) {
			return // only what was checked is decoded; here it must not panic
		}
		if err != nil {
			t.Fatalf("decode(%q): %v", s, err)
		}
		e := &encoder{limit: 1 << 30, ranks: ranks}
		if err := e.encode(v, 0); err != nil {
			t.Fatal(err)
		}
		checkSame(t, []byte(s), e.out)
	})
}

// checkSame compares the spelling of scalars and the members of objects; strings may be escaped in another way.
func checkSame(t *testing.T, a, b []byte) {
	t.Helper()
	i, j := rawjson.Space(a, 0), rawjson.Space(b, 0)
	a, b = a[i:rawjson.Skip(a, i)], b[j:rawjson.Skip(b, j)]
	switch a[0] {
	case '{':
		for key := range rawjson.Members(a) {
			checkSame(t, rawjson.Member(a, key), rawjson.Member(b, key))
		}
	case '[':
		var other [][]byte
		for v := range rawjson.Elements(b) {
			other = append(other, v)
		}
		n := 0
		for v := range rawjson.Elements(a) {
			checkSame(t, v, other[n])
			n++
		}
	case '"':
		if string(rawjson.Text(a)) != string(rawjson.Text(b)) {
			t.Fatalf("%s became %s", a, b)
		}
	default:
		if string(a) != string(b) {
			t.Fatalf("%s became %s", a, b)
		}
	}
}

// orders makes a list of records like those of a shop, of about size bytes.
func orders(size int) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	out := []byte{'['}
	for i := 0; len(out) < size; i++ {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"id":%d,"name":"record-%d","email":"user%d@example.com","status":%q,"country":%q,"amount":%.2f,"quantity":%d,"score":%.3f,"tags":["a","%c"],"created":"2026-%02d-%02dT10:00:00Z"}`,
			i, i, r.IntN(1e6), []string{"open", "paid", "refunded", "shipped"}[r.IntN(4)], []string{"DE", "US", "FR", "JP", "BR"}[r.IntN(5)],
			r.Float64()*1000, r.IntN(50), r.Float64()*100, 'a'+rune(r.IntN(26)), 1+r.IntN(12), 1+r.IntN(28))
	}
	return append(out, ']')
}

func BenchmarkJQGroup(b *testing.B) {
	data := string(orders(100_000_000))
	s := newShelf(b, Options{})
	for b.Loop() {
		if _, err := s.compute(b.Context(), "group_by(.country) | map({country: .[0].country, n: length, sum: (map(.amount) | add)})", func() (string, error) { return data, nil }); err != nil {
			b.Fatal(err)
		}
	}
}
