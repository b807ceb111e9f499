package arguments

import (
	"slices"
	"strings"
	"unicode"
)

// maxWord is the longest name Nearest compares; longer ones are hardly a slip of the pen.
const maxWord = 128

// muchBetter is the lead in points that leaves the others out.
const muchBetter = 20

// Nearest returns at most max of the names in of that word may have meant, best first: the same
// letters in another spelling, a prefix, a small edit distance, a shared part. None if all are far.
func Nearest(word string, of []string, max int) []string {
	type near struct {
		name  string
		score int
	}
	w := squeeze(word)
	if w == "" || len(w) > maxWord {
		return nil
	}
	var found []near
	for _, name := range of {
		if score, ok := distance(w, word, name); ok {
			found = append(found, near{name, score})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, f := range found {
		if f.score > found[0].score+muchBetter {
			break
		}
		if len(out) < max && !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out
}

// distance scores how far name is from the word (w squeezed); ok is false when it is too far.
func distance(w, word, name string) (int, bool) {
	n := squeeze(name)
	if n == "" || len(n) > maxWord {
		return 0, false
	}
	if w == n {
		return 0, true
	}
	limit := 1 + len(w)/5
	if d := len(w) - len(n); d <= limit && -d <= limit {
		if got := edits([]rune(w), []rune(n)); got <= limit && got < len(w) {
			return 10 * got, true
		}
	}
	short, long := w, n
	if len(short) > len(long) {
		short, long = long, short
	}
	switch {
	case len(short) >= 2 && strings.HasPrefix(long, short):
		return 15 + (len(long)-len(short))/4, true
	case len(short) >= 3 && strings.Contains(long, short):
		return 25 + (len(long)-len(short))/4, true
	case sharesPart(word, name):
		return 45, true
	}
	return 0, false
}

// squeeze leaves only letters and digits, lower case.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// sharesPart reports whether the names have a part of at least three letters in common.
func sharesPart(a, b string) bool {
	other := parts(b)
	return slices.ContainsFunc(parts(a), func(p string) bool {
		return len(p) >= 3 && slices.Contains(other, p)
	})
}

// parts splits a name at signs and camelCase humps.
func parts(s string) []string {
	var b strings.Builder
	last := ' '
	for _, r := range s {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		last = r
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// edits counts the single-letter changes and swaps of neighbours between a and b.
func edits(a, b []rune) int {
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
