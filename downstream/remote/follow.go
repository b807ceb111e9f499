package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const (
	firstPause = time.Second           // before a stream is resumed, unless the server says otherwise
	leastPause = 10 * time.Millisecond // even if it does
	mostPause  = 30 * time.Second
	maxResumes = 5                      // in a row that brought nothing
	openingGet = 200 * time.Millisecond // the longest that Listen waits for the server to accept the stream
)

// follow reads the stream that answers a request until the answer comes. A stream of the old era that ends before is
// resumed where it was, as often as that brings something.
func (c *Conn) follow(ctx context.Context, id int64, response *http.Response) (wire.Message, error) {
	body := response.Body
	defer func() { body.Close() }()
	stream := newEvents(body, c.max).giveUp()
	for idle := 0; ; idle++ {
		m, err := c.read(id, stream)
		if err == nil {
			return m, nil
		}
		if stream.heard {
			idle, stream.heard = 0, false
		}
		switch {
		case ctx.Err() != nil:
			return m, wire.Ended(ctx, wire.SentUnknown, "no answer")
		case errors.Is(err, wire.ErrTooLarge):
			return m, wire.Failed(wire.Ran, err)
		case c.modern() || stream.lastID == "" || idle >= maxResumes:
			return m, wire.Failed(wire.SentUnknown, fmt.Errorf("%w: the stream ended without an answer: %w", wire.ErrUnavailable, shorter(err)))
		case !sleep(ctx, stream.pause(idle)):
			return m, wire.Ended(ctx, wire.SentUnknown, "no answer")
		}
		again, err := c.get(ctx, stream.lastID)
		if errors.Is(err, errNoStream) {
			return m, wire.Failed(wire.SentUnknown, fmt.Errorf("%w: resume the stream: %w", wire.ErrUnavailable, err))
		}
		if err == nil { // otherwise the next turn tries again
			body.Close()
			body = again.Body
			stream = stream.resumed(body).giveUp()
		}
	}
}

// read hears what a stream brings until the answer to a call comes, or the stream ends.
func (c *Conn) read(id int64, stream *events) (wire.Message, error) {
	for {
		ev, err := stream.next()
		if err != nil {
			return wire.Message{}, err
		}
		for _, message := range wire.Batch(ev.data) {
			if m, ok := c.take(id, message); ok && id != 0 {
				return m, nil
			}
		}
	}
}

// pause is how long to wait before the stream is asked for again.
func (e *events) pause(idle int) time.Duration {
	first := firstPause
	if e.retry > 0 {
		first = e.retry
	}
	return min(first<<min(idle, 10), max(first, mostPause))
}

// resumed is the same stream, read from another response.
func (e *events) resumed(r io.Reader) *events {
	next := newEvents(r, e.max)
	next.lastID, next.retry = e.lastID, e.retry
	return next
}

// errNoStream is a server that has no stream to offer.
var errNoStream = errors.New("the server offers no stream")

// errForgotten is a server that does not know our session any longer.
var errForgotten = errors.New("the server forgot the session")

// get opens a stream of what the server says, after the event of an id if that is not empty.
func (c *Conn) get(ctx context.Context, lastID string) (*http.Response, error) {
	h := http.Header{}
	if lastID != "" {
		h.Set("Last-Event-Id", lastID)
	}
	response, err := c.do(ctx, http.MethodGet, &exchange{}, h, nil)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK && mediaOf(response) == "text/event-stream" {
		return response, nil
	}
	discard(response)
	switch status := response.StatusCode; {
	case status == http.StatusUnauthorized:
		return nil, ErrAuthRequired
	case status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout:
		return nil, fmt.Errorf("HTTP status %d", status)
	case status == http.StatusNotFound:
		return nil, fmt.Errorf("%w: %w", errNoStream, errForgotten)
	default:
		return nil, fmt.Errorf("%w: HTTP status %d", errNoStream, status)
	}
}

// Listen hears what a server of the old era says outside of our requests, until the connection ends. It returns when the server has
// accepted that, so that nothing said from now on is missed, or after a moment.
func (c *Conn) Listen() {
	if c.modern() {
		return
	}
	opened := make(chan struct{})
	if !c.run(func() { c.listen(opened) }) {
		return
	}
	t := time.NewTimer(openingGet)
	defer t.Stop()
	select {
	case <-opened:
	case <-t.C:
	}
}

// listen keeps the stream open. A server that has none says so at once and is not asked again.
func (c *Conn) listen(opened chan struct{}) {
	stream := newEvents(nil, c.max)
	was := false // open
	for idle := 0; ; idle++ {
		response, err := c.get(c.alive, stream.lastID)
		if opened != nil {
			close(opened)
			opened = nil
		}
		switch {
		case c.alive.Err() != nil:
			return
		case was && errors.Is(err, errForgotten):
			c.lose(errForgotten)
			return
		case errors.Is(err, errNoStream), errors.Is(err, ErrAuthRequired):
			return // the next request says what is wrong
		case err == nil:
			was = true
			stream = stream.resumed(response.Body)
			c.hear(stream)
			response.Body.Close()
			if stream.heard {
				idle = 0
			}
		}
		if !sleep(c.alive, stream.pause(idle)) {
			return
		}
	}
}

// hear listens to a stream until it ends, past events that are too large.
func (c *Conn) hear(stream *events) {
	for {
		_, err := c.read(0, stream)
		if !errors.Is(err, wire.ErrTooLarge) {
			return
		}
	}
}

// sleep is false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
