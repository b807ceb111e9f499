package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

// SSE is the connection to a remote server over the older transport: one stream brings everything the server says,
// requests are posted beside it. Its methods may be called concurrently.
type SSE struct {
	*link

	waitMu  sync.Mutex
	waiting map[int64]chan wire.Message
}

func newSSE(l *link) *SSE { return &SSE{link: l, waiting: map[int64]chan wire.Message{}} }

// open opens the stream and waits for the server to name the endpoint for requests.
func (c *SSE) open(within context.Context) error {
	// The stream lives as long as the connection; the end of within only ends its beginning.
	stop := context.AfterFunc(within, func() { c.lose(context.Cause(within)) })
	defer stop()
	x := &exchange{}
	response, err := c.do(c.alive, http.MethodGet, x, nil, nil)
	if err != nil {
		return wire.Failed(wire.NotSent, shorter(c.whyEnded(within, err)))
	}
	if response.StatusCode != http.StatusOK || mediaOf(response) != "text/event-stream" {
		defer response.Body.Close()
		if response.StatusCode == http.StatusUnauthorized {
			return wire.Failed(wire.NotSent, ErrAuthRequired)
		}
		return wire.Failed(wire.NotSent, shorter(fmt.Errorf("open the stream: HTTP status %d: %s", response.StatusCode, words(response))))
	}
	stream := newEvents(response.Body, c.max)
	endpoint, err := c.named(stream)
	if err != nil {
		response.Body.Close()
		return wire.Failed(wire.NotSent, shorter(c.whyEnded(within, err)))
	}
	c.endpoint = endpoint
	if !stop() {
		response.Body.Close()
		return wire.Failed(wire.NotSent, c.whyEnded(within, context.Cause(within)))
	}
	if !c.run(func() { c.listen(response, stream) }) {
		response.Body.Close()
	}
	return nil
}

func (c *SSE) whyEnded(within context.Context, err error) error {
	if within.Err() != nil {
		return fmt.Errorf("%w: the server named no endpoint: %w", wire.ErrTimeout, context.Cause(within))
	}
	return err
}

// named reads the endpoint, which must be on the same host: our headers go there.
func (c *SSE) named(stream *events) (string, error) {
	for {
		ev, err := stream.next()
		if err != nil {
			return "", fmt.Errorf("wait for the endpoint: %w", err)
		}
		if ev.kind != "endpoint" {
			continue
		}
		base, err := url.Parse(c.endpoint)
		if err != nil {
			return "", err
		}
		u, err := base.Parse(string(ev.data))
		if err != nil || u.Scheme != base.Scheme || u.Host != base.Host {
			return "", errors.New("the server names an endpoint on another host")
		}
		return u.String(), nil
	}
}

// Listen changes nothing: the stream is open already.
func (c *SSE) Listen() {}

// listen brings what the stream says to whom it is for, until it ends.
func (c *SSE) listen(response *http.Response, stream *events) {
	defer response.Body.Close()
	for {
		ev, err := stream.next()
		if errors.Is(err, wire.ErrTooLarge) {
			c.tooLarge(err)
			continue
		}
		if err != nil {
			c.lose(fmt.Errorf("stream ended: %w", shorter(err)))
			return
		}
		for _, data := range wire.Batch(ev.data) {
			m, ok := wire.Parse(data)
			if !ok || c.ears.Take(0, m, c.answer) {
				continue
			}
			if id, ok := m.ResponseID(); ok {
				c.settle(id, m)
			}
		}
	}
}

// settle gives an answer to the call that waits for it.
func (c *SSE) settle(id int64, m wire.Message) {
	c.waitMu.Lock()
	defer c.waitMu.Unlock()
	if waits := c.waiting[id]; waits != nil {
		delete(c.waiting, id)
		waits <- m
	}
}

// tooLarge ends the one call that an answer too large to read can belong to, and the connection if that is not clear.
func (c *SSE) tooLarge(err error) {
	c.waitMu.Lock()
	defer c.waitMu.Unlock()
	if len(c.waiting) > 1 {
		c.lose(err)
		return
	}
	for id, waits := range c.waiting {
		delete(c.waiting, id)
		close(waits)
	}
}

// Call sends one request, whose params are one line or nil, and waits for its raw result. It returns as soon as ctx
// ends. Every error is a *wire.Error.
func (c *SSE) Call(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error) {
	answer := make(chan wire.Message, 1)
	c.waitMu.Lock()
	c.waiting[id] = answer
	c.waitMu.Unlock()
	defer func() {
		c.waitMu.Lock()
		defer c.waitMu.Unlock()
		delete(c.waiting, id)
	}()
	if err := c.request(ctx, wire.RequestLine(id, method, params)); err != nil {
		return nil, err
	}
	select {
	case m, ok := <-answer:
		if !ok {
			return nil, wire.Failed(wire.Ran, fmt.Errorf("%w: more than %d bytes", wire.ErrTooLarge, c.max))
		}
		return m.Answer()
	case <-ctx.Done():
		return nil, wire.Ended(ctx, wire.SentUnknown, "no answer")
	case <-c.alive.Done():
	}
	select {
	case m, ok := <-answer: // it came before the end
		if ok {
			return m.Answer()
		}
	default:
	}
	return nil, wire.Failed(wire.SentUnknown, wire.Lost(c.alive))
}

// request posts a line whose answer comes on the stream.
func (c *SSE) request(ctx context.Context, line []byte) error {
	if c.alive.Err() != nil {
		return wire.Failed(wire.NotSent, wire.Lost(c.alive))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.alive, func() { cancel(wire.Lost(c.alive)) })()
	x := &exchange{}
	response, err := c.do(ctx, http.MethodPost, x, nil, line)
	if err != nil {
		return c.unreached(ctx, x, err)
	}
	defer discard(response)
	switch status := response.StatusCode; {
	case status < 300:
		return nil
	case status == http.StatusUnauthorized:
		c.lose(ErrAuthRequired)
		return wire.Failed(wire.NotSent, ErrAuthRequired)
	case status == http.StatusNotFound:
		c.lose(errForgotten)
		return wire.Failed(wire.NotSent, wire.Lost(c.alive))
	case status < 500:
		return wire.Failed(wire.NotSent, shorter(fmt.Errorf("%w: HTTP status %d: %s", wire.ErrUnavailable, status, words(response))))
	default:
		return wire.Failed(wire.SentUnknown, shorter(fmt.Errorf("%w: HTTP status %d: %s", wire.ErrUnavailable, status, words(response))))
	}
}

// Notify sends a notification in the background, in order; what comes before everything else at once.
func (c *SSE) Notify(method string, params []byte) {
	line := wire.NotificationLine(method, params)
	if method == "notifications/initialized" {
		c.deliver(line, grace)
		return
	}
	c.post(line)
}

// Close ends the stream and waits for what still runs. It may be called more than once.
func (c *SSE) Close() { c.end() }
