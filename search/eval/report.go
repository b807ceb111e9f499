package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report sums outcomes up.
type Report struct {
	All        Group    `json:"all"`
	Categories []Group  `json:"categories,omitempty"` // by name
	Latency    Latency  `json:"latency"`
	Index      *Index   `json:"index,omitempty"`
	Notes      []string `json:"notes,omitempty"` // what the index said beside its hits
}

// Group is the mean of the figures of some queries.
type Group struct {
	Name      string  `json:"name,omitempty"`
	Queries   int     `json:"queries"`
	Confident float64 `json:"confident"` // share of the answers that called themselves so
	Figures
}

// Latency of one query, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50ms"`
	P99 float64 `json:"p99ms"`
}

// Index tells what the index cost.
type Index struct {
	Documents int     `json:"documents"`
	BuildMS   float64 `json:"buildMs"`
	Bytes     int64   `json:"bytes"` // of heap it keeps
}

// Sum makes a Report of outcomes.
func Sum(out []Outcome) Report {
	var r Report
	groups := map[string]*Group{}
	var times []time.Duration
	for _, o := range out {
		g := groups[o.Query.Category]
		if g == nil {
			g = &Group{Name: o.Query.Category}
			groups[o.Query.Category] = g
		}
		for _, sum := range []*Group{g, &r.All} {
			sum.Queries++
			sum.add(o.Figures)
			if o.Confident {
				sum.Confident++
			}
		}
		times = append(times, o.Took)
		if o.Note != "" && !slices.Contains(r.Notes, o.Note) {
			r.Notes = append(r.Notes, o.Note)
		}
	}
	r.All = r.All.mean()
	for _, g := range groups {
		r.Categories = append(r.Categories, g.mean())
	}
	slices.SortFunc(r.Categories, func(a, b Group) int { return compareText(a.Name, b.Name) })
	if len(r.Categories) == 1 && r.Categories[0].Name == "" {
		r.Categories = nil
	}
	r.Latency = Latency{milliseconds(percentile(times, .5)), milliseconds(percentile(times, .99))}
	return r
}

func (g Group) mean() Group {
	g.Figures = g.over(g.Queries)
	g.Confident /= float64(max(g.Queries, 1))
	return g
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func compareText(a, b string) int { return strings.Compare(a, b) }

// Text writes the report as a table.
func (r Report) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "category\tqueries\trecall@1\trecall@5\trecall@10\thit@1\thit@5\tMRR\tnDCG@5\tconfident\t")
	for _, g := range append(slices.Clone(r.Categories), r.All) {
		if g.Name == "" {
			g.Name = "all"
		}
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t\n",
			g.Name, g.Queries, g.Recall1, g.Recall5, g.Recall10, g.Hit1, g.Hit5, g.MRR, g.NDCG5, g.Confident)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Index != nil {
		if _, err := fmt.Fprintf(w, "index: %d tools built in %.0f ms, %.1f MB\n", r.Index.Documents, r.Index.BuildMS, float64(r.Index.Bytes)/1e6); err != nil {
			return err
		}
	}
	for _, n := range r.Notes {
		if _, err := fmt.Fprintf(w, "note: %s\n", n); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "query: p50 %.2f ms, p99 %.2f ms\n", r.Latency.P50, r.Latency.P99)
	return err
}

// Ranking is one line of a file of ranks.
type Ranking struct {
	ID     string   `json:"id"`
	Ranked []Ranked `json:"ranked"`
}

// WriteRanked writes one line a query.
func WriteRanked(w io.Writer, out []Outcome) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, o := range out {
		if err := e.Encode(Ranking{o.Query.ID, o.Ranked}); err != nil {
			return fmt.Errorf("write ranks: %w", err)
		}
	}
	return nil
}

// ReadRanked reads what WriteRanked wrote.
func ReadRanked(r io.Reader) ([]Ranking, error) { return readLines[Ranking](r, "ranks") }
