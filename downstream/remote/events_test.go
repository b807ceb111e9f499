package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

func eventsOf(r io.Reader, max int64) (got []string, e *events) {
	e = newEvents(r, max)
	for {
		ev, err := e.next()
		switch {
		case errors.Is(err, wire.ErrTooLarge):
			got = append(got, "too large")
		case err != nil:
			return append(got, err.Error()), e
		default:
			got = append(got, fmt.Sprintf("%s %s", ev.kind, ev.data))
		}
	}
}

func TestWhatResumingNeeds(t *testing.T) {
	tests := []struct {
		name, in, id string
		retry        time.Duration
	}{
		{"id and pause", "id: a 1\nretry: 250\ndata: x\n\n", "a 1", 250 * time.Millisecond},
		{"the last whole event", "id: 1\n\nid: 2\ndata: x\n\nid: 3\ndata: x\n", "2", 0},
		{"an id that fits no header", "id: 1\n\nid: a\tb\n\nid: \x00\n\nid: ü\n\n", "1", 0},
		{"an empty id", "id: 1\n\nid:\n\n", "", 0},
		{"pauses out of bounds", "retry: 0\n\n", "", leastPause},
		{"a pause of years", "retry: 4000000000\n\n", "", maxRetry},
		{"no pause", "retry: -5\nretry: x\nretry: 99999999999999999999\n\n", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, e := eventsOf(bytes.NewReader([]byte(tt.in)), 1000)
			if e.lastID != tt.id || e.retry != tt.retry {
				t.Errorf("got %q, %s; want %q, %s", e.lastID, e.retry, tt.id, tt.retry)
			}
		})
	}
}

// However the bytes arrive, the events are the same, and none is larger than allowed.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: x\n\n", "event: a\r\ndata:b\r\n\r\n", ":\n\n\ndata\ndata: \n\n", "id: 1\nretry: 5\ndata: {}\n\ndata: half", "data: 0123456789\n\ndata: y\n\n"} {
		f.Add([]byte(seed), 8)
	}
	f.Fuzz(func(t *testing.T, data []byte, max int) {
		if max < 0 || max > 1<<20 {
			return
		}
		whole, one := eventsOf(bytes.NewReader(data), int64(max))
		parts, other := eventsOf(iotest.OneByteReader(bytes.NewReader(data)), int64(max))
		if fmt.Sprint(whole) != fmt.Sprint(parts) || one.lastID != other.lastID || one.retry != other.retry {
			t.Errorf("whole %q, byte by byte %q", whole, parts)
		}
		e := newEvents(bytes.NewReader(data), int64(max))
		for {
			ev, err := e.next()
			if err != nil && !errors.Is(err, wire.ErrTooLarge) {
				return
			}
			if len(ev.data) > max+field {
				t.Errorf("got %d bytes, the limit is %d", len(ev.data), max)
			}
		}
	})
}
