package search

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shared is where the retrieval data lies when a developer has it.
const shared = "../../shared/retrieval"

type labelled struct {
	ID, Query, Category string
	Relevant            []struct{ Server, Name string }
}

// figures of one query set.
type figures struct {
	n                    int
	ndcg5, hit5, recall5 float64
	confident            int
	byCategory           map[string]*figures
	missed               []string
}

func (f *figures) add(g figures) {
	f.n++
	f.ndcg5 += g.ndcg5
	f.hit5 += g.hit5
	f.recall5 += g.recall5
	f.confident += g.confident
}

func (f *figures) String() string {
	n := float64(max(f.n, 1))
	return fmt.Sprintf("n=%d nDCG@5=%.3f hit@5=%.3f recall@5=%.3f confident=%.2f", f.n, f.ndcg5/n, f.hit5/n, f.recall5/n, float64(f.confident)/n)
}

func readCatalog(t testing.TB, file string) []Doc {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("retrieval data is not here: %v", err)
	}
	var entries []struct {
		Server, Name, Title, Description string
		InputSchema                      json.RawMessage
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		t.Fatal(err)
	}
	docs := make([]Doc, len(entries))
	for i, e := range entries {
		docs[i] = Doc{ID: e.Server + "/" + e.Name, Kind: "tool", Server: e.Server, Name: e.Name, Title: e.Title, Description: e.Description, Params: params(e.InputSchema)}
	}
	return docs
}

// params reads the top-level properties of a schema, in order of name.
func params(schema json.RawMessage) []Param {
	var s struct {
		Properties map[string]struct {
			Description string
			Enum        []any
		}
	}
	_ = json.Unmarshal(schema, &s)
	var ps []Param
	for name, p := range s.Properties {
		var enum []string
		for _, e := range p.Enum {
			if text, ok := e.(string); ok {
				enum = append(enum, text)
			}
		}
		ps = append(ps, Param{name, p.Description, enum})
	}
	slices.SortFunc(ps, func(a, b Param) int { return strings.Compare(a.Name, b.Name) })
	return ps
}

func readQueries(t testing.TB, file string) []labelled {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("retrieval data is not here: %v", err)
	}
	var qs []labelled
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		var q labelled
		if err := json.Unmarshal(sc.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		qs = append(qs, q)
	}
	return qs
}

func measure(t testing.TB, x *Index, qs []labelled) *figures {
	t.Helper()
	f := &figures{byCategory: map[string]*figures{}}
	for _, q := range qs {
		r, err := x.Search(context.Background(), Query{Text: q.Query})
		if err != nil {
			t.Fatal(err)
		}
		g := grade(q, r)
		if g.ndcg5 < .7 {
			var got []string
			for _, h := range r.Hits[:min(len(r.Hits), 5)] {
				got = append(got, fmt.Sprintf("%s %.2f", h.ID, h.Score))
			}
			f.missed = append(f.missed, fmt.Sprintf("%s %q %.2f want %v got %v", q.ID, q.Query, g.ndcg5, q.Relevant, got))
		}
		f.add(g)
		if f.byCategory[q.Category] == nil {
			f.byCategory[q.Category] = &figures{}
		}
		f.byCategory[q.Category].add(g)
	}
	return f
}

func grade(q labelled, r Result) figures {
	relevant := map[string]bool{}
	for _, w := range q.Relevant {
		relevant[w.Server+"/"+w.Name] = true
	}
	var g figures
	ideal := 0.0
	for i := range min(len(relevant), 5) {
		ideal += 1 / math.Log2(float64(i+2))
	}
	for i, h := range r.Hits[:min(len(r.Hits), 5)] {
		if relevant[h.ID] {
			g.ndcg5 += 1 / math.Log2(float64(i+2)) / ideal
			g.hit5 = 1
			g.recall5 += 1 / float64(len(relevant))
		}
	}
	if r.Confident {
		g.confident = 1
	}
	return g
}

func TestRealCatalog(t *testing.T) {
	x := mustBuild(t, readCatalog(t, filepath.Join(shared, "real/catalog.json")))
	f := measure(t, x, readQueries(t, filepath.Join(shared, "real/dev.jsonl")))
	t.Log(f)
	for _, c := range slices.Sorted(keys(f.byCategory)) {
		t.Log(c, f.byCategory[c])
	}
	if testing.Verbose() {
		t.Log(strings.Join(f.missed, "\n"))
	}
	n := float64(f.n)
	for _, c := range []string{"exact", "variant", "partial"} {
		if g := f.byCategory[c]; g.hit5 < float64(g.n) {
			t.Errorf("%s names are not all found: %v", c, g)
		}
	}
	if f.ndcg5/n < .82 || f.hit5/n < .9 {
		t.Errorf("ranking fell to %v", f)
	}
}

func TestPublicCatalogs(t *testing.T) {
	for _, set := range []struct {
		name string
		ndcg float64
	}{{"bfcl", .75}, {"sealtools", .88}} {
		t.Run(set.name, func(t *testing.T) {
			x := mustBuild(t, readCatalog(t, filepath.Join(shared, set.name, "catalog.json")))
			var some []labelled // every fourth suffices for a guard
			for i, q := range readQueries(t, filepath.Join(shared, set.name, "queries.jsonl")) {
				if i%4 == 0 {
					some = append(some, q)
				}
			}
			f := measure(t, x, some)
			t.Log(f)
			for _, c := range slices.Sorted(keys(f.byCategory)) {
				t.Log(c, f.byCategory[c])
			}
			if f.ndcg5/float64(f.n) < set.ndcg {
				t.Errorf("ranking fell to %v", f)
			}
		})
	}
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func mustBuild(t testing.TB, docs []Doc) *Index {
	t.Helper()
	x, err := Build(docs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}
