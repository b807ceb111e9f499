// Package clean takes out of a text what a person would not see but a model would read.
package clean

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text removes what a person would not see but a model would read: control characters,
// zero-width, bidirectional and tag characters, variation selectors that select nothing, invalid UTF-8. Tabs and line
// breaks stay; \r\n, \r and the Unicode separators become \n. A text that is already clean comes back as it is.
func Text(s string) string {
	if !dirty(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var last rune // the rune before, 0 when it was dropped or was a selector itself
	for i, r := range s {
		switch {
		case r == '\r' || r == '\u2028' || r == '\u2029':
			r = '\n'
			b.WriteByte('\n')
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			r = 0
		case presentation(r) && last > 0x20:
			b.WriteRune(r)
			r = 0 // a second selector in a row carries data, not a look
		case hidden(r):
			r = 0
		default:
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

func dirty(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || c == 0x7F || c < 0x20 && c != '\n' && c != '\t' {
			return true
		}
	}
	return false
}

// presentation reports the two selectors that choose between a text's and a picture's look of the sign before them.
func presentation(r rune) bool { return r == '\uFE0E' || r == '\uFE0F' }

// hidden reports characters that show nothing by themselves.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < utf8.RuneSelf:
		return r < 0x20 || r == 0x7F
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false // format characters by class, yet visible signs of Arabic, Syriac and Kaithi numbers
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// JSON rewrites the hidden characters inside the strings of raw as \u escapes. The JSON means the same as before,
// but whoever reads its text sees what is there. Without such characters raw itself comes back.
func JSON(raw json.RawMessage) json.RawMessage {
	var out []byte
	done := 0
	for i := 0; i < len(raw); {
		r, n := rune(raw[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(raw[i:])
		}
		if r >= 0x7F && hidden(r) {
			out = append(append(out, raw[done:i]...), escape(r)...)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

func escape(r rune) string {
	if r > 0xFFFF {
		hi, lo := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, hi, lo)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Clip cuts s to at most max bytes at a character border; what is cut ends with "…" (which counts).
func Clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	n := max - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if n < 0 {
		n = 0
	}
	return s[:n] + "…"
}
