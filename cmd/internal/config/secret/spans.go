// Package secret finds what is secret in texts, command lines and URLs, and hides it.
package secret

import (
	"regexp"
	"slices"
	"strings"
)

// Hidden is what stands in the place of a secret.
const Hidden = "***"

// span is a part of a text that is secret.
type span struct{ from, to int }

const sensitive = `(?:token|key|secret|pass|auth|credential)`

var (
	// A flag whose value is the next argument.
	secretFlag = regexp.MustCompile(`(?i)^--?[\w.-]*` + sensitive + `[\w.-]*$`)
	// What follows such a flag and is a flag itself is no value.
	anyFlag = regexp.MustCompile(`^--[A-Za-z][\w-]*(=|$)`)
	// NAME=, NAME: or "NAME": before a value, anywhere in an argument.
	secretName = regexp.MustCompile(`(?i)[\w.-]*` + sensitive + `[\w.-]*(?:\s*=\s*|:\s+|["']\s*:\s*)`)
	// A flag and its value inside one argument, as in sh -c "…".
	secretInside = regexp.MustCompile(`(?i)(?:^|\s)--?[\w.-]*` + sensitive + `[\w.-]*\s+`)
	webURL       = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]+`)
	authScheme   = regexp.MustCompile(`(?i)^(bearer|basic|token|digest|apikey)\s+`)
)

// argumentSpans returns the secret parts of each argument of a command line.
func argumentSpans(args []string) [][]span {
	out := make([][]span, len(args))
	for i, arg := range args {
		if i > 0 && secretFlag.MatchString(args[i-1]) && !anyFlag.MatchString(arg) {
			out[i] = []span{{0, len(arg)}}
			continue
		}
		out[i] = textSpans(arg)
	}
	return out
}

// textSpans returns the secret parts of one text: parts of URLs, and values after telling names.
func textSpans(text string) []span {
	spans := urlSpans(text)
	for _, re := range []*regexp.Regexp{secretName, secretInside} {
		for _, m := range re.FindAllStringIndex(text, -1) {
			s := valueSpan(text, m[1], m[0] == 0 && re == secretName)
			if s.to > s.from {
				spans = append(spans, s)
			}
		}
	}
	return spans
}

// valueSpan is the value that starts at from: to its closing quote, to the end of the text if whole,
// else to the next separator. The word after an authentication scheme belongs to it.
func valueSpan(text string, from int, whole bool) span {
	rest := text[from:]
	if rest == "" {
		return span{from, from}
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		if end := strings.IndexByte(rest[1:], quote); end >= 0 {
			return span{from + 1, from + 1 + end}
		}
		return span{from + 1, len(text)}
	}
	if whole {
		return span{from, len(text)}
	}
	skip := len(authScheme.FindString(rest))
	if end := strings.IndexAny(rest[skip:], " \t\r\n,;&\"'}"); end >= 0 {
		return span{from, from + skip + end}
	}
	return span{from, len(text)}
}

// urlSpans returns the user information and the query values of every URL in text.
func urlSpans(text string) []span {
	var spans []span
	for _, m := range webURL.FindAllStringIndex(text, -1) {
		start := m[0] + strings.Index(text[m[0]:m[1]], "://") + len("://")
		end := m[1]
		if i := strings.IndexByte(text[start:end], '#'); i >= 0 {
			end = start + i
		}
		authority := text[start:end]
		if i := strings.IndexAny(authority, "/?"); i >= 0 {
			authority = authority[:i]
		}
		if at := strings.LastIndexByte(authority, '@'); at > 0 {
			spans = append(spans, span{start, start + at})
			if colon := strings.IndexByte(authority[:at], ':'); colon >= 0 {
				spans = append(spans, span{start, start + colon}, span{start + colon + 1, start + at})
			}
		}
		query := strings.IndexByte(text[start:end], '?')
		if query < 0 {
			continue
		}
		spans = append(spans, querySpans(text, start+query+1, end)...)
	}
	return spans
}

func querySpans(text string, from, to int) []span {
	var spans []span
	for from < to {
		end := to
		if i := strings.IndexAny(text[from:to], "&;"); i >= 0 {
			end = from + i
		}
		value := from
		if i := strings.IndexByte(text[from:end], '='); i >= 0 {
			value = from + i + 1
		}
		if value < end {
			spans = append(spans, span{value, end})
		}
		from = end + 1
	}
	return spans
}

// mask replaces the spans of text by ***.
func mask(text string, spans []span) string {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, s := range spans {
		if s.to <= at || s.to <= s.from {
			continue
		}
		if s.from >= at {
			b.WriteString(text[at:s.from] + Hidden)
		}
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// HideText returns text with its secret parts as ***.
func HideText(text string) string { return mask(text, textSpans(text)) }

// HideArguments returns the arguments of a command line with their secret parts as ***.
func HideArguments(args []string) []string {
	out := make([]string, len(args))
	for i, spans := range argumentSpans(args) {
		out[i] = mask(args[i], spans)
	}
	return out
}
