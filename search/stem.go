package search

import (
	"strings"
	"sync"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// stemmer reduces English words to their stems, remembering what it has seen:
// a catalog says the same few thousand words over and over.
type stemmer struct {
	seen map[string]string
	env  *snowballstem.Env
	off  bool // words stay as they are
}

func newStemmer() *stemmer {
	return &stemmer{seen: map[string]string{}, env: snowballstem.NewEnv("")}
}

// newStemmerOf is the stemmer of an index.
func newStemmerOf(t *tuning) *stemmer {
	s := newStemmer()
	s.off = t.noStems
	return s
}

func (s *stemmer) stem(word string) string {
	if s.off {
		return word
	}
	if len(word) < 3 || !isASCII(word) || !strings.ContainsAny(word, "aeiouy") {
		return plural(word)
	}
	if t, ok := s.seen[word]; ok {
		return t
	}
	s.env.SetCurrent(word)
	english.Stem(s.env)
	t := s.env.Current()
	s.seen[strings.Clone(word)] = t
	return t
}

// plural cuts the s of abbreviations in the plural (PRs, VMs), which the
// English rules leave alone for want of a vowel.
func plural(word string) string {
	if n := len(word); n >= 3 && word[n-1] == 's' && word[n-2] != 's' && isASCII(word) && !strings.ContainsAny(word[:n-1], "0123456789") {
		return word[:n-1]
	}
	return word
}

// stopWords are words of a sentence that say nothing about the tool wanted.
var stopWords = sync.OnceValue(func() map[string]bool { return wordSet(stopList) })

const stopList = `
a an the this that these those some any each every all both either such
i me my mine myself we us our ours you your yours he him his she her it its they them their theirs
is are was were be been being am do does did doing done has have had having
can could will would shall should may might must
of to in on at by for from with without into onto about as than then so too very just also only
and or but nor if because while until when where which who whom whose what why how whether
there here please want wants wanted need needs needed like let lets help tell give gives given
im ive id ll re ve dont doesnt isnt didnt wont cant
not no yes ok hey hi hello thanks thank
able currently now out up
`

// faintWords describe tools as such; they count, but for little.
var faintWords = sync.OnceValue(func() map[string]bool { return wordSet(faintList) })

const faintList = `
tool tools function functions api apis method endpoint parameter parameters param params argument arguments
option field use using used uses named called accept accepts takes support supports provide provides
show shows way something thing things make makes sure able new
`
