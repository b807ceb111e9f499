package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/serve/replay"
)

const (
	// stall is how long an agent may take to accept or send one piece of a message.
	stall = 30 * time.Second
	// pieceSize is the most that is written under one deadline.
	pieceSize = 1 << 20
	// quietFor is how long an answer may take until the stream is opened, so that nobody in between gives up.
	quietFor = 10 * time.Second
	// heartbeat is how often a silent stream shows that it is alive.
	heartbeat = 15 * time.Second
	// reconnect is when an agent that lost its stream should come again, in milliseconds.
	reconnect = 1000
)

// takesEvents says whether a request accepts Server-Sent Events.
func takesEvents(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return accept == "" || strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*") || strings.Contains(accept, "text/*")
}

// writer writes the answer to one HTTP request: a single JSON message, or Server-Sent Events.
type writer struct {
	w http.ResponseWriter
	// ids tells where in a stream an event stands, so that the agent can come back; prime says it at once.
	ids, prime bool
	opened     bool
}

// answer sends one message as JSON.
func (o *writer) answer(status int, message parts) {
	o.w.Header().Set("Content-Type", "application/json")
	o.w.Header().Set("Content-Length", strconv.Itoa(message.size()))
	o.w.WriteHeader(status)
	_ = o.send(message) // the agent is gone: nobody is left to tell
}

// open begins the events; start names the place before the first.
func (o *writer) open(start string) error {
	if o.opened {
		return nil
	}
	o.opened = true
	head := o.w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-cache")
	head.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
	var first []byte
	if o.ids && o.prime {
		first = append(append([]byte("id: "), start...), "\nretry: "+strconv.Itoa(reconnect)+"\ndata: \n\n"...)
	}
	return o.flush(parts{first})
}

// event sends one message of the stream.
func (o *writer) event(e replay.Event) error {
	head := "event: message\ndata: "
	if o.ids {
		head = "id: " + e.ID + "\n" + head
	}
	framed := append(parts{[]byte(head)}, e.Message...)
	return o.flush(append(framed, []byte("\n\n")))
}

// beat shows that the stream is alive.
func (o *writer) beat() error { return o.flush(parts{[]byte(":\n\n")}) }

func (o *writer) flush(message parts) error {
	if err := o.send(message); err != nil {
		return err
	}
	if err := http.NewResponseController(o.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// send writes in pieces, each under a deadline of its own. An error means that the agent is gone.
func (o *writer) send(message parts) error {
	control := http.NewResponseController(o.w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // a recorder has no deadlines
	for _, rest := range message.joined() {
		for len(rest) > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(stall))
			n, err := o.w.Write(rest[:min(len(rest), pieceSize)])
			if err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return nil
}

// pour writes what a listener hears as events until the stream ends or ctx does.
func (o *writer) pour(ctx context.Context, l *replay.Listener, start string) {
	if o.open(start) != nil {
		return
	}
	for {
		e, err := next(ctx, l, heartbeat)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			err = o.beat()
		case err == nil:
			err = o.event(e)
		}
		if err != nil {
			return
		}
	}
}

// next waits for the next event for some time.
func next(ctx context.Context, l *replay.Listener, patience time.Duration) (replay.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.Next(ctx)
}

// outcome is what became of a request before its stream had to be opened.
type outcome struct {
	event replay.Event
	// nothing is said, because the request was given up; silent, because it takes long.
	nothing, silent bool
}

// firstOf waits for the first event of a request for a moment.
func firstOf(ctx context.Context, l *replay.Listener) (outcome, error) {
	e, err := next(ctx, l, quietFor)
	switch {
	case err == nil:
		return outcome{event: e}, nil
	case errors.Is(err, io.EOF):
		return outcome{nothing: true}, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return outcome{silent: true}, nil
	}
	return outcome{}, err
}
