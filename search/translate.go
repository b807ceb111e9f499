package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// synonyms finds, for each token, what the lexicon lets stand for it or for the phrase it belongs to.
func (l *lookup) synonyms(tokens []token) ([][]alt, error) {
	out := make([][]alt, len(tokens))
	if l.x.tune.noSynonyms {
		return out, nil
	}
	th, err := l.x.lexicon.english()
	if err != nil {
		return nil, err
	}
	var stems []string
	var at []int
	for i := range tokens {
		if t := &tokens[i]; !t.dense && !t.taken && !articles[t.word] {
			stems, at = append(stems, t.stem), append(at, i)
		}
	}
	for i := 0; i < len(stems); {
		concepts, n := th.words.match(stems, i)
		if n == 0 {
			if t := &tokens[at[i]]; t.whole != "" { // a name that its capitals cut, as in GitHub
				out[at[i]] = l.stand(th, th.words.find(l.stems.stem(t.whole)), "", l.x.tune.synonym)
			}
			i++
			continue
		}
		alts := l.stand(th, concepts, strings.Join(stems[i:i+n], " "), l.x.tune.synonym)
		for _, j := range at[i : i+n] {
			if !tokens[j].value {
				out[j] = alts
			}
		}
		i += n
	}
	return out, nil
}

// maxAlts bounds what may stand for one word.
const maxAlts = 24

// stand lists the phrases of concepts that the catalog has, heads first, without the one that was said.
func (l *lookup) stand(th *thesaurus, concepts []uint16, said string, w [2]float32) []alt {
	var out []alt
	add := func(phrase string, weight float32, like likeness) {
		if phrase == said || len(out) >= maxAlts {
			return
		}
		terms := strings.Split(phrase, " ")
		for _, t := range terms {
			if !l.x.knows(t) {
				return
			}
		}
		a := alt{terms[0], terms[1:], weight, like}
		if !slices.ContainsFunc(out, func(b alt) bool { return b.term == a.term && slices.Equal(b.more, a.more) }) {
			out = append(out, a)
		}
	}
	for _, c := range concepts {
		add(th.concepts[c].says[0], w[0], akin)
	}
	for _, c := range concepts {
		says := th.concepts[c].says
		weight, like := w[1], distant
		if says[0] == said { // the head itself was said: its words are as near as it is to them
			weight, like = w[0], akin
		}
		for _, p := range says[1:] {
			add(p, weight, like)
		}
	}
	return out
}

// weigh sets what synonyms count for a word, less if the catalog has the word itself, and less in a long query, which
// has other words to tell the documents apart.
func (l *lookup) weigh(synonyms []alt, known bool) []alt {
	t := &l.x.tune
	w := t.synonym
	if known {
		w = t.known
	}
	less := 1 + t.perWord*float32(max(0, l.n-4))
	out := make([]alt, len(synonyms))
	for i, a := range synonyms {
		a.weight = w[0] / less
		if a.like == distant {
			a.weight = w[1] / less
		}
		out[i] = a
	}
	return out
}

// translate finds phrases of other languages and makes a slot of each; its tokens are taken, the language's stop
// words dropped.
func (l *lookup) translate(tokens []token) ([]slot, error) {
	if l.x.tune.noLanguages {
		return nil, nil
	}
	th, err := l.x.lexicon.english()
	if err != nil {
		return nil, err
	}
	langs, err := l.languages(th, tokens)
	if err != nil {
		return nil, err
	}
	var out []slot
	for _, s := range langs {
		for i := range tokens {
			if t := &tokens[i]; s.speaks(t) && s.stops[t.word] {
				t.stop = true
			}
		}
		out = append(out, l.spoken(th, s, tokens)...)
	}
	return out, nil
}

// spoken makes the slots of one language.
func (l *lookup) spoken(th *thesaurus, s *speech, tokens []token) []slot {
	var out []slot
	for i := 0; i < len(s.stems); {
		concepts, n := s.words.match(s.stems, i)
		t := &tokens[s.at[i]]
		var compound []uint16
		if n == 0 && s.code == "de" && len(t.word) >= 8 && !l.x.knows(t.stem) {
			compound = s.compound(s.stem, t.word)
		}
		switch {
		case t.taken:
			i++
		case n > 0:
			out = append(out, l.say(th, tokens, s.at[i:i+n], concepts)...)
			i += n
		case compound != nil:
			for _, c := range compound {
				out = append(out, l.say(th, tokens, s.at[i:i+1], []uint16{c})...)
			}
			i++
		default:
			i++
		}
	}
	return out
}

// say makes the slot of a phrase in another language, if the catalog has words for it; else it may yet be a word of
// ours. The phrase itself counts too, for catalogs in that language.
func (l *lookup) say(th *thesaurus, tokens []token, at []int, concepts []uint16) []slot {
	stands := l.stand(th, concepts, "", l.x.tune.translation)
	if len(stands) == 0 {
		return nil
	}
	first := &tokens[at[0]]
	own := alt{term: first.stem, weight: 1}
	for _, j := range at[1:] {
		own.more = append(own.more, tokens[j].stem)
	}
	s := slot{word: first.word, weight: first.weight, alts: append([]alt{own}, stands...)}
	for _, j := range at {
		tokens[j].taken = true
	}
	return []slot{s}
}

// speech is a language as a query speaks it.
type speech struct {
	*language
	stem  func(string) string
	stems []string // of the tokens without stop words
	at    []int    // and where these are
	score float32
}

func (s *speech) speaks(t *token) bool {
	code := languageOf(t.word)
	return !t.dense && (code == s.code || code == "" && slices.Contains(latin, s.code))
}

// languages tells which languages the tokens speak: another script by its letters; with Latin letters those that know
// most of the words, but only if they know one that English does not.
func (l *lookup) languages(th *thesaurus, tokens []token) ([]*speech, error) {
	var codes, out []string
	var foreign []bool
	for i := range tokens {
		t := &tokens[i]
		code := languageOf(t.word)
		if code != "" && !slices.Contains(out, code) {
			out = append(out, code)
		}
		strange := code == "" && !t.dense && !t.value && len(t.word) >= 3 && !stopWords()[t.word] && !l.x.vocab.has(t.word) && th.words.find(t.stem) == nil
		foreign = append(foreign, strange && strings.IndexFunc(t.word, isLetter) >= 0)
	}
	if slices.Contains(foreign, true) {
		codes = latin
	}
	var found, tied []*speech
	for _, code := range out {
		s, err := l.speech(code, tokens, nil)
		if err != nil || s == nil {
			return nil, err
		}
		found = append(found, s)
	}
	best := float32(0)
	for _, code := range codes {
		s, err := l.speech(code, tokens, foreign)
		if err != nil {
			return nil, err
		}
		if s == nil || s.score < best || s.score == 0 || s.score < heard*float32(len(tokens)) {
			continue
		}
		if s.score > best {
			best, tied = s.score, nil
		}
		tied = append(tied, s)
	}
	return append(found, tied...), nil
}

// heard is the share of a query's words that a language with Latin letters must know, stop words counting half: one
// word that happens to be known makes no Spanish of an English sentence.
const heard = .3

func isLetter(r rune) bool { return r >= utf8.RuneSelf || r|0x20 >= 'a' && r|0x20 <= 'z' }

// speech prepares the tokens for one language; its score counts the words it knows if one of them is foreign to
// English, else it is 0.
func (l *lookup) speech(code string, tokens []token, foreign []bool) (*speech, error) {
	lang, err := l.x.lexicon.language(code)
	if lang == nil || err != nil {
		return nil, err
	}
	s := &speech{language: lang, stem: newForeignStemmer(code)}
	sure := false
	for i := range tokens {
		t := &tokens[i]
		if !s.speaks(t) {
			continue
		}
		if lang.stops[t.word] {
			s.score += .5
			continue
		}
		s.stems, s.at = append(s.stems, s.stem(t.word)), append(s.at, i)
	}
	for i := 0; i < len(s.stems); i++ {
		_, n := lang.words.match(s.stems, i)
		if n == 0 && code == "de" && foreign != nil && foreign[s.at[i]] && lang.compound(s.stem, tokens[s.at[i]].word) != nil {
			n = 1
		}
		for j := i; j < i+n; j++ {
			s.score++
			sure = sure || foreign != nil && foreign[s.at[j]]
		}
		i += max(n-1, 0)
	}
	if !sure {
		s.score = 0
	}
	return s, nil
}
