// Package layout writes JSON line by line, changing only the white space between tokens, and takes that back.
package layout

import (
	"bytes"
	"io"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// A payload is laid out so that tools that see lines see something: only white space between tokens is
// changed, so the result is the same JSON, and taking the white space out gives the compact form back.
const (
	lineWidth   = 120      // an object or list up to this many bytes stays on one line
	recordWidth = 32 << 10 // so does one that is an element of a list, up to this size
	maxIndent   = 16       // below this depth nothing is broken into lines
)

// Write writes b, valid JSON, line by line to w and ends with a line feed. compact says that b had no
// white space of its own.
func Write(w io.Writer, b []byte) (compact bool, err error) {
	l := &layouter{w: w, b: b}
	start := rawjson.Space(b, 0)
	l.top(start)
	l.text("\n")
	return l.kept == len(b), l.err
}

type layouter struct {
	w    io.Writer
	b    []byte
	kept int // bytes of b written
	err  error
}

// top lays out the whole. A list has a line for each element, unless it is a short one of scalars: its brackets stand on
// the first and the last of them, so that element N is on line N.
func (l *layouter) top(i int) {
	if l.b[i] == '[' {
		next := rawjson.Space(l.b, i+1)
		_, short, _ := measure(l.b, i, lineWidth)
		if l.b[next] != ']' && (!short || hasContainer(l.b, i)) {
			l.list(i)
			return
		}
	}
	l.value(i, 0, lineWidth)
}

// list writes the list at i, which is not empty, without lines of its own for the brackets.
func (l *layouter) list(i int) {
	b := l.b
	l.source(b[i : i+1])
	i = rawjson.Space(b, i+1)
	for l.err == nil {
		i = rawjson.Space(b, l.value(i, 0, recordWidth))
		l.source(b[i : i+1])
		if b[i] == ']' {
			return
		}
		l.text("\n")
		i = rawjson.Space(b, i+1)
	}
}

func hasContainer(b []byte, i int) bool {
	for _, v := range rawjson.Spans(b, i) {
		if c := b[v.From]; c == '{' || c == '[' {
			return true
		}
	}
	return false
}

// value writes the value at i, on one line if its compact form has at most width bytes, and returns
// where it ends.
func (l *layouter) value(i, depth, width int) int {
	if c := l.b[i]; c != '{' && c != '[' {
		end := rawjson.Skip(l.b, i)
		l.source(l.b[i:end])
		return end
	}
	if end, fits, spaced := measure(l.b, i, width); fits && !spaced {
		l.source(l.b[i:end])
		return end
	} else if fits {
		l.compact(l.b[i:end])
		return end
	}
	if depth >= maxIndent {
		end := rawjson.Skip(l.b, i)
		l.compact(l.b[i:end])
		return end
	}
	return l.broken(i, depth)
}

// broken writes the object or list at i with a line for each member.
func (l *layouter) broken(i, depth int) int {
	b, width := l.b, lineWidth
	if b[i] == '[' {
		width = recordWidth
	}
	due := b[i] + 2
	l.source(b[i : i+1])
	i = rawjson.Space(b, i+1)
	for l.err == nil {
		l.newline(depth + 1)
		if due == '}' {
			end := rawjson.Skip(b, i)
			l.source(b[i:end])
			l.source([]byte{':'})
			i = rawjson.Space(b, rawjson.Space(b, end)+1)
		}
		i = rawjson.Space(b, l.value(i, depth+1, width))
		if b[i] == due {
			break
		}
		l.source(b[i : i+1])
		i = rawjson.Space(b, i+1)
	}
	l.newline(depth)
	l.source([]byte{due})
	return i + 1
}

var newlines = "\n" + strings.Repeat("  ", maxIndent+1)

func (l *layouter) newline(depth int) { l.text(newlines[:1+2*depth]) }

func (l *layouter) text(s string) {
	if l.err == nil {
		_, l.err = io.WriteString(l.w, s)
	}
}

// source writes bytes that stand in b.
func (l *layouter) source(p []byte) {
	if l.err == nil {
		_, l.err = l.w.Write(p)
	}
	l.kept += len(p)
}

// compact writes one value without white space.
func (l *layouter) compact(b []byte) {
	from := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = rawjson.Skip(b, i)
		case rawjson.IsSpace(c):
			l.source(b[from:i])
			i = rawjson.Space(b, i)
			from = i
		default:
			i++
		}
	}
	l.source(b[from:])
}

// measure tells whether the value at i has at most limit bytes in its compact form, and then its end. It
// looks no further than it must. spaced says that the value has white space between its tokens.
func measure(b []byte, i, limit int) (end int, fits, spaced bool) {
	size, depth := 0, 0
	for i < len(b) && size <= limit {
		switch c := b[i]; {
		case c == '"':
			next := rawjson.Skip(b[:min(len(b), i+limit+8)], i)
			if next < 0 {
				return 0, false, spaced
			}
			size += next - i
			i = next
			continue
		case c > ' ' && c < '[' || c == '\\' || c > ']' && c < '{':
		case rawjson.IsSpace(c):
			spaced = true
			i++
			continue
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		size++
		i++
		if depth == 0 {
			return i, size <= limit, spaced
		}
	}
	return 0, false, spaced
}

// Stripper writes JSON without the white space between its tokens. Writes may be cut anywhere.
type Stripper struct {
	W       io.Writer // where it goes
	inside  bool      // a string
	escaped bool      // the next byte
	buf     []byte
}

// Write implements io.Writer.
func (s *Stripper) Write(p []byte) (int, error) {
	s.buf = s.buf[:0]
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case s.escaped:
			s.escaped = false
		case s.inside && c == '\\':
			s.escaped = true
		case c == '"':
			s.inside = !s.inside
		case !s.inside && rawjson.IsSpace(c):
			continue
		}
		s.buf = append(s.buf, c)
	}
	_, err := s.W.Write(s.buf)
	return len(p), err
}

// Same tells whether two JSON texts differ in nothing but white space between tokens, and whether the
// first has none of it.
func Same(a, b []byte) (same, compact bool) {
	compact = true
	for i, j := 0, 0; ; {
		if i < len(a) && rawjson.IsSpace(a[i]) {
			compact = false
			i = rawjson.Space(a, i)
		}
		j = rawjson.Space(b, j)
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b), compact
		}
		if a[i] != b[j] {
			return false, compact
		}
		if a[i] != '"' {
			i, j = i+1, j+1
			continue
		}
		next, other := rawjson.Skip(a, i), rawjson.Skip(b, j)
		if !bytes.Equal(a[i:next], b[j:other]) {
			return false, compact
		}
		i, j = next, other
	}
}
