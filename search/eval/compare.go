package eval

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
)

// Change is how a query fared against an earlier run.
type Change struct {
	ID       string  `json:"id"`
	Query    string  `json:"query"`
	Before   int     `json:"before"` // place of the first relevant tool, 0 if it was not there
	After    int     `json:"after"`
	OldNDCG5 float64 `json:"oldNdcg@5"`
	NDCG5    float64 `json:"ndcg@5"`
}

// Comparison of two runs over the same queries.
type Comparison struct {
	Better  []Change `json:"better,omitempty"` // the greatest change first
	Worse   []Change `json:"worse,omitempty"`
	Same    int      `json:"same"`
	Missing int      `json:"missing"` // queries the earlier run has not
	Old     Figures  `json:"old"`     // of the queries in both
	New     Figures  `json:"new"`
}

// Compare tells which queries got better or worse since old.
func Compare(old []Ranking, out []Outcome) Comparison {
	before := make(map[string][]Ranked, len(old))
	for _, r := range old {
		before[r.ID] = r.Ranked
	}
	var c Comparison
	n := 0
	for _, o := range out {
		ranked, ok := before[o.Query.ID]
		if !ok {
			c.Missing++
			continue
		}
		n++
		was := grade(ranked, o.Query.Relevant)
		c.Old.add(was)
		c.New.add(o.Figures)
		ch := Change{o.Query.ID, o.Query.Query, place(ranked, o.Query.Relevant), place(o.Ranked, o.Query.Relevant), was.NDCG5, o.Figures.NDCG5}
		switch d := cmp.Or(sign(ch.NDCG5-ch.OldNDCG5), sign(o.Figures.MRR-was.MRR)); {
		case d > 0:
			c.Better = append(c.Better, ch)
		case d < 0:
			c.Worse = append(c.Worse, ch)
		default:
			c.Same++
		}
	}
	c.Old, c.New = c.Old.over(n), c.New.over(n)
	for _, list := range [][]Change{c.Better, c.Worse} {
		slices.SortStableFunc(list, func(a, b Change) int {
			return cmp.Compare(math.Abs(b.NDCG5-b.OldNDCG5), math.Abs(a.NDCG5-a.OldNDCG5))
		})
	}
	return c
}

// sign tells a change from the noise of adding fractions.
func sign(d float64) int {
	switch {
	case d > 1e-9:
		return 1
	case d < -1e-9:
		return -1
	}
	return 0
}

// Text writes the comparison as lines, at most most of each kind (0 = all).
func (c Comparison) Text(w io.Writer, most int) error {
	ew := &errWriter{w: w}
	ew.printf("compared: nDCG@5 %.3f → %.3f, hit@5 %.3f → %.3f; %d better, %d worse, %d same\n",
		c.Old.NDCG5, c.New.NDCG5, c.Old.Hit5, c.New.Hit5, len(c.Better), len(c.Worse), c.Same)
	if c.Missing > 0 {
		ew.printf("%d queries are not in the earlier ranks\n", c.Missing)
	}
	for _, part := range []struct {
		name string
		list []Change
	}{{"better", c.Better}, {"worse", c.Worse}} {
		shown := part.list
		if most > 0 {
			shown = shown[:min(most, len(shown))]
		}
		for _, ch := range shown {
			ew.printf("%s %s: place %s → %s, nDCG@5 %.2f → %.2f: %s\n",
				part.name, ch.ID, placeText(ch.Before), placeText(ch.After), ch.OldNDCG5, ch.NDCG5, clip(ch.Query, 100))
		}
		if rest := len(part.list) - len(shown); rest > 0 {
			ew.printf("%s: %d more\n", part.name, rest)
		}
	}
	return ew.err
}

func placeText(p int) string {
	if p == 0 {
		return "–"
	}
	return fmt.Sprint(p)
}

// errWriter keeps the first error of many writes.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) printf(format string, args ...any) {
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, format, args...)
	}
}
