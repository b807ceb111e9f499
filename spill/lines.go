package spill

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sort"
)

const (
	blockSize = 64 << 10 // bytes between two marks of a line index, and read at a time
	lineHead  = 4 << 10  // bytes kept of a line that is shown clipped anyway
)

// lineIndex knows how many lines begin before every block of a text, which is enough to find any line by
// reading one block. It is filled by writing the text to it.
type lineIndex struct {
	Marks   []int64 // Marks[i]: line feeds before byte i*blockSize
	Size    int64
	Feeds   int64
	Longest int64 // bytes of the longest line, without its feed
	Tail    int64 // bytes behind the last feed
}

func (x *lineIndex) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if x.Size%blockSize == 0 {
			x.Marks = append(x.Marks, x.Feeds)
		}
		block := p[:min(int64(len(p)), blockSize-x.Size%blockSize)]
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

// lines is the number of lines; a last one without a feed counts.
func (x *lineIndex) lines() int {
	if x.Tail > 0 {
		return int(x.Feeds) + 1
	}
	return int(x.Feeds)
}

// indexOf reads a whole text, block by block, for its index.
func indexOf(ctx context.Context, r io.ReaderAt, size int64) (*lineIndex, error) {
	x := &lineIndex{}
	buf := make([]byte, 4*blockSize)
	for at := int64(0); at < size; at += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(int64(len(buf)), size-at)
		if err := readAt(r, buf[:n], at); err != nil {
			return nil, err
		}
		_, _ = x.Write(buf[:n]) // an index takes all
	}
	return x, nil
}

// start returns the offset at which a line (from 1) begins; the size for the line behind the last.
func (x *lineIndex) start(r io.ReaderAt, line int) (int64, error) {
	before := int64(line - 1) // feeds before the line
	if before <= 0 {
		return 0, nil
	}
	if before > x.Feeds {
		return x.Size, nil
	}
	block := sort.Search(len(x.Marks), func(i int) bool { return x.Marks[i] >= before }) - 1
	at := int64(block) * blockSize
	buf := make([]byte, min(blockSize, x.Size-at))
	if err := readAt(r, buf, at); err != nil {
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

// textLine is a line, as far as it is needed.
type textLine struct {
	number int
	at     int64  // where it begins
	head   []byte // its first bytes, at most lineHead
	size   int64  // all its bytes, without the feed
}

// lineReader reads lines one after the other. Of a long line it reads the head and jumps to the next one.
type lineReader struct {
	r    io.ReaderAt
	x    *lineIndex
	next int // number of the next line
	at   int64
	buf  []byte // bytes read ahead, from at on
}

func newLineReader(r io.ReaderAt, x *lineIndex, line int) (*lineReader, error) {
	at, err := x.start(r, line)
	return &lineReader{r: r, x: x, next: line, at: at}, err
}

// read returns the next line, io.EOF behind the last. Its head is good until the next call.
func (l *lineReader) read() (textLine, error) {
	if l.at >= l.x.Size {
		return textLine{}, io.EOF
	}
	end := bytes.IndexByte(l.buf, '\n')
	if end < 0 && int64(len(l.buf)) < l.x.Size-l.at {
		l.buf = make([]byte, min(blockSize, l.x.Size-l.at))
		if err := readAt(l.r, l.buf, l.at); err != nil {
			return textLine{}, err
		}
		end = bytes.IndexByte(l.buf, '\n')
	}
	line := textLine{number: l.next, at: l.at}
	l.next++
	if end >= 0 {
		line.head, line.size = l.buf[:min(end, lineHead)], int64(end)
		l.at, l.buf = l.at+int64(end)+1, l.buf[end+1:]
		return line, nil
	}
	line.head = l.buf[:min(len(l.buf), lineHead)]
	start, err := l.x.start(l.r, l.next)
	if err != nil {
		return textLine{}, err
	}
	line.size = start - line.at - 1
	if int64(line.number) > l.x.Feeds { // the last one, without a feed
		line.size = start - line.at
	}
	l.at, l.buf = start, nil
	return line, nil
}

// readAt fills buf.
func readAt(r io.ReaderAt, buf []byte, at int64) error {
	n, err := r.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read at %d: %w", at, err)
}
