package search

import (
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
}

// alt is one term, or several that must all be there.
type alt struct {
	term   string
	more   []string
	weight float32
	like   likeness
}

// lookup is one text of a query as its words are looked up.
type lookup struct {
	*errand
	stems *stemmer
	vague bool // the query holds stop words only
	n     int  // words of the query that are no stop words
}

// likeness is how near an alternative is to the word it stands for.
type likeness uint8

const (
	itself  likeness = iota // the word, another form of it, or one it may have meant
	akin                    // a word of the same concept, and one of the two is its head
	distant                 // another word of the same concept
)

// token is one word of the query as it stands there.
type token struct {
	word  string
	whole string // the run it is a part of, "" if it is all of it
	stem  string
	dense bool // of a script without spaces
	stop  bool
	value bool // part of a value for an argument rather than of what is wanted
	taken bool // a phrase of another language speaks for it

	concepts []uint16 // what a dense word means
	weight   float32
}

// slots reads the query's words.
func (l *lookup) slots(text string) ([]slot, error) {
	tokens, err := l.tokens(text)
	if err != nil {
		return nil, err
	}
	foreign, err := l.translate(tokens)
	if err != nil {
		return nil, err
	}
	l.choose(tokens)
	for i := range tokens {
		if !tokens[i].stop {
			l.n++
		}
	}
	pairs, joined := l.pairs(tokens)
	synonyms, err := l.synonyms(tokens)
	if err != nil {
		return nil, err
	}
	var out []slot
	seen := map[string]bool{}
	for i := range tokens {
		t := &tokens[i]
		if t.stop || t.taken || seen[t.stem] {
			continue
		}
		if seen[t.stem] = true; len(seen) > maxSlots {
			break
		}
		if len(t.concepts) > 0 {
			foreign = append(foreign, l.dense(t))
			continue
		}
		out = append(out, l.resolve(t, joined[i], synonyms[i])...)
	}
	out = append(append(out, foreign...), pairs...)
	return append(out, l.hinted(strings.Fields(text))...), nil
}

// choose drops stop words; a query made of stop words alone keeps them.
func (l *lookup) choose(tokens []token) {
	for i := range tokens {
		if !tokens[i].stop {
			return
		}
	}
	l.vague = true
	for i := range tokens {
		tokens[i].stop = false
	}
}

// tokens cuts the query into words and says what each is worth.
func (l *lookup) tokens(text string) ([]token, error) {
	words := strings.Fields(text)
	facts := sentence(words)
	var out []token
	for i, w := range words {
		var err error
		eachStretch(w, func(raw string, dense bool) {
			if dense && err == nil {
				var found []token
				found, err = l.segment(strings.ToLower(raw))
				out = append(out, found...)
				return
			}
			r := cut(raw)
			for _, p := range r.parts {
				t := token{word: p, stem: l.stems.stem(p), weight: l.weight(p), stop: !l.x.tune.noStops && stopWords()[p]}
				if len(r.parts) > 1 {
					t.whole = r.whole
				}
				if !l.x.tune.noValues {
					l.discount(&t, facts[i])
				}
				out = append(out, t)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// discount lowers the weight of what is a value for an argument: quoted text, addresses, identifiers, and names of
// people, places and things that the catalog does not know.
func (l *lookup) discount(t *token, f fact) {
	switch {
	case f == literal:
		t.value = true
	case f == proper && !l.x.knows(t.stem):
		t.value = true
	default:
		return
	}
	t.weight *= l.x.tune.value
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

// pairs lets two neighbours be found written as one word, and returns the
// pairs: a document that has the words side by side is nearer than one that
// has them apart.
func (l *lookup) pairs(tokens []token) (pairs []slot, joined [][]alt) {
	joined = make([][]alt, len(tokens))
	if l.x.tune.noPairs {
		return nil, joined
	}
	for i := 1; i < len(tokens); i++ {
		a, b := &tokens[i-1], &tokens[i]
		both := a.word + b.word
		if a.stop || b.stop || a.dense || b.dense || len(both) > maxRun || !l.x.vocab.has(both) {
			continue
		}
		term := l.stems.stem(both)
		for _, j := range []int{i - 1, i} {
			joined[j] = append(joined[j], alt{term: term, weight: l.x.tune.joined})
		}
		pairs = append(pairs, slot{word: both, weight: l.x.tune.pair * min(a.weight, b.weight), alts: []alt{{term: term, weight: 1}}})
	}
	return pairs, joined
}

// resolve makes a slot of a word. For one that neither the catalog nor the lexicon knows it finds what may have been
// meant: two words written as one, the beginning of a longer one, or a misspelling.
func (l *lookup) resolve(t *token, joined, synonyms []alt) []slot {
	s := slot{word: t.word, weight: t.weight, alts: []alt{{term: t.stem, weight: 1}}}
	if t.whole != "" {
		s.alts = append(s.alts, alt{term: l.stems.stem(t.whole), weight: 1})
	}
	s.alts = append(s.alts, joined...)
	known := false
	for _, a := range s.alts {
		known = known || l.x.knows(a.term)
	}
	tune := &l.x.tune
	s.alts = append(s.alts, l.weigh(synonyms, known)...)
	switch {
	case known:
		if !tune.noPrefixes && !t.value {
			s.begin(l, knownPrefixes, tune.knownPrefix)
		}
		return []slot{s}
	case len(synonyms) > 0 || utf8.RuneCountInString(t.word) < 3 || t.value:
		return []slot{s}
	}
	if a, b, ok := l.x.vocab.halves(t.word); ok && !tune.noPairs {
		return []slot{
			{word: a, weight: t.weight, alts: []alt{{term: l.stems.stem(a), weight: 1}}},
			{word: b, weight: t.weight, alts: []alt{{term: l.stems.stem(b), weight: 1}}},
		}
	}
	if !tune.noPrefixes {
		s.begin(l, unknownPrefixes, tune.prefix)
	}
	if len(t.word) >= 4 && !tune.noTypos {
		near, d := l.x.vocab.close(t.word, 4)
		for _, w := range near {
			s.alts = append(s.alts, alt{term: l.stems.stem(w), weight: tune.typo[d]})
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
			s.alts = append(s.alts, alt{term: term, weight: weight})
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
