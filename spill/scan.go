package spill

import (
	"bytes"
	"iter"
)

// A small JSON scanner over bytes that lie in memory. It only finds where values begin and end, so that
// they are carried on exactly as sent. All of it is iterative: nesting costs no stack.

// maxDepth is the nesting up to which a text passes for JSON.
const maxDepth = 10000

// span is a stretch of bytes, [from, to).
type span struct{ from, to int }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }
func (s span) empty() bool        { return s.to <= s.from }

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skipString returns the offset behind the string that begins at i, in valid JSON.
func skipString(b []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		back := i
		for b[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the offset behind the value that begins at i, in valid JSON.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// members walks over the object or array that begins at i, in valid JSON: the spans of key (with its
// quotes; empty in an array) and value.
func members(b []byte, i int) iter.Seq2[span, span] {
	return func(yield func(key, value span) bool) {
		object := b[i] == '{'
		i := skipSpace(b, i+1)
		for i < len(b) && b[i] != '}' && b[i] != ']' {
			var key span
			if object {
				key = span{i, skipString(b, i)}
				i = skipSpace(b, skipSpace(b, key.to)+1) // behind the colon
			}
			value := span{i, skipValue(b, i)}
			if !yield(key, value) {
				return
			}
			i = skipSpace(b, value.to)
			if i < len(b) && b[i] == ',' {
				i = skipSpace(b, i+1)
			}
		}
	}
}

// isJSON tells whether b is one JSON value, nested no deeper than maxDepth.
func isJSON(b []byte) bool {
	var stack []byte // the closing brackets that are due
	i, ok := 0, false
	for {
		i = skipSpace(b, i)
		if i >= len(b) {
			return false
		}
		switch c := b[i]; c {
		case '{', '[':
			if len(stack) == maxDepth {
				return false
			}
			stack = append(stack, c+2)
			i = skipSpace(b, i+1)
			if i < len(b) && b[i] == c+2 {
				break // an empty one: closed below
			}
			if c == '{' {
				if i, ok = scanKey(b, i); !ok {
					return false
				}
			}
			continue
		default:
			if i, ok = scanScalar(b, i); !ok {
				return false
			}
		}
		if i, stack, ok = scanEnd(b, i, stack); !ok || i < 0 {
			return ok
		}
	}
}

// scanEnd goes on behind a value: over the brackets that close and the comma, up to the next value. At
// the end of the text it returns -1.
func scanEnd(b []byte, i int, stack []byte) (int, []byte, bool) {
	for {
		i = skipSpace(b, i)
		if len(stack) == 0 {
			return -1, stack, i == len(b)
		}
		due := stack[len(stack)-1]
		switch {
		case i >= len(b):
			return i, stack, false
		case b[i] == due:
			stack = stack[:len(stack)-1]
			i++
		case b[i] == ',':
			if due == ']' {
				return i + 1, stack, true
			}
			i, ok := scanKey(b, skipSpace(b, i+1))
			return i, stack, ok
		default:
			return i, stack, false
		}
	}
}

func scanKey(b []byte, i int) (int, bool) {
	i, ok := scanString(b, i)
	if !ok {
		return i, false
	}
	i = skipSpace(b, i)
	return i + 1, i < len(b) && b[i] == ':'
}

func scanScalar(b []byte, i int) (int, bool) {
	switch b[i] {
	case '"':
		return scanString(b, i)
	case 't':
		return i + 4, bytes.HasPrefix(b[i:], []byte("true"))
	case 'f':
		return i + 5, bytes.HasPrefix(b[i:], []byte("false"))
	case 'n':
		return i + 4, bytes.HasPrefix(b[i:], []byte("null"))
	}
	return scanNumber(b, i)
}

func scanNumber(b []byte, i int) (int, bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	i = digits(b, i)
	if i == first || b[first] == '0' && i > first+1 {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		first = i + 1
		if i = digits(b, first); i == first {
			return i, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		first = i
		if i = digits(b, first); i == first {
			return i, false
		}
	}
	return i, true
}

func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

func scanString(b []byte, i int) (int, bool) {
	if i >= len(b) || b[i] != '"' {
		return i, false
	}
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c < 0x20:
			return i, false
		case c == '\\':
			if i++; i >= len(b) {
				return i, false
			}
			if b[i] == 'u' {
				if i+4 >= len(b) || hex4(b[i+1:i+5]) < 0 {
					return i, false
				}
				i += 4
			} else if bytes.IndexByte([]byte(`"\/bfnrt`), b[i]) < 0 {
				return i, false
			}
		}
	}
	return i, false
}

// hex4 reads four hexadecimal digits, -1 if they are none.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
