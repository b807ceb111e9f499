// Package variable replaces ${VAR} in texts.
package variable

import (
	"regexp"
	"strings"
)

// maxNesting bounds defaults that hold variables with defaults.
const maxNesting = 200

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Expansion is what became of one text.
type Expansion struct {
	Text    string
	Values  []string // what variables and their defaults stood for
	Missing []string // variables that are not set and have no default
}

// Expand replaces ${VAR}, ${VAR:-default} and ${env:VAR}. A default may hold variables itself and
// also stands in for an empty variable. Other uses of $ stay as they are.
func Expand(text string, env func(string) (string, bool)) Expansion {
	var e Expansion
	e.Text = e.replace(text, env, 0)
	return e
}

func (e *Expansion) replace(text string, env func(string) (string, bool), depth int) string {
	var b strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		if i > 0 && text[i-1] == '$' {
			b.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		b.WriteString(text[:i])
		end := closingBrace(text[i:])
		if end < 0 {
			b.WriteString(text[i:])
			return b.String()
		}
		whole := text[i : i+end+1]
		if value, ok := e.variable(whole[2:end], env, depth); ok {
			b.WriteString(value)
		} else {
			b.WriteString(whole)
		}
		text = text[i+end+1:]
	}
}

// variable gives what stands between the braces its value; false if it is no variable of ours.
func (e *Expansion) variable(inner string, env func(string) (string, bool), depth int) (string, bool) {
	name, fallback, hasDefault := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
	if strings.HasPrefix(inner, "input:") {
		e.Missing = append(e.Missing, inner)
		return "", true
	}
	if !variableName.MatchString(name) || depth > maxNesting {
		return "", false
	}
	value, set := env(name)
	switch {
	case hasDefault && value == "":
		value = e.replace(fallback, env, depth+1)
	case !set:
		e.Missing = append(e.Missing, name)
	}
	if value != "" {
		e.Values = append(e.Values, value)
	}
	return value, true
}

// closingBrace returns the offset of the brace that closes the ${ at the start of text, -1 if none
// does.
func closingBrace(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "${"):
			depth++
			i++
		case text[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// Escape writes text so that Expand gives it back unchanged.
func Escape(text string) string {
	return strings.ReplaceAll(text, "${", "$${")
}
