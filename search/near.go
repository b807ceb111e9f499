package search

import (
	"cmp"
	"slices"
	"strings"
)

// near names the documents spelled most like the query: by the pairs of
// letters their names share with it.
func (x *Index) near(text string, keep func(string) bool) []string {
	want := letterPairs(normal(text))
	if len(want) == 0 {
		return nil
	}
	type named struct {
		doc   int
		score float64
	}
	var found []named
	for i := range x.docs {
		d := &x.docs[i]
		have := letterPairs(normal(d.name))
		shared := 0
		for p := range have {
			if want[p] {
				shared++
			}
		}
		score := 2 * float64(shared) / float64(len(want)+len(have)+1)
		if score >= .45 && (keep == nil || keep(d.id)) {
			found = append(found, named{i, score})
		}
	}
	slices.SortFunc(found, func(a, b named) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(x.docs[a.doc].id, x.docs[b.doc].id))
	})
	var names []string
	for _, f := range found[:min(len(found), maxNear)] {
		d := &x.docs[f.doc]
		names = append(names, x.servers[d.server].name+"/"+d.name)
	}
	return names
}

func letterPairs(s string) map[string]bool {
	m := make(map[string]bool, len(s))
	for i := 2; i <= len(s); i++ {
		m[s[i-2:i]] = true
	}
	return m
}
