package framing

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNext(t *testing.T) {
	long := strings.Repeat("x", 60)
	cases := []struct {
		name, in string
		framing  Framing
		want     []string // messages, or errors in brackets
	}{
		{"nothing", "", Detect, nil},
		{"lines", "a\nb\n", Detect, []string{"a", "b"}},
		{"last line without newline", "a\r\nb", Newline, []string{"a\r", "b"}},
		{"long line", long + "\nb\n", Detect, []string{"[too long] " + long + "\n", "b"}},
		{"frames", "Content-Length: 1\r\n\r\naContent-Length: 2\r\n\r\nbb", Detect, []string{"a", "bb"}},
		{"frames with types", "content-type: x\r\nCONTENT-LENGTH:3\r\n\r\na\nb", Detect, []string{"a\nb"}},
		{"bare newlines in a header", "Content-Length: 1\n\na", Detect, []string{"a"}},
		{"blank lines before", "\r\n\nContent-Length: 1\r\n\r\na\r\n\r\nContent-Length: 1\r\n\r\nb", Detect, []string{"\r", "", "a", "b"}},
		{"frames as told", "Content-Length: 1\r\n\r\na", Length, []string{"a"}},
		{"a header as a line", "Content-Length: 1\r\n\r\na", Newline, []string{"Content-Length: 1\r", "\r", "a"}},
		{"long frame", "Content-Length: 60\r\n\r\n" + long + "Content-Length: 1\r\n\r\nb", Detect, []string{"[too long] " + long, "b"}},
		{"no length", "Content-Type: a\r\n\r\nContent-Length: 1\r\n\r\nb", Detect, []string{"[header]", "b"}},
		{"bad length", "Content-Length: -1\r\n\r\nContent-Length: 1\r\n\r\nb", Detect, []string{"[header]", "b"}},
		{"huge length", "Content-Length: 99999999999999999999999\r\n\r\nContent-Length: 1\r\n\r\nb", Detect, []string{"[header]", "b"}},
		{"promised too much", "Content-Length: 20\r\n\r\nabc", Detect, nil},
		{"cut header", "Content-Length: 20", Detect, nil},
		{"JSON is no header", `{"Content-Length: 1":2}` + "\n", Newline, []string{`{"Content-Length: 1":2}`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader(strings.NewReader(c.in), 50, c.framing)
			var got []string
			for {
				message, err := r.Next()
				switch {
				case err == nil:
					got = append(got, string(message))
					continue
				case errors.Is(err, ErrTooLong):
					got = append(got, "[too long] "+string(message))
					continue
				case errors.Is(err, ErrHeader):
					got = append(got, "[header]")
					continue
				case !errors.Is(err, io.EOF):
					t.Errorf("got %v, want io.EOF", err)
				}
				break
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// FuzzNext holds that what was framed is found again, after whatever came before it, and that reading ends.
func FuzzNext(f *testing.F) {
	f.Add([]byte("{}\n"), []byte("junk\n"))
	f.Add([]byte("a\nb"), []byte("Content-Length: 3\r\n\r\nabc"))
	f.Add([]byte("{}"), []byte("Content-Type: 3\r\n\r\n"))
	f.Fuzz(func(t *testing.T, message, before []byte) {
		for _, framing := range []Framing{Newline, Length} {
			if framing == Newline && bytes.ContainsAny(message, "\n") {
				continue
			}
			head, tail := framing.Around(len(message))
			r := NewReader(bytes.NewReader(bytes.Join([][]byte{head, message, tail}, nil)), 1<<20, framing)
			if got, err := r.Next(); err != nil || !bytes.Equal(got, message) {
				t.Errorf("%s: got %q, %v, want %q", framing, got, err, message)
			}
		}
		r := NewReader(bytes.NewReader(before), 10, Detect)
		for range len(before) + 2 {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				return
			}
		}
		t.Errorf("reading %q does not end", before)
	})
}
