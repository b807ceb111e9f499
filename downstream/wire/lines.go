package wire

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
)

const (
	firstBuffer = 64 << 10
	keptBuffer  = 64 << 10 // a larger one goes when it is not needed
	largeBuffer = 4 << 20
	keptEnds    = 4 << 10 // of a line that is too long
)

// Lines cuts a stream into lines of at most max bytes. A long line is gathered in the buffers it was read
// into and copied once, when its length is known.
type Lines struct {
	r        io.Reader
	max      int64
	first    int
	hasty    bool
	buf      []byte
	from, to int // unread bytes of buf
}

// tooLong is a line that was skipped: how long it was and its two ends.
type tooLong struct {
	size       int64
	head, tail []byte
}

// NewLines makes a reader of lines of at most max bytes that begins with a buffer of the given size.
func NewLines(r io.Reader, max int64, buffer int) *Lines {
	return &Lines{r: r, max: max, first: buffer, buf: make([]byte, buffer)}
}

// GiveUp makes a line that is too long the last: its end is not waited for.
func (l *Lines) GiveUp() { l.hasty = true }

// Next gives the next line without its break, in memory of its own. The last line needs no break; after it comes the
// reader's error. A line that is too long is skipped; its error is ErrTooLarge, and the next one can be read.
func (l *Lines) Next() ([]byte, error) {
	line, over, err := l.next()
	if over != nil {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, over.size, l.max)
	}
	return line, err
}

// next is Next that tells of a line that is too long. Exactly one of the three is set, but an empty line is an empty slice.
func (l *Lines) next() ([]byte, *tooLong, error) {
	var parts [][]byte
	var size int64
	for {
		if n := bytes.IndexByte(l.buf[l.from:l.to], '\n'); n >= 0 {
			last := l.buf[l.from : l.from+n]
			size += int64(n)
			if size > l.max {
				return nil, l.skipped(parts, size, last, n+1), nil
			}
			line := join(parts, last, size)
			l.consume(n + 1)
			return line, nil, nil
		}
		if size+int64(l.to-l.from) > l.max {
			return l.skip(parts, size)
		}
		if l.from > 0 || l.to == len(l.buf) {
			parts, size = l.setAside(parts, size)
		}
		n, err := l.r.Read(l.buf[l.to:])
		l.to += n
		if err != nil && n == 0 {
			if rest := l.buf[l.from:l.to]; size > 0 || len(rest) > 0 {
				line := join(parts, rest, size+int64(len(rest)))
				l.from, l.to = 0, 0
				return line, nil, nil
			}
			return nil, nil, err
		}
	}
}

// setAside makes room: a little is moved to the front, a full buffer becomes a part and a larger one follows.
func (l *Lines) setAside(parts [][]byte, size int64) ([][]byte, int64) {
	rest := l.buf[l.from:l.to]
	if len(rest) <= len(l.buf)/2 {
		copy(l.buf, rest)
		l.from, l.to = 0, len(rest)
		return parts, size
	}
	parts = append(parts, rest)
	l.buf = make([]byte, min(largeBuffer, 2*len(l.buf)))
	l.from, l.to = 0, 0
	return parts, size + int64(len(rest))
}

// consume moves on by n bytes and goes back to a small buffer when that holds the rest.
func (l *Lines) consume(n int) {
	l.from += n
	if rest := l.buf[l.from:l.to]; len(l.buf) > max(l.first, keptBuffer) && len(rest) <= l.first/2 {
		l.buf = append(make([]byte, 0, l.first), rest...)[:l.first]
		l.from, l.to = 0, len(rest)
	}
}

// skip reads on to the end of a line that is too long and keeps its ends only.
func (l *Lines) skip(parts [][]byte, size int64) ([]byte, *tooLong, error) {
	head := ends(parts, l.buf[l.from:l.to])
	var tail []byte
	for !l.hasty {
		rest := l.buf[l.from:l.to]
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			over := &tooLong{size + int64(n), head, lastOf(tail, rest[:n])}
			l.consume(n + 1)
			return nil, over, nil
		}
		tail = lastOf(tail, rest)
		size += int64(len(rest))
		n, err := l.r.Read(l.buf)
		l.from, l.to = 0, n
		if err != nil && n == 0 {
			return nil, &tooLong{size, head, tail}, nil
		}
	}
	return nil, &tooLong{size + int64(l.to-l.from), head, nil}, nil
}

// skipped is the same for a line whose end is in the buffer already.
func (l *Lines) skipped(parts [][]byte, size int64, last []byte, n int) *tooLong {
	over := &tooLong{size, ends(parts, last), bytes.Clone(last[max(0, len(last)-keptEnds):])}
	l.consume(n)
	return over
}

// ends gives the first bytes of a line.
func ends(parts [][]byte, last []byte) []byte {
	if len(parts) > 0 {
		last = parts[0]
	}
	return bytes.Clone(last[:min(len(last), keptEnds)])
}

func lastOf(tail, more []byte) []byte {
	tail = append(tail, more[max(0, len(more)-keptEnds):]...)
	return bytes.Clone(tail[max(0, len(tail)-keptEnds):])
}

func join(parts [][]byte, last []byte, size int64) []byte {
	line := make([]byte, 0, size)
	for _, part := range parts {
		line = append(line, part...)
	}
	return append(line, last...)
}

var (
	idAtHead = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,18})"?\s*,`)
	idAtTail = regexp.MustCompile(`,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,18})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// id finds whose answer the line was: every known library writes the id before or after the result, and what
// stands directly before the last brace belongs to the message itself.
func (t *tooLong) id() (int64, bool) {
	for _, found := range [][][]byte{idAtHead.FindSubmatch(t.head), idAtTail.FindSubmatch(t.tail)} {
		if found != nil {
			return number(found[1])
		}
	}
	return 0, false
}
