package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"

	"github.com/proxy-dispatch/proxy-dispatch/search/lexicon"
)

// language is how one language says the concepts.
type language struct {
	code   string
	words  table
	stops  map[string]bool
	dense  map[string][]uint16 // for languages without spaces: word → concepts, stop words → none
	widest int                 // runes of the longest dense word
}

// newLanguage loads a language for the concepts of t. Heads that t lacks are left out.
func newLanguage(code string, t *thesaurus) (*language, error) {
	entries, err := lexicon.Language(code)
	if err != nil {
		return nil, err
	}
	stops, err := lexicon.StopWords(code)
	if err != nil {
		return nil, err
	}
	l := &language{code: code, stops: map[string]bool{}, dense: map[string][]uint16{}}
	for _, s := range stops {
		s = strings.ToLower(fold(s))
		l.stops[s] = true
		if isDenseWord(s) {
			l.put(s, nil)
		}
	}
	stems := newStemmer()
	stem := newForeignStemmer(code)
	var pairs []pairing
	for _, e := range entries {
		n, ok := t.heads[phraseOf(stems, e.Head)]
		if !ok {
			continue
		}
		for _, w := range e.Words {
			w = strings.ToLower(fold(w))
			if isDenseWord(w) {
				l.put(strings.ReplaceAll(w, " ", ""), &n)
			} else if p := l.phrase(stem, w); p != "" {
				pairs = append(pairs, pairing{p, n})
			}
		}
	}
	l.words = newTable(pairs)
	return l, nil
}

func (l *language) put(word string, concept *uint16) {
	known := l.dense[word]
	if concept != nil {
		known = append(known, *concept)
	}
	l.dense[word] = known
	l.widest = max(l.widest, utf8.RuneCountInString(word))
}

// phrase gives the stems of an expression without its stop words, unless it has no others.
func (l *language) phrase(stem func(string) string, text string) string {
	var words, all []string
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !isWord(r) }) {
		all = append(all, stem(w))
		if !l.stops[w] {
			words = append(words, stem(w))
		}
	}
	if len(words) == 0 {
		words = all
	}
	return strings.Join(words, " ")
}

// newForeignStemmer returns the stemmer of a language. It is not safe for concurrent use.
func newForeignStemmer(code string) func(string) string {
	stem, ok := map[string]func(*snowballstem.Env) bool{
		"ar": arabic.Stem, "de": german.Stem, "es": spanish.Stem, "fr": french.Stem, "it": italian.Stem,
		"pt": portuguese.Stem, "ru": russian.Stem,
	}[code]
	switch {
	case code == "hi":
		return hindiStem
	case !ok:
		return func(word string) string { return word }
	}
	env := snowballstem.NewEnv("")
	return func(word string) string {
		switch code {
		case "ar":
			word = plainArabic(word)
		case "de":
			word = strings.ReplaceAll(word, "ß", "ss")
		}
		if utf8.RuneCountInString(word) < 3 {
			return word
		}
		env.SetCurrent(word)
		stem(env)
		return lastVowelOff(code, env.Current())
	}
}

// lastVowelOff evens out what the stemmers of the Romance languages leave to tell genders and verb forms apart, which
// they do by accents that are folded here.
func lastVowelOff(code, stem string) string {
	switch code {
	case "es", "pt", "it", "fr":
		if n := len(stem); n > 4 && strings.IndexByte("aeio", stem[n-1]) >= 0 {
			return stem[:n-1]
		}
	}
	return stem
}

// plainArabic drops vowel marks and stretching, and writes every alef alike.
func plainArabic(word string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x64b && r <= 0x65f, r == 0x640:
			return -1
		case r == 'أ', r == 'إ', r == 'آ':
			return 'ا'
		}
		return r
	}, word)
}

// hindiEndings are the endings of nouns and verbs, longest first.
var hindiEndings = []string{"ियों", "ियाँ", "ियां", "ाइए", "ाइये", "ाएँ", "ाएं", "ाओं", "ाना", "ाने", "ानी", "ाया", "ायी", "ाई", "ाओ", "ुओं", "ों", "ें", "ीं", "ां", "ाँ",
	"ना", "ने", "नी", "ता", "ते", "ती", "ो", "े", "ी", "ा", "ि", "ु", "ू", "ं", "ँ"}

func hindiStem(word string) string {
	word = strings.ReplaceAll(word, "\u093c", "") // the dot below is often left out
	for _, e := range hindiEndings {
		if s, ok := strings.CutSuffix(word, e); ok && utf8.RuneCountInString(s) >= 2 {
			return s
		}
	}
	return word
}

func isDenseWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isDense(r)
}

// compound reads a German compound as two known words.
func (l *language) compound(stem func(string) string, word string) []uint16 {
	const least = 3
	for i := len(word) - least; i >= least; i-- {
		if !utf8.RuneStart(word[i]) {
			continue
		}
		right := l.words.find(stem(word[i:]))
		if right == nil {
			continue
		}
		for _, link := range []string{"", "s", "n", "en", "es", "e"} {
			left, ok := strings.CutSuffix(word[:i], link)
			if ok && len(left) >= least {
				if c := l.words.find(stem(left)); c != nil {
					return append(append([]uint16(nil), c[:1]...), right[0])
				}
			}
		}
	}
	return nil
}

// languageOf tells the language of a word by its script; "" for Latin letters and scripts nobody here reads.
func languageOf(word string) string {
	for _, r := range word {
		switch {
		case r < 0x370:
		case unicode.Is(unicode.Cyrillic, r):
			return "ru"
		case unicode.Is(unicode.Arabic, r):
			return "ar"
		case unicode.Is(unicode.Devanagari, r):
			return "hi"
		}
	}
	return ""
}

// latin are the languages with Latin letters.
var latin = []string{"de", "es", "fr", "it", "pt"}
