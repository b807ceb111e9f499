// Package framing finds where messages on a stream begin and end.
package framing

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Framing is how messages are told apart.
type Framing string

// The framings. Detect, the zero value, decides by the first line that is not blank.
const (
	Detect  Framing = ""
	Newline Framing = "newline"
	Length  Framing = "content-length"
)

// Why a message can't be read. Reading can go on after both.
var (
	// ErrTooLong is a message beyond the limit, of which only the beginning was kept.
	ErrTooLong = errors.New("message is longer than the limit")
	// ErrHeader is a header that does not say how long its message is.
	ErrHeader = errors.New("the header has no valid Content-Length")
)

// head is how much of a message that is too long is kept, and the longest line of a header.
const head = 4096

// Reader reads messages. It is used by one goroutine.
type Reader struct {
	in      *bufio.Reader
	max     int64
	framing Framing
}

// NewReader reads messages of at most max bytes from in.
func NewReader(in io.Reader, max int64, f Framing) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 64<<10), max: max, framing: f}
}

// Framing is what the messages so far came in; Newline while that is not known.
func (r *Reader) Framing() Framing {
	if r.framing == Detect {
		return Newline
	}
	return r.framing
}

// Next returns the next message in memory of its own, with Newline without its newline. A last line without newline
// counts. Beside ErrTooLong it returns the beginning; io.EOF ends.
func (r *Reader) Next() ([]byte, error) {
	if r.framing == Length {
		return r.framed("")
	}
	line, err := r.line(r.max)
	if err != nil || r.framing == Newline || len(bytes.TrimSpace(line)) == 0 {
		return line, err
	}
	if r.framing = Newline; !isHeader(line) {
		return line, nil
	}
	r.framing = Length
	return r.framed(string(line))
}

func isHeader(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte{':'})
	return ok && (bytes.EqualFold(name, []byte("Content-Length")) || bytes.EqualFold(name, []byte("Content-Type")))
}

// framed reads a header, of which the first line may have been read, and its message.
func (r *Reader) framed(first string) ([]byte, error) {
	length := int64(-1)
	for line, lines := first, 0; ; lines++ {
		if line != "" || lines > 0 {
			name, value, _ := strings.Cut(line, ":")
			if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
				if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 62); err == nil {
					length = int64(n)
				}
			}
		}
		next, err := r.line(head)
		if err != nil && !errors.Is(err, ErrTooLong) {
			return nil, err
		}
		if line = strings.TrimSpace(string(next)); line != "" {
			continue
		}
		switch {
		case lines == 0 && first == "": // blank lines before a header
			lines--
		case length < 0:
			return nil, ErrHeader
		default:
			return r.body(length)
		}
	}
}

func (r *Reader) body(length int64) ([]byte, error) {
	if length > r.max {
		beginning := make([]byte, min(length, head))
		n, err := io.ReadFull(r.in, beginning)
		if err == nil {
			_, err = io.CopyN(io.Discard, r.in, length-int64(n))
		}
		if err != nil {
			return nil, io.EOF
		}
		return beginning, ErrTooLong
	}
	var body bytes.Buffer // grows with what comes, whatever the header promised
	if n, err := io.CopyN(&body, r.in, length); err != nil || n < length {
		return nil, io.EOF
	}
	return body.Bytes(), nil
}

// line reads to the next newline.
func (r *Reader) line(max int64) ([]byte, error) {
	var line []byte
	for {
		chunk, err := r.in.ReadSlice('\n')
		if over := int64(len(line)+len(chunk)) > max+1; over {
			beginning := append(line, chunk[:min(len(chunk), head)]...)
			return beginning[:min(len(beginning), head)], r.skip(err)
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
func (r *Reader) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.in.ReadSlice('\n')
	}
	return ErrTooLong
}

// Around returns what stands before and after a message of size bytes.
func (f Framing) Around(size int) (before, after []byte) {
	if f == Length {
		return fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", size), nil
	}
	return nil, []byte{'\n'}
}
