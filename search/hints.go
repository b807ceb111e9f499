package search

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// A value in a query hints at a parameter that takes it: who names a day wants a tool that can be told one.

// hints are the kinds of values and the words that name a parameter for one.
var hints = []struct {
	of    func(word, before string) bool
	words []string
}{
	{isDate, []string{"date", "day", "datetime"}},
	{isPlace, []string{"city", "location", "place"}},
	{func(w, _ string) bool { return strings.Contains(w, "://") || strings.HasPrefix(w, "www.") }, []string{"url", "link", "uri"}},
	{func(w, _ string) bool { return mail().MatchString(w) }, []string{"email", "recipient"}},
	{isMoney, []string{"amount", "price", "cost"}},
}

// hinted makes a slot of every kind of value that words hold.
func (l *lookup) hinted(words []string) []slot {
	if l.x.tune.noValues || len(words) < longSentence {
		return nil
	}
	var out []slot
	for _, h := range hints {
		for i, w := range words {
			before := ""
			if i > 0 {
				before = words[i-1]
			}
			if !h.of(strings.Trim(w, ".,;:!?()\"'`"), before) {
				continue
			}
			s := slot{word: h.words[0], weight: l.x.tune.hinted}
			for _, name := range h.words {
				s.alts = append(s.alts, alt{term: l.stems.stem(name), weight: 1})
			}
			out = append(out, s)
			break
		}
	}
	return out
}

var (
	mail  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[a-zA-Z]{2,}$`) })
	dated = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}(st|nd|rd|th))$`)
	})
	dayNames = sync.OnceValue(func() map[string]bool {
		return wordSet("january february march april june july august september october november december " +
			"monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday tonight weekend")
	})
)

func isDate(w, _ string) bool {
	return dated().MatchString(w) || dayNames()[strings.ToLower(w)] && (unicode.IsUpper(rune(w[0])) || len(w) >= 5 && w != "march")
}

// isPlace is true of a name after a word that leads to a place.
func isPlace(w, before string) bool {
	switch strings.ToLower(before) {
	case "in", "near", "from", "to", "around":
		return capital(w) && !dayNames()[strings.ToLower(w)] && len(w) > 2
	}
	return false
}

func isMoney(w, _ string) bool {
	w = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsDigit(r) && !unicode.Is(unicode.Sc, r) })
	return len(w) > 1 && strings.IndexFunc(w, unicode.IsDigit) >= 0 && strings.IndexFunc(w, func(r rune) bool { return unicode.Is(unicode.Sc, r) }) >= 0
}
