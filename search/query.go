package search

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// slot is one word of the query and the terms that may stand for it: of its
// alternatives the best one counts, never the sum.
type slot struct {
	word   string
	at     int // its place in the query
	weight float32
	alts   []alt
}

type alt struct {
	term   string
	weight float32
}

// lookup is one running search.
type lookup struct {
	x     *Index
	ctx   context.Context
	stems *stemmer
	vague bool // the query holds stop words only
}

// slots reads the query's words.
func (l *lookup) slots(text string) []slot {
	content := l.content(text)
	pairs := l.join(content)
	var out []slot
	seen := map[string]bool{}
	for _, c := range content {
		for _, s := range l.resolve(c) {
			if !seen[s.alts[0].term] {
				seen[s.alts[0].term] = true
				out = append(out, s)
			}
		}
	}
	return append(out, pairs...)
}

// content lists the words that say something; of a query made of stop words
// alone, all.
func (l *lookup) content(text string) []slot {
	var all, content []slot
	for _, r := range split(text) {
		for _, p := range r.parts {
			s := slot{word: p, at: len(all), weight: l.weight(p), alts: []alt{{l.stems.stem(p), 1}}}
			if len(r.parts) > 1 {
				s.alts = append(s.alts, alt{l.stems.stem(r.whole), 1})
			}
			all = append(all, s)
			if !stopWords()[p] {
				content = append(content, s)
			}
		}
	}
	if len(content) == 0 {
		content, l.vague = all, true
	}
	return content[:min(len(content), maxSlots)]
}

func (l *lookup) weight(word string) float32 {
	switch {
	case faintWords()[word]:
		return l.x.tune.faint
	case strings.IndexFunc(word, unicode.IsLetter) < 0:
		return l.x.tune.number
	}
	return 1
}

// join lets two neighbours be found written as one word, and returns the
// pairs: a document that has the words side by side is nearer than one that
// has them apart.
func (l *lookup) join(ss []slot) []slot {
	var pairs []slot
	for i := 1; i < len(ss); i++ {
		a, b := &ss[i-1], &ss[i]
		both := a.word + b.word
		if b.at != a.at+1 || len(both) > maxRun || !l.x.vocab.has(both) {
			continue
		}
		term := l.stems.stem(both)
		a.alts = append(a.alts, alt{term, l.x.tune.joined})
		b.alts = append(b.alts, alt{term, l.x.tune.joined})
		pairs = append(pairs, slot{word: both, weight: l.x.tune.pair, alts: []alt{{term, 1}}})
	}
	return pairs
}

// resolve finds what a word the catalog lacks may have meant: two words
// written as one, the beginning of a longer one, or a misspelling.
func (l *lookup) resolve(s slot) []slot {
	v := l.x.vocab
	for _, a := range s.alts {
		if n, err := l.count(a.term); n > 0 || err != nil {
			s.begin(l, knownPrefixes, l.x.tune.knownPrefix)
			return []slot{s} // score meets the same error and tells it
		}
	}
	if utf8.RuneCountInString(s.word) < 3 {
		return []slot{s}
	}
	if a, b, ok := v.halves(s.word); ok {
		return []slot{
			{word: a, weight: s.weight, alts: []alt{{l.stems.stem(a), 1}}},
			{word: b, weight: s.weight, alts: []alt{{l.stems.stem(b), 1}}},
		}
	}
	s.begin(l, unknownPrefixes, l.x.tune.prefix)
	if len(s.word) >= 4 {
		near, d := v.close(s.word, 4)
		for _, w := range near {
			s.alts = append(s.alts, alt{l.stems.stem(w), l.x.tune.typo[d]})
		}
	}
	return []slot{s}
}

// Words that a query's word may be the beginning of.
const (
	knownPrefixes   = 6 // of a word the catalog has
	unknownPrefixes = 8 // of one it lacks
)

// begin adds the words that go on after the slot's word.
func (s *slot) begin(l *lookup, most int, weight float32) {
	if utf8.RuneCountInString(s.word) < 3 {
		return
	}
	for _, w := range l.x.vocab.longer(s.word, most) {
		if term := l.stems.stem(w); term != s.alts[0].term {
			s.alts = append(s.alts, alt{term, weight})
		}
	}
}

// clip cuts s after at most n bytes, between two letters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
