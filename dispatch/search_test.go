package dispatch

import (
	"encoding/json"
	"testing"
)

func TestShapeOf(t *testing.T) {
	for _, tc := range []struct{ name, data, want string }{
		{"record", `{"id":1,"name":"x","ok":true,"none":null}`, "{id: number, name: string, ok: boolean, none: null}"},
		{"list of records", `[{"a":1},{"b":2}]`, "[{a: number}]"},
		{"empty", `{"items":[],"o":{}}`, "{items: [], o: {}}"},
		{"deep", `{"a":{"b":{"c":{"d":{"e":1}}}}}`, "{a: {b: {c: {d: {…}}}}}"},
		{"twice the same key", `{"a":1,"a":2}`, "{…}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := shapeOf(json.RawMessage(tc.data), shapeDepth); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestBudgetFor(t *testing.T) {
	for n, want := range map[int]int{0: 450, 1: 450, 5: 450, 6: 560, 9: 890, 10: 1000, 50: 1000} {
		if got := budgetFor(1000, n); got != want {
			t.Errorf("%d hits: got %d tokens, want %d", n, got, want)
		}
	}
}
