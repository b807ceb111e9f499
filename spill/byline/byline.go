// Package byline finds the lines of a text without reading the whole of it.
package byline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sort"
)

const (
	Block    = 64 << 10 // bytes between two marks of a line index, and read at a time
	HeadSize = 4 << 10  // bytes kept of a line that is shown clipped anyway
)

// Index knows how many lines begin before every block of a text, which is enough to find any line by
// reading one block. It is filled by writing the text to it.
type Index struct {
	Marks   []int64 // Marks[i]: line feeds before byte i*Block
	Size    int64
	Feeds   int64
	Longest int64 // bytes of the longest line, without its feed
	Tail    int64 // bytes behind the last feed
}

// Write implements io.Writer; it takes all.
func (x *Index) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if x.Size%Block == 0 {
			x.Marks = append(x.Marks, x.Feeds)
		}
		block := p[:min(int64(len(p)), Block-x.Size%Block)]
		x.Size += int64(len(block))
		p = p[len(block):]
		for {
			i := bytes.IndexByte(block, '\n')
			if i < 0 {
				break
			}
			x.Feeds++
			x.Longest = max(x.Longest, x.Tail+int64(i))
			x.Tail = 0
			block = block[i+1:]
		}
		x.Tail += int64(len(block))
		x.Longest = max(x.Longest, x.Tail)
	}
	return n, nil
}

// Lines is the number of lines; a last one without a feed counts.
func (x *Index) Lines() int {
	if x.Tail > 0 {
		return int(x.Feeds) + 1
	}
	return int(x.Feeds)
}

// IndexOf reads a whole text, block by block, for its index.
func IndexOf(ctx context.Context, r io.ReaderAt, size int64) (*Index, error) {
	x := &Index{}
	buf := make([]byte, 4*Block)
	for at := int64(0); at < size; at += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(int64(len(buf)), size-at)
		if err := ReadAt(r, buf[:n], at); err != nil {
			return nil, err
		}
		_, _ = x.Write(buf[:n]) // an index takes all
	}
	return x, nil
}

// Start returns the offset at which a line (from 1) begins; the size for the line behind the last.
func (x *Index) Start(r io.ReaderAt, line int) (int64, error) {
	before := int64(line - 1) // feeds before the line
	if before <= 0 {
		return 0, nil
	}
	if before > x.Feeds {
		return x.Size, nil
	}
	block := sort.Search(len(x.Marks), func(i int) bool { return x.Marks[i] >= before }) - 1
	at := int64(block) * Block
	buf := make([]byte, min(Block, x.Size-at))
	if err := ReadAt(r, buf, at); err != nil {
		return 0, err
	}
	rest := buf
	for n := before - x.Marks[block]; n > 0; n-- {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return 0, fmt.Errorf("find line %d: %w", line, io.ErrUnexpectedEOF)
		}
		rest = rest[i+1:]
	}
	return at + int64(len(buf)-len(rest)), nil
}

// Number returns the number of the line that begins at an offset.
func (x *Index) Number(r io.ReaderAt, at int64) (int, error) {
	if len(x.Marks) == 0 || at == 0 {
		return 1, nil
	}
	block := min(at/Block, int64(len(x.Marks)-1))
	buf := make([]byte, at-block*Block)
	if err := ReadAt(r, buf, block*Block); err != nil {
		return 0, err
	}
	return int(x.Marks[block]) + bytes.Count(buf, []byte("\n")) + 1, nil
}

// Line is a line, as far as it is needed.
type Line struct {
	Number int    // from 1
	At     int64  // where it begins
	Head   []byte // its first bytes, at most HeadSize
	Size   int64  // all its bytes, without the feed
}

// Reader reads lines one after the other. Of a long line it reads the head and jumps to the next one.
type Reader struct {
	r    io.ReaderAt
	x    *Index
	next int // number of the next line
	at   int64
	buf  []byte // bytes read ahead, from at on
}

// NewReader returns a Reader whose first line is the given one, from 1.
func NewReader(r io.ReaderAt, x *Index, line int) (*Reader, error) {
	at, err := x.Start(r, line)
	return &Reader{r: r, x: x, next: line, at: at}, err
}

// Read returns the next line, io.EOF behind the last. Its head is good until the next call.
func (l *Reader) Read() (Line, error) {
	if l.at >= l.x.Size {
		return Line{}, io.EOF
	}
	end := bytes.IndexByte(l.buf, '\n')
	if end < 0 && int64(len(l.buf)) < l.x.Size-l.at {
		l.buf = make([]byte, min(Block, l.x.Size-l.at))
		if err := ReadAt(l.r, l.buf, l.at); err != nil {
			return Line{}, err
		}
		end = bytes.IndexByte(l.buf, '\n')
	}
	line := Line{Number: l.next, At: l.at}
	l.next++
	if end >= 0 {
		line.Head, line.Size = l.buf[:min(end, HeadSize)], int64(end)
		l.at, l.buf = l.at+int64(end)+1, l.buf[end+1:]
		return line, nil
	}
	line.Head = l.buf[:min(len(l.buf), HeadSize)]
	start, err := l.x.Start(l.r, l.next)
	if err != nil {
		return Line{}, err
	}
	line.Size = start - line.At - 1
	if int64(line.Number) > l.x.Feeds { // the last one, without a feed
		line.Size = start - line.At
	}
	l.at, l.buf = start, nil
	return line, nil
}

// ReadAt fills buf.
func ReadAt(r io.ReaderAt, buf []byte, at int64) error {
	n, err := r.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read at %d: %w", at, err)
}
