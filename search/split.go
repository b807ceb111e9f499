package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A run is an unbroken stretch of letters and digits, lower-cased and
// folded, with the parts that letter case and digits cut it into. A run that
// nothing cuts has exactly one part, equal to whole.
type run struct {
	whole string
	parts []string
}

// maxRun bounds the letters of one run; what is longer is a blob, not a word.
const maxRun = 64

// split cuts text into runs: at everything that is neither letter nor digit,
// and, for the parts, at camelCase and digit borders. Chinese, Japanese and
// Thai text has no spaces, so there each pair of neighbours is a run.
func split(text string) []run {
	var runs []run
	eachRun(text, func(raw string) { runs = append(runs, cut(raw)) })
	return runs
}

// eachRun visits the runs of text as they are written there, accents folded.
func eachRun(text string, visit func(raw string)) {
	if !isASCII(text) {
		eachForeignRun(text, visit)
		return
	}
	start := -1
	for i := range len(text) {
		c := text[i]
		word := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		switch {
		case word && start < 0:
			start = i
		case !word && start >= 0:
			visit(text[start:i])
			start = -1
		}
	}
	if start >= 0 {
		visit(text[start:])
	}
}

func eachForeignRun(text string, visit func(raw string)) {
	eachStretch(text, func(raw string, dense bool) {
		if dense {
			eachPairOf(raw, visit)
		} else {
			visit(raw)
		}
	})
}

// eachStretch visits the stretches of letters and digits in text, accents folded; dense says that one is of a script
// without spaces.
func eachStretch(text string, visit func(raw string, dense bool)) {
	text = fold(text)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !isWord(r) {
			i += n
			continue
		}
		end := i
		dense := isDense(r)
		for end < len(text) {
			r, n := utf8.DecodeRuneInString(text[end:])
			if !isWord(r) || isDense(r) != dense && r != 'ー' {
				break
			}
			end += n
		}
		visit(text[i:end], dense)
		i = end
	}
}

// eachPairOf visits each two neighbouring letters; a lone one is its own pair.
func eachPairOf(text string, visit func(raw string)) {
	_, n := utf8.DecodeRuneInString(text)
	if n == len(text) {
		visit(text)
		return
	}
	for i := 0; ; {
		_, a := utf8.DecodeRuneInString(text[i:])
		_, b := utf8.DecodeRuneInString(text[i+a:])
		if b == 0 {
			return
		}
		visit(text[i : i+a+b])
		i += a
	}
}

// fold brings letters that look alike to one form and drops accents; letter
// case stays, because camelCase is read from it. Marks that are letters in
// their own script (Hindi vowels, say) stay too.
func fold(text string) string {
	if isASCII(text) {
		return text
	}
	var b strings.Builder
	last := rune(0)
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(text, " ")) {
		short := r == 0x306 && (last == 'и' || last == 'И') // a letter of its own
		if r < 0x300 || r > 0x36f || short {
			b.WriteRune(r)
		}
		last = r
	}
	return norm.NFKC.String(b.String())
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func isDense(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// cut finds the parts of one run of letters and digits.
func cut(text string) run {
	rs := []rune(text)
	if len(rs) > maxRun {
		rs = rs[:maxRun]
	}
	whole := strings.ToLower(string(rs))
	var parts []string
	start := 0
	for i := 1; i <= len(rs); i++ {
		if i == len(rs) || border(rs, start, i) {
			parts = append(parts, strings.ToLower(string(rs[start:i])))
			start = i
		}
	}
	return run{whole, parts}
}

// border says whether the part begun at start ends before rs[i]. A digit parts company with
// letters only when two letters or more stand beside it, so that k8s, s3 and
// v2 stay whole.
func border(rs []rune, start, i int) bool {
	a, b := rs[i-1], rs[i]
	switch {
	case unicode.IsDigit(a) != unicode.IsDigit(b):
		if unicode.IsDigit(b) {
			return i-start >= 2
		}
		return i+1 < len(rs) && unicode.IsLetter(rs[i+1])
	case unicode.IsLower(a) && unicode.IsUpper(b):
		return true
	case unicode.IsUpper(a) && unicode.IsUpper(b):
		// The last capital of HTTPServer belongs to Server; a plural s, as
		// in URLs, is no word of its own.
		return i+1 < len(rs) && unicode.IsLower(rs[i+1]) && !(rs[i+1] == 's' && (i+2 == len(rs) || !unicode.IsLower(rs[i+2])))
	}
	return false
}

// normal keeps only folded, lower-cased letters and digits: the form in which
// list_users, listUsers and "List users" are the same name.
func normal(name string) string {
	var b strings.Builder
	for _, r := range fold(name) {
		if isWord(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}
