// Package brief cuts texts so that they fit into a line.
package brief

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clip cuts a text to at most max bytes between characters and takes out what does not belong in a line.
func Clip(s string, max int) string {
	cut := len(s) > max
	if cut {
		s = s[:max-len("…")]
		for n := 0; n < utf8.UTFMax && len(s) > 0 && !utf8.ValidString(s[len(s)-1:]); n++ {
			if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size > 1 {
				break
			}
			s = s[:len(s)-1]
		}
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if cut {
		s += "…"
	}
	return s
}

// List is the first n words, each clipped, and how many more there are.
func List(words []string, n, each int) string {
	var out []string
	for i, w := range words {
		if i == n {
			out = append(out, fmt.Sprintf("…+%d", len(words)-i))
			break
		}
		out = append(out, Clip(w, each))
	}
	return strings.Join(out, ", ")
}

// JSON is a value as JSON, without escapes that only HTML needs.
func JSON(v any) string {
	var out strings.Builder
	coder := json.NewEncoder(&out)
	coder.SetEscapeHTML(false)
	if err := coder.Encode(v); err != nil {
		return `""`
	}
	return strings.TrimSuffix(out.String(), "\n")
}
