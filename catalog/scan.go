package catalog

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"
)

// The functions of this file walk JSON without copying it: what they yield are parts of the bytes they were given, so
// an entry costs no memory beside the page it came in. They expect one valid JSON value: callers ask json.Valid first,
// which also refuses nesting beyond 10,000. On anything else they end early and never read outside the bytes.

// members yields the members of a JSON object in their order: the key (decoded) and the value as written.
// A value that is no object has none.
func members(raw []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		i := space(raw, 0)
		if i >= len(raw) || raw[i] != '{' {
			return
		}
		for i = space(raw, i+1); i < len(raw) && raw[i] == '"'; {
			end := value(raw, i)
			key := raw[i:end]
			i = space(raw, end)
			if i >= len(raw) || raw[i] != ':' {
				return
			}
			i = space(raw, i+1)
			end = value(raw, i)
			if !yield(unquote(key), raw[i:end:end]) {
				return
			}
			i = space(raw, end)
			if i >= len(raw) || raw[i] != ',' {
				return
			}
			i = space(raw, i+1)
		}
	}
}

// elements yields the elements of a JSON array as written. A value that is no array has none.
func elements(raw []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		i := space(raw, 0)
		if i >= len(raw) || raw[i] != '[' {
			return
		}
		for i = space(raw, i+1); i < len(raw) && raw[i] != ']'; {
			end := value(raw, i)
			if end == i || !yield(raw[i:end:end]) {
				return
			}
			i = space(raw, end)
			if i >= len(raw) || raw[i] != ',' {
				return
			}
			i = space(raw, i+1)
		}
	}
}

// space returns the index of the first byte at or after i that is no JSON white space.
func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// value returns the index after the value that begins at i.
func value(raw []byte, i int) int {
	if i >= len(raw) {
		return len(raw)
	}
	switch raw[i] {
	case '"':
		return text(raw, i)
	case '{', '[':
		return nested(raw, i)
	}
	for i < len(raw) && strings.IndexByte(",]}: \n\t\r", raw[i]) < 0 {
		i++
	}
	return i
}

// text returns the index after the string whose opening quote is at i.
func text(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// nested returns the index after the object or array that opens at i. It counts instead of recursing: the depth comes
// from outside.
func nested(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = text(raw, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(raw)
}

// unquote decodes a JSON string; "" when raw is none. The result never shares memory with raw.
func unquote(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// quote renders s as a JSON string that shows every character: invisible ones are written as \u escapes, so that a
// name stays exact and nothing hides in it.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""`
	}
	return string(Visible([]byte(strings.TrimSuffix(b.String(), "\n"))))
}
