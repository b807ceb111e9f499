package serve

import (
	"bufio"
	"errors"
	"io"
)

// errTooLong is returned for a line beyond the limit, of which only the beginning was kept.
var errTooLong = errors.New("message is longer than the limit")

// lines reads messages framed by newlines. It is used by one goroutine.
type lines struct {
	in  *bufio.Reader
	max int64
}

func newLines(in io.Reader, max int64) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), max: max}
}

// next returns the next line without its newline, in memory of its own. A last line without newline
// counts. After errTooLong the line is skipped and reading can go on; io.EOF ends.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		chunk, err := l.in.ReadSlice('\n')
		if over := int64(len(line)+len(chunk)) > l.max+1; over {
			head := append(line, chunk[:min(len(chunk), 4096)]...)
			return head[:min(len(head), 4096)], l.skip(err)
		}
		line = append(line, chunk...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > 0:
			return line, nil // what ended the input shows again at the next call
		default:
			return nil, err
		}
	}
}

// skip reads to the end of a line whose last read ended with err.
func (l *lines) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.in.ReadSlice('\n')
	}
	return errTooLong
}
