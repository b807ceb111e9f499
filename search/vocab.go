package search

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
)

// vocabulary is every word of the catalog, unstemmed and sorted: what the
// words of a query are checked and corrected against.
type vocabulary []entry

type entry struct {
	word    string
	docs    int32
	letters uint32 // which letters occur, for a quick "too far"
}

func newVocabulary(words map[string]*word) vocabulary {
	v := make(vocabulary, 0, len(words))
	for text, w := range words {
		v = append(v, entry{text, w.docs, letters(text)})
	}
	slices.SortFunc(v, func(a, b entry) int { return strings.Compare(a.word, b.word) })
	return v
}

func (v vocabulary) has(word string) bool {
	_, ok := slices.BinarySearchFunc(v, word, func(e entry, w string) int { return strings.Compare(e.word, w) })
	return ok
}

// longer lists the words that begin with prefix, most used first, at most max.
func (v vocabulary) longer(prefix string, max int) []string {
	from := sort.Search(len(v), func(i int) bool { return v[i].word >= prefix })
	to := from
	for to < len(v) && strings.HasPrefix(v[to].word, prefix) {
		to++
	}
	return mostUsed(slices.Clone(v[from:to]), max)
}

// close lists the words nearest to a misspelt one, all at the same distance:
// one edit, or two for words of seven letters and more. A transposition is
// one edit.
func (v vocabulary) close(word string, max int) (words []string, distance int) {
	limit := 1
	if len(word) >= 7 {
		limit = 2
	}
	bits := letters(word)
	var found []entry
	for _, e := range v {
		if d := len(e.word) - len(word); d > limit || d < -limit || tooFar(bits, e.letters, limit) {
			continue
		}
		d := edits(word, e.word, limit)
		if d < limit {
			limit, found = d, found[:0]
		}
		if d == limit {
			found = append(found, e)
		}
	}
	return mostUsed(found, max), limit
}

// halves splits a word into two known ones of three letters and more.
func (v vocabulary) halves(word string) (string, string, bool) {
	if !isASCII(word) {
		return "", "", false
	}
	for i := 3; i <= len(word)-3; i++ {
		if v.has(word[:i]) && v.has(word[i:]) {
			return word[:i], word[i:], true
		}
	}
	return "", "", false
}

func mostUsed(es []entry, max int) []string {
	slices.SortFunc(es, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.docs, a.docs), strings.Compare(a.word, b.word))
	})
	var words []string
	for _, e := range es[:min(len(es), max)] {
		words = append(words, e.word)
	}
	return words
}

func letters(word string) uint32 {
	var m uint32
	for i := range len(word) {
		m |= 1 << (word[i] & 31)
	}
	return m
}

// tooFar is true only if more than limit edits lie between two words with
// these letters: each edit brings or takes at most one letter.
func tooFar(a, b uint32, limit int) bool {
	return ones(a&^b) > limit || ones(b&^a) > limit
}

// stemTable counts the documents of every term.
type stemTable struct {
	terms []string // sorted
	docs  []int32
}

func newStemTable(terms map[string]*term) stemTable {
	t := stemTable{terms: slices.Sorted(maps.Keys(terms)), docs: make([]int32, 0, len(terms))}
	for _, s := range t.terms {
		t.docs = append(t.docs, terms[s].docs)
	}
	return t
}

// count is how many documents hold term.
func (x *Index) count(term string) int {
	if i := sort.SearchStrings(x.stems.terms, term); i < len(x.stems.terms) && x.stems.terms[i] == term {
		return int(x.stems.docs[i])
	}
	return 0
}

func (x *Index) knows(term string) bool { return x.count(term) > 0 }
