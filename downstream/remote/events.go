package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const (
	firstBuffer = 4 << 10
	field       = 16          // bytes of a line around its data
	maxEventID  = 4 << 10     // bytes; a longer id can't go into a header
	maxRetry    = time.Minute // the longest pause taken from a server
)

// event is one server-sent event: its kind ("" is message) and its data.
type event struct {
	kind string
	data []byte
}

// events reads a stream of server-sent events, each of at most max bytes. It remembers what resuming the stream needs.
type events struct {
	lines  *wire.Lines
	max    int64
	lastID string        // of the last whole event that had one
	retry  time.Duration // as the server wants it; 0 if it did not say
	heard  bool          // an event with data came
	hasty  bool          // an event that is too large is the last
}

func newEvents(r io.Reader, max int64) *events {
	return &events{lines: wire.NewLines(r, max+field, firstBuffer), max: max}
}

// giveUp makes an event that is too large the last: its end is not waited for.
func (e *events) giveUp() *events {
	e.hasty = true
	e.lines.GiveUp()
	return e
}

// next gives the next event that has data. An event that is too large is skipped: its error is wire.ErrTooLarge, and
// the next one can be read. After any other error the stream is over. Lines end with a line feed: no server of this
// protocol ends them with a carriage return alone.
func (e *events) next() (event, error) {
	var ev event
	var id *string
	var tooLarge error
	for {
		line, err := e.lines.Next()
		switch {
		case errors.Is(err, wire.ErrTooLarge):
			if e.hasty {
				return event{}, err
			}
			tooLarge = err
			continue
		case err != nil:
			return event{}, err // what is unfinished is no event
		}
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) > 0 {
			if tooLarge == nil && int64(len(ev.data)+len(line)) > e.max+field {
				tooLarge = fmt.Errorf("%w: an event of more than %d bytes", wire.ErrTooLarge, e.max)
				if e.hasty {
					return event{}, tooLarge
				}
			}
			if tooLarge == nil {
				e.read(&ev, &id, line)
			}
			continue
		}
		if id != nil {
			e.lastID, id = *id, nil
		}
		if tooLarge != nil {
			return event{}, tooLarge
		}
		if len(ev.data) > 0 {
			e.heard = true
			return ev, nil
		}
		ev = event{}
	}
}

// read takes one line of an event. What is no field, such as a comment that keeps the connection open, is passed over.
func (e *events) read(ev *event, id **string, line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if ev.data == nil {
			ev.data = value
		} else {
			ev.data = append(append(ev.data, '\n'), value...)
		}
	case "event":
		ev.kind = string(value)
	case "id":
		if text := string(value); len(text) <= maxEventID && !bytes.ContainsFunc(value, unfit) {
			*id = &text
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
			e.retry = max(leastPause, min(time.Duration(ms)*time.Millisecond, maxRetry))
		}
	}
}

// unfit says that a rune can't stand in a header.
func unfit(r rune) bool { return r < ' ' || r > '~' }
