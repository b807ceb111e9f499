package config

import (
	"regexp"
	"strings"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expansion is what became of one text.
type expansion struct {
	text    string
	values  []string // what variables and their defaults stood for
	missing []string // variables that are not set and have no default
}

// expand replaces ${VAR}, ${VAR:-default} and ${env:VAR}. A default may hold variables itself and
// also stands in for an empty variable. Other uses of $ stay as they are.
func expand(text string, env Env) expansion {
	var e expansion
	e.text = e.replace(text, env, 0)
	return e
}

func (e *expansion) replace(text string, env Env, depth int) string {
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
func (e *expansion) variable(inner string, env Env, depth int) (string, bool) {
	name, fallback, hasDefault := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
	if strings.HasPrefix(inner, "input:") {
		e.missing = append(e.missing, inner)
		return "", true
	}
	if !variableName.MatchString(name) || depth > maxDepth {
		return "", false
	}
	value, set := env(name)
	switch {
	case hasDefault && value == "":
		value = e.replace(fallback, env, depth+1)
	case !set:
		e.missing = append(e.missing, name)
	}
	if value != "" {
		e.values = append(e.values, value)
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

// unexpanded writes text so that expand gives it back unchanged.
func unexpanded(text string) string {
	return strings.ReplaceAll(text, "${", "$${")
}
