package eval

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/proxy-dispatch/proxy-dispatch/search"
)

func ranked(names ...string) []Ranked {
	var out []Ranked
	for i, n := range names {
		out = append(out, Ranked{"s", n, float64(len(names) - i)})
	}
	return out
}

func refs(names ...string) []Ref {
	var out []Ref
	for _, n := range names {
		out = append(out, Ref{"s", n})
	}
	return out
}

func TestGrade(t *testing.T) {
	for _, tc := range []struct {
		name     string
		ranked   []Ranked
		relevant []Ref
		want     Figures
	}{
		{"first", ranked("a", "b"), refs("a"), Figures{1, 1, 1, 1, 1, 1, 1}},
		{"second", ranked("b", "a"), refs("a"), Figures{0, 1, 1, 0, 1, .5, .630930}},
		{"sixth", ranked("b", "c", "d", "e", "f", "a"), refs("a"), Figures{0, 0, 1, 0, 0, 1. / 6, 0}},
		{"not there", ranked("b"), refs("a"), Figures{}},
		{"nothing", nil, refs("a"), Figures{}},
		{"one of two", ranked("a", "x"), refs("a", "b"), Figures{.5, .5, .5, 1, 1, 1, .613147}},
		{"named twice", ranked("a"), refs("a", "a"), Figures{1, 1, 1, 1, 1, 1, 1}},
		{"more than five", ranked("a", "b", "c", "d", "e"), refs("a", "b", "c", "d", "e", "f"), Figures{1. / 6, 5. / 6, 5. / 6, 1, 1, 1, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, grade(tc.ranked, tc.relevant), cmpopts.EquateApprox(0, 1e-5)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestPercentile(t *testing.T) {
	var times []time.Duration
	for i := range 100 {
		times = append(times, time.Duration(100-i))
	}
	for p, want := range map[float64]time.Duration{0: 1, .5: 50, .99: 99, 1: 100} {
		if got := percentile(times, p); got != want {
			t.Errorf("%v: got %v, want %v", p, got, want)
		}
	}
	if percentile(nil, .5) != 0 {
		t.Error("nothing has a percentile")
	}
}

func TestRead(t *testing.T) {
	for _, tc := range []struct{ name, text, wrong string }{
		{"good", `{"id":"1","query":"q","relevant":[{"server":"s","name":"n"}]}` + "\n\n", ""},
		{"no JSON", "\nx", "line 2"},
		{"no query", `{"id":"1","relevant":[{"server":"s","name":"n"}]}`, "number 1"},
		{"nothing relevant", `{"query":"q"}`, "number 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			qs, err := ReadQueries(strings.NewReader(tc.text))
			if tc.wrong == "" && (err != nil || len(qs) != 1) || tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)) {
				t.Errorf("got %v, %v", qs, err)
			}
		})
	}
	if _, err := ReadCatalog(strings.NewReader(`[{"server":"s"}]`)); err == nil {
		t.Error("a tool without a name is accepted")
	}
}

// answers is a Searcher that has its answers ready.
type answers map[string][]string

func (a answers) Search(_ context.Context, q search.Query) (search.Result, error) {
	ids, ok := a[q.Text]
	if !ok {
		return search.Result{}, errors.New("unknown")
	}
	r := search.Result{Confident: len(ids) > 0, Note: "a note"}
	for _, id := range ids {
		r.Hits = append(r.Hits, search.Hit{ID: id, Score: 1})
	}
	return r, nil
}

func TestRunAndCompare(t *testing.T) {
	tools := []Tool{{Server: "s", Name: "a"}, {Server: "s", Name: "b"}}
	queries := []Query{{"1", "one", "x", refs("a")}, {"2", "two", "y", refs("b")}, {"3", "three", "y", refs("b")}}
	run := func(a answers) []Outcome {
		out, err := Run(context.Background(), tools, Options{Search: a, Queries: queries, Repeat: 2})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	old := run(answers{"one": {"s/a"}, "two": {"s/a", "s/b"}, "three": {"s/b"}})
	var file bytes.Buffer
	if err := WriteRanked(&file, old[:2]); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"1","ranked":[{"server":"s","name":"a","score":1}]}` + "\n" +
		`{"id":"2","ranked":[{"server":"s","name":"a","score":1},{"server":"s","name":"b","score":1}]}` + "\n"
	if diff := cmp.Diff(want, file.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	ranks, err := ReadRanked(&file)
	if err != nil {
		t.Fatal(err)
	}
	now := run(answers{"one": {}, "two": {"s/b"}, "three": {"s/b"}})
	c := Compare(ranks, now)
	var b strings.Builder
	if err := c.Text(&b, 1); err != nil {
		t.Fatal(err)
	}
	want = `compared: nDCG@5 0.815 → 0.500, hit@5 1.000 → 0.500; 1 better, 1 worse, 0 same
1 queries are not in the earlier ranks
better 2: place 2 → 1, nDCG@5 0.63 → 1.00: two
worse 1: place 1 → –, nDCG@5 1.00 → 0.00: one
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	r := Sum(now)
	if len(r.Categories) != 2 || r.Categories[1].Hit1 != 1 || r.All.Queries != 3 || r.Categories[0].Confident != 0 || len(r.Notes) != 1 {
		t.Errorf("got %+v", r)
	}
	if _, err := Run(context.Background(), tools, Options{Search: answers{}, Queries: queries}); err == nil {
		t.Error("an error of the index is not told")
	}
}

func FuzzReadRanked(f *testing.F) {
	f.Add(`{"id":"1","ranked":[{"server":"s","name":"a","score":1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		ranks, err := ReadRanked(strings.NewReader(text))
		if err == nil {
			Compare(ranks, []Outcome{{Query: Query{ID: "1", Relevant: refs("a")}}})
		}
	})
}
