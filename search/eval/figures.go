package eval

import (
	"math"
	"slices"
	"time"
)

// Figures grade a ranking, each from 0 to 1, or the mean of many. Recall at n is the share of the relevant
// tools among the first n hits; hit at n is 1 if any of them is there; MRR is one
// over the place of the first; nDCG@5 counts all of the first five by their place.
type Figures struct {
	Recall1  float64 `json:"recall@1"`
	Recall5  float64 `json:"recall@5"`
	Recall10 float64 `json:"recall@10"`
	Hit1     float64 `json:"hit@1"`
	Hit5     float64 `json:"hit@5"`
	MRR      float64 `json:"mrr"`
	NDCG5    float64 `json:"ndcg@5"`
}

func (f *Figures) add(g Figures) {
	f.Recall1 += g.Recall1
	f.Recall5 += g.Recall5
	f.Recall10 += g.Recall10
	f.Hit1 += g.Hit1
	f.Hit5 += g.Hit5
	f.MRR += g.MRR
	f.NDCG5 += g.NDCG5
}

func (f Figures) over(n int) Figures {
	d := float64(max(n, 1))
	return Figures{f.Recall1 / d, f.Recall5 / d, f.Recall10 / d, f.Hit1 / d, f.Hit5 / d, f.MRR / d, f.NDCG5 / d}
}

// place is where the first relevant tool stands, from 1; 0 if nowhere.
func place(ranked []Ranked, relevant []Ref) int {
	return 1 + slices.IndexFunc(ranked, func(r Ranked) bool { return slices.Contains(relevant, Ref{r.Server, r.Name}) })
}

func grade(ranked []Ranked, relevant []Ref) Figures {
	want := slices.Clone(relevant)
	slices.SortFunc(want, func(a, b Ref) int { return compareText(a.ID(), b.ID()) })
	want = slices.Compact(want)
	found := func(n int) float64 {
		k := 0
		for _, r := range ranked[:min(n, len(ranked))] {
			if slices.Contains(want, Ref{r.Server, r.Name}) {
				k++
			}
		}
		return float64(k)
	}
	f := Figures{
		Recall1: found(1) / float64(len(want)), Recall5: found(5) / float64(len(want)), Recall10: found(10) / float64(len(want)),
		Hit1: found(1), Hit5: min(found(5), 1),
	}
	if p := place(ranked, want); p > 0 {
		f.MRR = 1 / float64(p)
	}
	ideal := 0.0
	for i := range min(len(want), 5) {
		ideal += 1 / math.Log2(float64(i+2))
	}
	for i, r := range ranked[:min(5, len(ranked))] {
		if slices.Contains(want, Ref{r.Server, r.Name}) {
			f.NDCG5 += 1 / math.Log2(float64(i+2)) / ideal
		}
	}
	return f
}

// percentile of times, by the nearest rank; 0 if there are none.
func percentile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}
