package dispatch

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// clip cuts s to at most that many bytes at a character border and marks the cut.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := max(most-len("…"), 0)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

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

// shrink renders n lines within a token budget: details shrink before lines drop, those of the last lines first. It
// says what was cut.
func shrink(n, budget int, count func(string) int, line func(i, level int) string) (lines []string, cut string) {
	const levels = 5
	full, used := renderLines(n, 0, count, line)
	if used <= budget {
		return full, ""
	}
	for level := 1; level < levels; level++ {
		short, _ := renderLines(n, level, count, line)
		for i := n - 1; i >= 0 && used > budget; i-- {
			used += count(short[i]) - count(full[i])
			full[i] = short[i]
		}
		if used <= budget {
			return full, "details shortened; describe shows them whole"
		}
	}
	for n > 0 && used > budget {
		n--
		used -= count(full[n]) + 1
	}
	return full[:n], fmt.Sprintf("%d more left out for space", len(full)-n)
}

// renderLines renders n lines at one level and counts what they cost with their line breaks.
func renderLines(n, level int, count func(string) int, line func(i, level int) string) (lines []string, used int) {
	lines = make([]string, n)
	for i := range lines {
		lines[i] = line(i, level)
		used += count(lines[i]) + 1
	}
	return lines, used
}

// oneLine puts a text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
