package wire

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func framesOf(r io.Reader, max int64) []string {
	f := newFrames(r, max)
	var got []string
	for {
		message, over, err := f.next()
		switch {
		case err != nil:
			return append(got, err.Error())
		case over != nil:
			id, ok := over.id()
			got = append(got, fmt.Sprintf("too long: %d, id %d %v", over.size, id, ok))
		default:
			got = append(got, string(message))
		}
	}
}

func frame(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

func TestFrames(t *testing.T) {
	long := strings.Repeat("x\n", 3*firstBuffer)
	tests := []struct {
		name, in string
		max      int64
		want     []string
	}{
		{"nothing", "", 10, []string{"EOF"}},
		{"frames", frame("a") + frame("") + frame("b\r\n\r\nc"), 10, []string{"a", "", "b\r\n\r\nc", "EOF"}},
		{"any case, any order, line feeds", "content-type: x; charset=utf-8\ncontent-LENGTH:2\n\nab", 10, []string{"ab", "EOF"}},
		{"breaks between frames", frame("a") + "\r\n\n" + frame("b"), 10, []string{"a", "b", "EOF"}},
		{"lines instead", `{"a":1}` + "\n" + frame("b") + `[1]` + "\n", 10, []string{`{"a":1}`, "b", "[1]", "EOF"}},
		{"long", frame(long) + frame("b"), 1 << 20, []string{long, "b", "EOF"}},
		{"too long", frame(`{"id":7,"result":"`+long+`"}`) + frame("b"), 1000, []string{fmt.Sprintf("too long: %d, id 7 true", len(long)+20), "b", "EOF"}},
		{"too long at the end", "Content-Length: 50\r\n\r\nx", 10, []string{"too long: 50, id 0 false", "EOF"}},
		{"half a frame", "Content-Length: 5\r\n\r\nabc", 10, []string{"unexpected EOF"}},
		{"bad length", "Content-Length: x\r\n\r\n" + frame("b"), 30, []string{"Content-Length: x", "b", "EOF"}},
		{"negative length", "Content-Length: -1\r\n\r\n" + frame("b"), 30, []string{"Content-Length: -1", "b", "EOF"}},
		{"words", "starting: now\nready\n" + frame("b"), 30, []string{"starting: now", "ready", "b", "EOF"}},
		{"endless header", strings.Repeat("y", 100) + "\n" + frame("b"), 30, []string{"too long: 100, id 0 false", "b", "EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.HalfReader(strings.NewReader(tt.in)), iotest.OneByteReader(strings.NewReader(tt.in)), iotest.DataErrReader(strings.NewReader(tt.in))} {
				if d := cmp.Diff(tt.want, framesOf(r, tt.max)); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// Whatever stands between frames, a frame that follows a line break is read; however the bytes arrive, the outcome is the same.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{"", "\r\n", "Content-Length: 3\r\n\r\nabc", "Content-Length: 99999999999999999999\r\n\r\n", "content-length:0\n\n{}\n", "Content-Type: x\nContent-Length: 1\n\n1", ":\n", "{"} {
		f.Add([]byte(seed), 100)
	}
	f.Fuzz(func(t *testing.T, data []byte, max int) {
		if max < 0 || max > 1<<20 {
			return
		}
		whole := framesOf(bytes.NewReader(data), int64(max))
		parts := framesOf(iotest.OneByteReader(bytes.NewReader(data)), int64(max))
		if d := cmp.Diff(whole, parts); d != "" {
			t.Errorf("read byte by byte: %s", d)
		}
		for _, message := range whole[:len(whole)-1] {
			if len(message) > max && !strings.HasPrefix(message, "too long: ") {
				t.Errorf("got %d bytes, the limit is %d", len(message), max)
			}
		}
	})
}
