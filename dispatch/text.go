package dispatch

import (
	"encoding/json"
	"unicode/utf8"
)

// clip cuts s to at most max bytes at a character border and marks the cut.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	cut := max - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:max0(cut)] + "…"
}

func max0(n int) int { return max(n, 0) }

// mustJSON encodes a value that cannot fail to encode, without HTML escapes.
func mustJSON(v any) json.RawMessage {
	b, err := marshal(v)
	if err != nil {
		panic("dispatch: encode " + err.Error())
	}
	return b
}

// repairedLine names the repairs made to an input in one line.
func repairedLine(notes []string) string {
	line := "repaired: "
	for i, n := range notes {
		if i > 0 {
			line += "; "
		}
		line += n
	}
	return clip(line, 400)
}

// roughTokens estimates what a text costs a model without a tokenizer's tables: never less than it
// costs for what we write ourselves (names, signatures, sentences), up to a third more.
func roughTokens(s string) int {
	n, run := 0, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			if run++; run%6 == 1 {
				n++
			}
			continue
		case c >= '0' && c <= '9':
			if run++; run%3 == 1 {
				n++
			}
			continue
		case c >= 0x80:
			if c >= 0xC0 {
				n++
			}
		case c != ' ':
			n++
		}
		run = 0
	}
	return n
}
