package jq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/fault"
)

func TestJQRefused(t *testing.T) {
	for _, source := range []string{"env", "$ENV.HOME", "input", "[inputs]", "input_line_number", "debug", `debug("x")`, "stderr", "halt", "halt_error",
		`.[] | if .a then (.b | env) else . end`, `import "x" as x; .`, `include "x"; .`, "$__prog_args", "nonsense", ".[", "", "1 +", strings.Repeat("(", 4001),
		`def f: input; f`, `reduce .[] as $x (0; input)`, `"\(env)"`, `{a: $ENV}`, `try input catch .`, `.["\(env.X)"]`, "get_search_list", `modulemeta`} {
		if source == "" {
			continue
		}
		if err := Check(source); !errors.Is(err, fault.ErrBadQuery) {
			t.Errorf("Check(%.40q) = %v, want fault.ErrBadQuery", source, err)
		}
	}
	for _, source := range []string{".", ".a.env", `.["input"]`, `"debug"`, "now", `{env: 1}.env`, "[limit(3; repeat(1))]"} {
		if err := Check(source); err != nil {
			t.Errorf("Check(%q) = %v", source, err)
		}
	}
}

// Programs without end, or that make far more than there is, stop in time, and others go on.
func TestJQCatastrophic(t *testing.T) {
	run := func(ctx context.Context, source string) ([]byte, error) {
		return Run(ctx, source, func() (string, error) { return `[1,2,3]`, nil }, Options{Time: 300 * time.Millisecond})
	}
	for _, source := range []string{"repeat(.)", "[range(1e9)]", "last(range(1e18))", "def f: f; f", "def f: 1 + f; f", "[repeat(1)]", `reduce range(60) as $i ("x"; . + .)`,
		"[.[] | repeat(.)] | length", "until(false; .)", "range(1e9)", `last(repeat("x" * 100000))`, "[combinations(40)]", "[limit(1e9; repeat([1,2,3]))]"} {
		t.Run(source, func(t *testing.T) {
			start, before := time.Now(), collected()
			_, err := run(t.Context(), source)
			if !errors.Is(err, fault.ErrTooLarge) {
				t.Errorf("error %v, want fault.ErrTooLarge", err)
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
	if got, err := run(t.Context(), "add"); err != nil || string(got) != "6" {
		t.Errorf("afterwards: %s, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := run(ctx, "repeat(.)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended context: %v", err)
	}
}

// What jq does not touch comes out as it went in.
func FuzzDecode(f *testing.F) {
	for _, world := range worlds {
		f.Add(world)
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
