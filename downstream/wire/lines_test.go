package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func linesOf(r io.Reader, max int64) []string {
	l := NewLines(r, max, firstBuffer)
	var got []string
	for {
		line, over, err := l.next()
		switch {
		case err != nil:
			return append(got, err.Error())
		case over != nil:
			id, ok := over.id()
			got = append(got, fmt.Sprintf("too long: %d, id %d %v", over.size, id, ok))
		default:
			got = append(got, string(line))
		}
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 3*firstBuffer)
	answer := func(before, after string) string {
		return before + `"result":{"id":99,"t":"` + strings.Repeat("y", 200_000) + `"}` + after
	}
	tests := []struct {
		name, in string
		max      int64
		want     []string
	}{
		{"nothing", "", 10, []string{"EOF"}},
		{"lines", "a\n\nbc\n", 10, []string{"a", "", "bc", "EOF"}},
		{"half a line", "a\nbc", 10, []string{"a", "bc", "EOF"}},
		{"long and short", long + "\nb\n" + long + "\n", 1 << 20, []string{long, "b", long, "EOF"}},
		{"just fits", "0123456789\n", 10, []string{"0123456789", "EOF"}},
		{"just too long", "0123456789a\nb\n", 10, []string{"too long: 11, id 0 false", "b", "EOF"}},
		{"too long at the end", "0123456789a", 10, []string{"too long: 11, id 0 false", "EOF"}},
		{"id first", answer(`{"jsonrpc":"2.0","id":7,`, "}") + "\nb\n", 100_000, []string{"too long: 200050, id 7 true", "b", "EOF"}},
		{"id last", answer(`{`, `,"jsonrpc":"2.0","id":8}`) + "\n", 100_000, []string{"too long: 200050, id 8 true", "EOF"}},
		{"id inside only", answer(`{`, "}") + "\n", 100_000, []string{"too long: 200027, id 0 false", "EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.HalfReader(strings.NewReader(tt.in)), iotest.DataErrReader(strings.NewReader(tt.in))} {
				if d := cmp.Diff(tt.want, linesOf(r, tt.max)); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// However the bytes arrive, the lines are those of a plain split.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), 3)
	f.Add(bytes.Repeat([]byte("0123456789"), 20_000), 70_000)
	f.Fuzz(func(t *testing.T, data []byte, max int) {
		if max < 0 {
			return
		}
		l := NewLines(iotest.HalfReader(bytes.NewReader(data)), int64(max), firstBuffer)
		want := bytes.Split(data, []byte("\n"))
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		for i := 0; ; i++ {
			line, over, err := l.next()
			if err != nil {
				if !errors.Is(err, io.EOF) || i != len(want) {
					t.Fatalf("ended with %v after %d of %d lines", err, i, len(want))
				}
				return
			}
			if over != nil {
				if over.size != int64(len(want[i])) || len(want[i]) <= max {
					t.Fatalf("line %d of %d bytes was refused as %d", i, len(want[i]), over.size)
				}
			} else if !bytes.Equal(line, want[i]) {
				t.Fatalf("line %d: got %q, want %q", i, line, want[i])
			}
		}
	})
}
