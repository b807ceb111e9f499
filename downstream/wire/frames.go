package wire

import (
	"bytes"
	"io"
	"strconv"
)

// Framing says how messages on a stream are told apart.
type Framing string

// The framings.
const (
	Newline       Framing = ""               // one message a line
	ContentLength Framing = "content-length" // a header with the length before each, as language servers do it
)

const maxHeader = 8 << 10 // bytes of a line of a header

// frames cuts a stream into messages that follow a header with their length. A line that is a message by itself is
// taken as one: some servers answer so whatever they are sent. Everything else outside of a frame is garbage.
type frames struct {
	lines *Lines
	max   int64
}

func newFrames(r io.Reader, limit int64) *frames {
	return &frames{NewLines(r, max(limit, maxHeader), firstBuffer), limit}
}

// next is like that of Lines.
func (f *frames) next() ([]byte, *tooLong, error) {
	size := int64(-1)
	for {
		line, over, err := f.lines.next()
		if err != nil || over != nil {
			return nil, over, err
		}
		line = bytes.TrimRight(line, "\r")
		switch {
		case len(line) == 0 && size < 0:
			continue
		case len(line) == 0:
			return f.lines.exactly(size, f.max)
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		switch {
		case line[0] == '{' || line[0] == '[' || !found || len(line) > maxHeader:
			return f.bare(line)
		case bytes.EqualFold(bytes.TrimSpace(name), []byte("Content-Length")):
			n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil || n < 0 {
				return f.bare(line)
			}
			size = n
		case size < 0 && !bytes.EqualFold(bytes.TrimSpace(name), []byte("Content-Type")):
			return f.bare(line)
		}
	}
}

// bare is a line outside of a frame.
func (f *frames) bare(line []byte) ([]byte, *tooLong, error) {
	if int64(len(line)) > f.max {
		return nil, &tooLong{int64(len(line)), ends(nil, line), lastOf(nil, line)}, nil
	}
	return line, nil, nil
}

// exactly gives the next size bytes, in memory of their own, or what is left of them when the stream ends.
func (l *Lines) exactly(size, max int64) ([]byte, *tooLong, error) {
	if size > max {
		return l.pass(size)
	}
	var parts [][]byte
	for left := size; ; {
		have := l.buf[l.from:l.to]
		if int64(len(have)) >= left {
			message := join(parts, have[:left], size)
			l.consume(int(left))
			return message, nil, nil
		}
		if len(have) == len(l.buf) || l.from > 0 && l.to == len(l.buf) {
			parts = append(parts, bytes.Clone(have))
			left -= int64(len(have))
			l.from, l.to = 0, 0
			if len(l.buf) < largeBuffer && left > int64(len(l.buf)) {
				l.buf = make([]byte, min(largeBuffer, 2*len(l.buf)))
			}
		}
		n, err := l.r.Read(l.buf[l.to:])
		l.to += n
		if err != nil && n == 0 {
			return nil, nil, io.ErrUnexpectedEOF
		}
	}
}

// pass reads past a message that is too long and keeps its ends only.
func (l *Lines) pass(size int64) ([]byte, *tooLong, error) {
	over := &tooLong{size: size}
	for left := size; left > 0; {
		have := l.buf[l.from:l.to]
		have = have[:min(int64(len(have)), left)]
		if missing := keptEnds - len(over.head); missing > 0 {
			over.head = append(over.head, have[:min(missing, len(have))]...)
		}
		over.tail = lastOf(over.tail, have)
		left -= int64(len(have))
		l.from += len(have)
		if left == 0 {
			break
		}
		n, err := l.r.Read(l.buf)
		l.from, l.to = 0, n
		if err != nil && n == 0 {
			return nil, over, nil
		}
	}
	return nil, over, nil
}
