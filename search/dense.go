package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// denseCodes are the languages without spaces between words.
var denseCodes = []string{"zh", "ja"}

// segment cuts text without spaces into the longest words the lexicon knows; what lies between them becomes pairs of
// letters, as in the index.
func (l *lookup) segment(text string) ([]token, error) {
	if l.x.tune.noLanguages {
		return l.gap(text), nil
	}
	langs, err := l.denseLanguages(text)
	if err != nil {
		return nil, err
	}
	var out []token
	start := 0
	for i := 0; i < len(text); {
		word, concepts, stop := longestOf(langs, text[i:])
		if word == "" {
			_, n := utf8.DecodeRuneInString(text[i:])
			i += n
			continue
		}
		out = append(out, l.gap(text[start:i])...)
		i += len(word)
		start = i
		out = append(out, token{word: word, stem: word, dense: true, stop: stop, concepts: concepts, weight: 1})
	}
	return append(out, l.gap(text[start:])...), nil
}

// denseLanguages are Japanese for a text with kana, else Chinese and Japanese, which share signs.
func (l *lookup) denseLanguages(text string) ([]*language, error) {
	codes := denseCodes
	if strings.IndexFunc(text, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) }) >= 0 {
		codes = []string{"ja"}
	}
	var out []*language
	for _, code := range codes {
		lang, err := l.x.lexicon.language(code)
		if err != nil {
			return nil, err
		}
		if lang != nil {
			out = append(out, lang)
		}
	}
	return out, nil
}

// longestOf finds the longest known word at the beginning of text; among equals the first language's.
func longestOf(langs []*language, text string) (word string, concepts []uint16, stop bool) {
	for _, lang := range langs {
		end, runes := 0, 0
		for i, r := range text {
			if runes == lang.widest {
				break
			}
			runes++
			end = i + utf8.RuneLen(r)
			known, ok := lang.dense[text[:end]]
			if ok && end > len(word) {
				word, concepts, stop = text[:end], known, len(known) == 0
			}
		}
	}
	return word, concepts, stop
}

// gap makes tokens of text no word of which is known.
func (l *lookup) gap(text string) []token {
	var out []token
	if text == "" {
		return nil
	}
	eachPairOf(text, func(pair string) {
		out = append(out, token{word: pair, stem: pair, dense: true, weight: 1})
	})
	return out
}

// dense makes the slot of a known word of a script without spaces: what it means, or its letters side by side in
// catalogs of that language.
func (l *lookup) dense(t *token) slot {
	var pairs []string
	eachPairOf(t.word, func(pair string) { pairs = append(pairs, pair) })
	s := slot{word: t.word, weight: t.weight, alts: []alt{{term: pairs[0], more: pairs[1:], weight: 1}}}
	th, err := l.x.lexicon.english()
	if err != nil { // it was loaded to find the concepts
		return s
	}
	s.alts = append(s.alts, l.stand(th, t.concepts, "", l.x.tune.translation)...)
	return s
}
