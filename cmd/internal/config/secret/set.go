package secret

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Set gathers the values that must not be seen. The zero value is empty and ready; it is not safe for
// concurrent use.
type Set struct{ values map[string]bool }

// Add takes a value and the parts of it that are secrets of their own: its lines, what it holds of
// URLs and named values, the credentials after an authentication scheme.
func (s *Set) Add(value string) {
	value = strings.TrimSpace(value)
	if value == "" || s.values[value] {
		return
	}
	if s.values == nil {
		s.values = map[string]bool{}
	}
	s.values[value] = true
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			s.Add(line)
		}
	}
	s.AddText(value)
	if scheme := authScheme.FindString(value); scheme != "" {
		s.addCredentials(value[len(scheme):])
	}
}

// AddText takes the secret parts of a text, which as a whole is none: of URLs and after telling names.
func (s *Set) AddText(text string) { s.addSpans(text, textSpans(text)) }

// AddArguments takes the secret parts of the arguments of a command line.
func (s *Set) AddArguments(args []string) {
	for i, spans := range argumentSpans(args) {
		s.addSpans(args[i], spans)
	}
}

// AddAll takes the values of another set.
func (s *Set) AddAll(o *Set) {
	for value := range o.values {
		s.Add(value)
	}
}

// Redactor returns the redactor of the values gathered so far.
func (s *Set) Redactor() *Redactor {
	return NewRedactor(slices.Collect(maps.Keys(s.values))...)
}

func (s *Set) addSpans(text string, spans []span) {
	for _, sp := range spans {
		s.addPart(text[sp.from:sp.to])
	}
}

// addPart takes a value as it stands in a text, where it may be URL-encoded.
func (s *Set) addPart(part string) {
	s.Add(part)
	for _, decode := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
		if plain, err := decode(part); err == nil {
			s.Add(plain)
		}
	}
}

// addCredentials takes what follows an authentication scheme; of Basic also what it encodes.
func (s *Set) addCredentials(encoded string) {
	s.Add(encoded)
	plain, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return
	}
	s.Add(string(plain))
	if user, password, found := strings.Cut(string(plain), ":"); found {
		s.Add(user)
		s.Add(password)
	}
}
