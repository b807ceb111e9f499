package search

import (
	"fmt"
	"slices"
	"strings"
)

// Options say how an Index ranks. The zero value ranks by words, with the lexicon that comes with the package.
type Options struct {
	// Lexicon knows the words that mean the same; nil means the one that comes with the package, without own words.
	Lexicon *Lexicon
	// Meaning compares texts by what they mean, beside their words; nil means words alone.
	Meaning Meaning
	// Without leaves parts of the ranking out, by their names in Parts: to measure what each is worth.
	Without []string
}

// Build indexes docs. The Index shares the documents' strings and keeps nothing else of them. Close it when it is no
// longer needed. It fails on a part in Without that does not exist.
func (o Options) Build(docs []Doc) (*Index, error) {
	t := defaults()
	for _, name := range o.Without {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("build index: no part %q to leave out; there are %s", name, strings.Join(Parts(), ", "))
		}
		parts[i].off(&t)
	}
	if o.Lexicon == nil {
		o.Lexicon = sharedLexicon()
	}
	return build(docs, t, o)
}

// Parts names the parts of the ranking that Options.Without may leave out.
func Parts() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// part is a part of the ranking and how to leave it out.
type part struct {
	name string
	off  func(*tuning)
}

var parts = []part{
	{"lexicon", func(t *tuning) { t.noSynonyms, t.noLanguages = true, true }},
	{"synonyms", func(t *tuning) { t.noSynonyms = true }},
	{"languages", func(t *tuning) { t.noLanguages = true }},
	{"parameters", func(t *tuning) { t.param.base, t.paramText.base, t.enum.base = 0, 0, 0 }},
	{"names", func(t *tuning) { t.name = t.lead; t.nameShare = 0 }},
	{"first sentence", func(t *tuning) { t.lead = t.rest }},
	{"stop words", func(t *tuning) { t.noStops = true }},
	{"stems", func(t *tuning) { t.noStems = true }},
	{"coverage", func(t *tuning) { t.coverage = 0 }},
	{"server named", func(t *tuning) { t.serverNamed = 1; t.server.base = 0 }},
	{"typos", func(t *tuning) { t.noTypos = true }},
	{"prefixes", func(t *tuning) { t.noPrefixes = true }},
	{"pairs", func(t *tuning) { t.pair, t.noPairs = 0, true }},
	{"intents", func(t *tuning) { t.noIntents = true }},
	{"values", func(t *tuning) { t.noValues = true }},
}
