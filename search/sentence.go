package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fact is what the way a word is written says of it.
type fact uint8

const (
	plain   fact = iota
	literal      // quoted, an address, an identifier: a value for an argument
	proper       // a capital letter inside a sentence: a name, perhaps
)

// longSentence is from how many words on a query is a sentence rather than a list of words.
const longSentence = 6

// sentence looks at how the words of a query are written. In a short query nothing is told from it.
func sentence(words []string) []fact {
	facts := make([]fact, len(words))
	if len(words) < longSentence {
		return facts
	}
	capitals := 0
	quote := ""
	first := true
	for i, w := range words {
		inside := quote != ""
		if !inside {
			quote = opens(w)
			inside = quote != ""
		}
		if inside && closes(w, quote) {
			quote = ""
		}
		switch {
		case inside || address(w) || identifier(w):
			facts[i] = literal
		case !first && capital(w):
			facts[i] = proper
			capitals++
		}
		first = strings.HasSuffix(w, ".") || strings.HasSuffix(w, "!") || strings.HasSuffix(w, "?") || strings.HasSuffix(w, ":")
	}
	if quote != "" || capitals*2 > len(words) { // no end to the quote, or Every Word Is Like That
		for i := range facts {
			facts[i] = plain
		}
	}
	return facts
}

var quotes = []struct{ open, end string }{{"\"", "\""}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"‘", "’"}, {"«", "»"}}

func opens(w string) (end string) {
	w = strings.TrimLeft(w, "([{")
	for _, q := range quotes {
		if strings.HasPrefix(w, q.open) {
			return q.end
		}
	}
	return ""
}

func closes(w, end string) bool {
	w = strings.TrimRight(w, ".,;:!?)]}")
	return len(w) > len(end) && strings.HasSuffix(strings.TrimSuffix(w, "'s"), end)
}

// address is true of links, mail addresses and paths.
func address(w string) bool {
	at := strings.IndexByte(w, '@')
	return strings.Contains(w, "://") || at > 0 && strings.Contains(w[at:], ".") || strings.HasPrefix(w, "www.") ||
		len(w) > 1 && w[0] == '/' || strings.Count(w, "/") > 2
}

// identifier is true of a longer word of letters and digits mixed, such as a hash.
func identifier(w string) bool {
	w = strings.Trim(w, ".,;:!?()[]{}")
	digits, letters := 0, 0
	for _, r := range w {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return len(w) >= 8 && digits >= 2 && letters >= 1
}

// capital is true of a word with only its first letter big.
func capital(w string) bool {
	w = strings.TrimLeft(w, "([{\"'")
	r, n := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r) && strings.IndexFunc(w[n:], unicode.IsUpper) < 0
}
