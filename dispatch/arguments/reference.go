package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Reference is a `{"$from": …}` object: it stands for data kept outside the conversation.
type Reference struct {
	From []string // handles, or ids of a batch; one, unless written as a list
	Path string   // narrows the data; as JQ it is for the Lookup to apply
	JQ   string
	As   string          // the wanted form: "", json, text, csv, toon, base64, dataUri, path
	Raw  json.RawMessage // the object as written
}

var (
	// ErrNoReference is what a Lookup returns when a name is no handle, batch id or item at all:
	// the object then stays in the arguments as it was written.
	ErrNoReference = errors.New("not a reference")
	// ErrBadReference is returned for a reference whose path, jq or as cannot be meant.
	ErrBadReference = errors.New("bad reference")
)

const (
	fromKey    = "$from"
	literalKey = "$literal"
	maxName    = 1024 // bytes of a handle, path or id
)

var (
	referenceKeys = []string{fromKey, "path", "jq", "as"}
	forms         = []string{"json", "text", "csv", "toon", "base64", "dataUri", "path"}
)

// References returns the references in args in the order they stand there, those under `$literal`
// left out. Malformed ones are returned as far as they can be read; Bind refuses them.
func References(args json.RawMessage) []Reference {
	if !rawjson.Valid(args) || !mayRefer(args) {
		return nil
	}
	return references(args, rawjson.Space(args, 0), 0)
}

func references(b []byte, i, depth int) []Reference {
	if depth > maxBindDepth {
		return nil
	}
	var found []Reference
	switch b[i] {
	case '{':
		ms := members(b, i)
		if ref, ok := readReference(b, ms); ok {
			ref.Raw = b[i:rawjson.Skip(b, i)]
			return []Reference{ref}
		}
		if _, ok := readLiteral(b, ms); ok {
			return nil
		}
		for _, m := range ms {
			found = append(found, references(b, m.From, depth+1)...)
		}
	case '[':
		for _, e := range elements(b, i) {
			found = append(found, references(b, e.From, depth+1)...)
		}
	}
	return found
}

// mayRefer tells cheaply that nothing in valid JSON can be a reference or a literal; an escape may
// hide the dollar.
func mayRefer(b []byte) bool {
	return bytes.Contains(b, []byte(`"$`)) || bytes.Contains(b, []byte(`"\u0024`))
}

// isReserved reports whether an object is a reference or a literal.
func isReserved(b []byte, ms []member) bool {
	_, ref := readReference(b, ms)
	_, lit := readLiteral(b, ms)
	return ref || lit
}

// readLiteral returns the reference object that a literal protects.
func readLiteral(b []byte, ms []member) (member, bool) {
	if len(ms) != 1 || ms[0].key != literalKey || b[ms[0].From] != '{' {
		return member{}, false
	}
	_, ok := readReference(b, members(b, ms[0].From))
	return ms[0], ok
}

// readReference reads an object that counts as a reference: its keys are among the four and $from
// looks like a name or a list of names.
func readReference(b []byte, ms []member) (Reference, bool) {
	if len(ms) == 0 || len(ms) > len(referenceKeys) {
		return Reference{}, false
	}
	var seen []string
	var ref Reference
	for _, m := range ms {
		if !slices.Contains(referenceKeys, m.key) || slices.Contains(seen, m.key) {
			return Reference{}, false
		}
		seen = append(seen, m.key)
		raw := m.Of(b)
		var s string
		if raw[0] == '"' {
			s = rawjson.Unquote(raw)
		}
		switch m.key {
		case fromKey:
			ref.From = readNames(b, m.Span)
		case "path":
			ref.Path = s
		case "jq":
			ref.JQ = s
		case "as":
			ref.As = s
		}
	}
	return ref, len(ref.From) > 0
}

// readNames reads the value of $from; nil if it is neither a name nor a list of them.
func readNames(b []byte, at rawjson.Span) []string {
	all := []rawjson.Span{at}
	if b[at.From] == '[' {
		all = elements(b, at.From)
	}
	var names []string
	for _, e := range all {
		if b[e.From] != '"' {
			return nil
		}
		name := rawjson.Unquote(e.Of(b))
		if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r)
		}) {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// checkReference refuses a reference that says something it cannot mean; null counts as absent.
func checkReference(b []byte, ms []member, ref Reference) error {
	for _, m := range ms {
		if m.key != fromKey && b[m.From] != '"' && b[m.From] != 'n' {
			return fmt.Errorf("%w: %s is no string", ErrBadReference, m.key)
		}
	}
	if ref.As != "" && !slices.Contains(forms, ref.As) {
		return fmt.Errorf("%w: as %q, want one of %s", ErrBadReference, clip(ref.As, maxNote), strings.Join(forms, ", "))
	}
	return nil
}
