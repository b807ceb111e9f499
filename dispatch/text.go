package dispatch

import (
	"encoding/json"
	"fmt"
	"strings"
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

// firstSentence returns the first sentence of a description, on one line.
func firstSentence(s string) string {
	para, _, _ := strings.Cut(strings.TrimSpace(s), "\n\n")
	line := oneLine(para)
	for i := 0; i+1 < len(line); i++ {
		if (line[i] == '.' || line[i] == '!' || line[i] == '?') && line[i+1] == ' ' && !abbreviation(line[:i]) {
			return line[:i+1]
		}
	}
	return line
}

// abbreviation reports whether a full stop after s ends a short form rather than a sentence.
func abbreviation(s string) bool {
	for _, short := range []string{"e.g", "i.e", "etc", "vs", "cf", "approx"} {
		if strings.HasSuffix(s, short) {
			return true
		}
	}
	return false
}

// shrink renders n lines within a token budget: details shrink for all lines before lines drop. It
// says what was cut.
func shrink(n, budget int, count func(string) int, line func(i, level int) string) (lines []string, cut string) {
	const levels = 5
	for level := range levels {
		lines = lines[:0]
		used := 0
		for i := range n {
			l := line(i, level)
			used += count(l) + 1
			if used > budget {
				break
			}
			lines = append(lines, l)
		}
		if len(lines) == n {
			if level > 0 {
				cut = "details shortened; describe shows them whole"
			}
			return lines, cut
		}
	}
	return lines, fmt.Sprintf("%d more left out for space", n-len(lines))
}

// oneLine puts a text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
