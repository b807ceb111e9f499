package search

import (
	"cmp"
	"slices"
	"strings"
)

// alike is the share of letter pairs from which two spellings are near.
const alike = .5

// near names the documents spelled most like the query: by the pairs of
// letters their names share with it. A long query is a sentence and spelled
// like no name.
func (x *Index) near(text string, keep func(string) bool) []string {
	want := newPairs(text)
	if want.n == 0 || want.n > maxRun {
		return nil
	}
	var found []candidate
	for i := range x.docs {
		d := &x.docs[i]
		if score := want.share(d.name); score >= alike && (keep == nil || keep(d.id)) {
			found = append(found, candidate{doc: int32(i), score: score})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(x.docs[a.doc].id, x.docs[b.doc].id))
	})
	var names []string
	for _, f := range found[:min(len(found), maxNear)] {
		d := &x.docs[f.doc]
		names = append(names, x.servers[d.server].name+"/"+d.name)
	}
	return names
}

// pairs is the set of neighbouring letters of a text, case and everything
// between words left out; pairs of six bits a letter may coincide.
type pairs struct {
	has [1 << 12]bool
	n   int
}

func newPairs(text string) *pairs {
	p := &pairs{}
	eachPair(text, func(pair uint16) {
		p.has[pair] = true
		p.n++
	})
	return p
}

// share is how much of the pairs of both p has in common with text, 0 to 1.
func (p *pairs) share(text string) float32 {
	all, both := 0, 0
	eachPair(text, func(pair uint16) {
		all++
		if p.has[pair] {
			both++
		}
	})
	return 2 * float32(min(both, p.n)) / float32(all+p.n+1)
}

func eachPair(text string, visit func(uint16)) {
	last := uint16(0)
	for i := range len(text) {
		c := text[i]
		if c < 0x80 && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			continue
		}
		if c < 0x80 && c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		six := uint16(c & 63)
		if last != 0 {
			visit((last-1)<<6 | six)
		}
		last = six + 1
	}
}
