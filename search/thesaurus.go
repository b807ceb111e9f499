package search

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/search/lexicon"
)

// Lexicon finds the words that mean the same as those of a query, in English and from other languages. It is loaded
// at its first use, a language when a query seems to speak it; many indexes may share one. It is safe for
// concurrent use.
type Lexicon struct {
	own     []lexicon.Entry
	english func() (*thesaurus, error)
	langs   map[string]func() (*language, error)
}

// NewLexicon is the lexicon that comes with the package and own concepts beside it: a head that is known gets more
// words, another one is new.
func NewLexicon(own ...lexicon.Entry) *Lexicon {
	l := &Lexicon{own: own, langs: map[string]func() (*language, error){}}
	l.english = sync.OnceValues(func() (*thesaurus, error) { return newThesaurus(own) })
	for _, code := range lexicon.Languages() {
		l.langs[code] = sync.OnceValues(func() (*language, error) {
			t, err := l.english()
			if err != nil {
				return nil, err
			}
			return newLanguage(code, t)
		})
	}
	return l
}

var sharedLexicon = sync.OnceValue(func() *Lexicon { return NewLexicon() })

// language returns a language if there is one.
func (l *Lexicon) language(code string) (*language, error) {
	if load := l.langs[code]; load != nil {
		return load()
	}
	return nil, nil
}

// thesaurus is the concepts as phrases of stems, ready for look-ups.
type thesaurus struct {
	concepts []concept
	heads    map[string]uint16 // phrase of a head → concept
	words    table
}

// concept is what its phrases mean; the first one is its head.
type concept struct{ says []string }

// newThesaurus reads the concepts in English and adds own ones.
func newThesaurus(own []lexicon.Entry) (*thesaurus, error) {
	base, err := lexicon.Concepts()
	if err != nil {
		return nil, err
	}
	t := &thesaurus{heads: map[string]uint16{}}
	stems := newStemmer()
	var pairs []pairing
	for _, e := range append(base, own...) {
		head := phraseOf(stems, e.Head)
		if head == "" {
			continue
		}
		n, ok := t.heads[head]
		if !ok {
			if len(t.concepts) > 1<<16-1 {
				return nil, fmt.Errorf("load lexicon: more than %d concepts", 1<<16)
			}
			n = uint16(len(t.concepts))
			t.heads[head] = n
			t.concepts = append(t.concepts, concept{[]string{head}})
			pairs = append(pairs, pairing{head, n})
		}
		c := &t.concepts[n]
		for _, w := range e.Words {
			if p := phraseOf(stems, w); p != "" && !slices.Contains(c.says, p) {
				c.says = append(c.says, p)
				pairs = append(pairs, pairing{p, n})
			}
		}
	}
	t.words = newTable(pairs)
	return t, nil
}

// phraseOf gives the stems of an English expression, without its articles.
func phraseOf(stems *stemmer, text string) string {
	var words []string
	for _, r := range split(strings.ToLower(text)) {
		for _, p := range r.parts {
			if !articles[p] {
				words = append(words, stems.stem(p))
			}
		}
	}
	return strings.Join(words, " ")
}

// articles may stand in a phrase or not.
var articles = map[string]bool{"a": true, "an": true, "the": true, "my": true, "our": true, "your": true, "its": true, "their": true,
	"this": true, "that": true, "some": true, "of": true}

// pairing says that a phrase may mean a concept.
type pairing struct {
	phrase  string
	concept uint16
}

// table finds the concepts of a phrase.
type table struct {
	phrases  []string // sorted
	starts   []int32  // of each phrase's concepts, and the end of the last one's
	concepts []uint16
	longest  int // words of the longest phrase
}

func newTable(pairs []pairing) table {
	slices.SortStableFunc(pairs, func(a, b pairing) int { return strings.Compare(a.phrase, b.phrase) })
	var t table
	for i, p := range pairs {
		if i == 0 || p.phrase != pairs[i-1].phrase {
			t.phrases = append(t.phrases, p.phrase)
			t.starts = append(t.starts, int32(len(t.concepts)))
			t.longest = max(t.longest, 1+strings.Count(p.phrase, " "))
		} else if slices.Contains(t.concepts[t.starts[len(t.starts)-1]:], p.concept) {
			continue
		}
		t.concepts = append(t.concepts, p.concept)
	}
	t.starts = append(t.starts, int32(len(t.concepts)))
	return t
}

func (t *table) find(phrase string) []uint16 {
	i := sort.SearchStrings(t.phrases, phrase)
	if i == len(t.phrases) || t.phrases[i] != phrase {
		return nil
	}
	return t.concepts[t.starts[i]:t.starts[i+1]]
}

// match finds the longest phrase that begins at words[from]; n is how many words it has.
func (t *table) match(words []string, from int) (concepts []uint16, n int) {
	for n = min(t.longest, len(words)-from); n > 0; n-- {
		if c := t.find(strings.Join(words[from:from+n], " ")); c != nil {
			return c, n
		}
	}
	return nil, 0
}
