package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
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

// A reply of five hits among a thousand wordy tools keeps its budget, and says no more than it shows.
func TestReplyKeepsItsBudget(t *testing.T) {
	h := &house{}
	srv := &catalog.Server{Name: "big", Alias: "c1", Known: true}
	for i := range 1000 {
		raw := fmt.Sprintf(`{"name":"update_customer_record_%d","description":%q,"inputSchema":{"type":"object","properties":{%s},"required":["p0"]}}`,
			i, strings.Repeat("Update the record of a customer with many details. ", 20), wordyParams(20))
		e, err := catalog.NewEntry("big", catalog.Tool, false, json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		srv.Entries = append(srv.Entries, e)
	}
	h.snap = &catalog.Snapshot{Gen: 1, Hash: "x", Servers: []*catalog.Server{srv}}
	shelf, err := spill.Open(spill.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer shelf.Close()
	d, err := New(Options{Catalog: h, Forwarder: h, Shelf: shelf})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for limit, most := range map[int]int{5: 450, 10: 1000} {
		a, err := d.Search(context.Background(), Agent{}, SearchRequest{Query: "update customer record", Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if n := d.o.Tokens.Count(a.Text()); n > most || len(a.Results) != limit || strings.Count(a.Text(), "big/update") != limit {
			t.Errorf("%d hits cost %d tokens:\n%s", limit, n, a.Text())
		}
	}
}

func wordyParams(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(`"p%d":{"type":"string","description":"what the customer is called in the record"}`, i))
	}
	return strings.Join(parts, ",")
}
