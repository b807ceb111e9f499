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
	weight float32
	alts   []alt
	known  bool    // the catalog has it
	idf    float32 // set when scored
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
}

// slots reads the query's words.
func (l *lookup) slots(text string) []slot {
	l.stems = newStemmer()
	var all, content []slot
	for _, r := range split(text) {
		for _, p := range r.parts {
			s := slot{word: p, weight: l.weight(p), alts: []alt{{l.stems.stem(p), 1}}}
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
		content = all
	}
	content = content[:min(len(content), maxSlots)]
	l.join(content)
	var out []slot
	seen := map[string]bool{}
	for _, s := range content {
		for _, s := range l.resolve(s) {
			if !seen[s.alts[0].term] {
				seen[s.alts[0].term] = true
				out = append(out, s)
			}
		}
	}
	return out
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

// join lets two neighbours be found written as one word.
func (l *lookup) join(ss []slot) {
	for i := 1; i < len(ss); i++ {
		both := ss[i-1].word + ss[i].word
		if len(both) <= maxRun && l.x.vocab.has(both) {
			a := alt{l.stems.stem(both), l.x.tune.joined}
			ss[i-1].alts = append(ss[i-1].alts, a)
			ss[i].alts = append(ss[i].alts, a)
		}
	}
}

// resolve finds what a word the catalog lacks may have meant: two words
// written as one, the beginning of a longer one, or a misspelling.
func (l *lookup) resolve(s slot) []slot {
	v := l.x.vocab
	for _, a := range s.alts {
		if n, _ := l.count(a.term); n > 0 {
			s.known = true
			return []slot{s}
		}
	}
	if utf8.RuneCountInString(s.word) < 3 {
		return []slot{s}
	}
	if a, b, ok := v.halves(s.word); ok {
		return []slot{
			{word: a, weight: s.weight, known: true, alts: []alt{{l.stems.stem(a), 1}}},
			{word: b, weight: s.weight, known: true, alts: []alt{{l.stems.stem(b), 1}}},
		}
	}
	for _, w := range v.longer(s.word, 8) {
		s.alts = append(s.alts, alt{l.stems.stem(w), l.x.tune.prefix})
	}
	if len(s.word) >= 4 {
		near, d := v.close(s.word, 4)
		for _, w := range near {
			s.alts = append(s.alts, alt{l.stems.stem(w), l.x.tune.typo[d]})
		}
	}
	s.known = len(s.alts) > 1
	return []slot{s}
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
