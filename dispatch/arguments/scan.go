package arguments

import (
	"bytes"
	"encoding/json"
)

// The functions of this file walk JSON that json.Valid has accepted; on anything else they may
// panic. They give positions, so that a change can be spliced in and the rest stays as written.

// span is one value inside a raw text: the member of an object, or the element of a list (key
// empty, keyStart equal to start).
type span struct {
	key        string
	keyStart   int
	start, end int
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the position after the string that starts at i.
func skipString(b []byte, i int) int {
	for i++; ; {
		j := bytes.IndexByte(b[i:], '"')
		escapes := 0
		for k := i + j - 1; k >= i && b[k] == '\\'; k-- {
			escapes++
		}
		i += j + 1
		if escapes%2 == 0 {
			return i
		}
	}
}

// skip returns the position after the value that starts at i.
func skip(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			i++
			continue
		default:
			for i < len(b) && !bytes.ContainsRune([]byte(",]} \n\t\r"), rune(b[i])) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// members returns the members of the object that starts at i, with positions in b.
func members(b []byte, i int) []span {
	var out []span
	for i = skipSpace(b, i+1); b[i] != '}'; i = next(b, i) {
		m := span{keyStart: i}
		i = skipString(b, i)
		m.key = unquote(b[m.keyStart:i])
		i = skipSpace(b, i) + 1 // the colon
		m.start = skipSpace(b, i)
		m.end = skip(b, m.start)
		i = m.end
		out = append(out, m)
	}
	return out
}

// elements returns the elements of the list that starts at i, with positions in b.
func elements(b []byte, i int) []span {
	var out []span
	for i = skipSpace(b, i+1); b[i] != ']'; i = next(b, i) {
		end := skip(b, i)
		out = append(out, span{keyStart: i, start: i, end: end})
		i = end
	}
	return out
}

// next moves from the end of one value past a comma to what follows.
func next(b []byte, i int) int {
	i = skipSpace(b, i)
	if b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	return i
}

// unquote decodes a valid JSON string.
func unquote(b []byte) string {
	inner := b[1 : len(b)-1]
	if bytes.IndexByte(inner, '\\') < 0 && isASCII(inner) {
		return string(inner)
	}
	var s string
	_ = json.Unmarshal(b, &s) // cannot fail: the text is valid JSON
	return s
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// edit replaces b[start:end] by text.
type edit struct {
	start, end int
	text       []byte
}

// splice applies edits, which stand in order and do not overlap. Without any it returns b itself.
func splice(b []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return b
	}
	size := len(b)
	for _, e := range edits {
		size += len(e.text) - (e.end - e.start)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, e := range edits {
		out = append(append(out, b[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, b[at:]...)
}
