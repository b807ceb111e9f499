package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const (
	grace        = time.Second // for what nobody waits for: a notification, the good-bye
	maxPosts     = 256         // messages that nobody waits for and that wait to be sent
	maxErrorBody = 64 << 10    // bytes read of a response that is an error
	maxWords     = 4 << 10     // bytes of an error's words, enough to find secrets in before it is cut to what is shown
	answerTime   = time.Minute // for sending the answer to a question
)

// link is what both HTTP transports stand on: requests with the configured headers, a life, and one goroutine that
// sends in order what nobody waits for.
type link struct {
	endpoint string // messages are posted there
	headers  map[string]string
	max      int64
	ears     wire.Ears
	base     *http.Transport
	client   *http.Client
	alive    context.Context
	lose     context.CancelCauseFunc
	version  atomic.Pointer[string] // of the protocol, once it is settled
	session  atomic.Pointer[string] // the server's id of our session, if it has one

	posts chan []byte

	mu      sync.Mutex
	closed  bool
	posting bool // the goroutine for posts runs
	workers sync.WaitGroup
}

// Life ends when the connection is lost; its cause says why.
func (l *link) Life() context.Context { return l.alive }

// Settle says which protocol version the handshake found; "" is none.
func (l *link) Settle(version string) { l.version.Store(&version) }

func (l *link) settled() string { return value(&l.version) }

func value(p *atomic.Pointer[string]) string {
	if s := p.Load(); s != nil {
		return *s
	}
	return ""
}

// run starts a goroutine that Close waits for; false if the link is closed.
func (l *link) run(work func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.workers.Go(work)
	}
	return !l.closed
}

// exchange is what became of one HTTP request.
type exchange struct {
	sent    atomic.Bool // its headers were written
	session string      // that it carried
}

// do sends one HTTP request. The caller closes the response's body.
func (l *link) do(ctx context.Context, method string, x *exchange, own http.Header, body []byte) (*http.Response, error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { x.sent.Store(true) }})
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body) // which the client can read again for a redirect
	}
	r, err := http.NewRequestWithContext(ctx, method, l.endpoint, reader)
	if err != nil {
		return nil, err
	}
	for name, values := range own {
		r.Header[name] = values
	}
	switch method {
	case http.MethodPost:
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Cache-Control", "no-store")
	}
	if x.session = value(&l.session); x.session != "" {
		r.Header.Set("Mcp-Session-Id", x.session)
	}
	if version := l.settled(); version != "" {
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	for name, value := range l.headers {
		r.Header.Set(name, value)
		if http.CanonicalHeaderKey(name) == "Host" {
			r.Host = value
		}
	}
	return l.client.Do(r)
}

// post queues a message that nobody waits for; when too many wait it is dropped.
func (l *link) post(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.posts <- line:
	default:
		return
	}
	if !l.posting {
		l.posting = true
		l.workers.Go(l.sendPosts)
	}
}

// sendPosts sends what is queued, in order, and ends when there is nothing left.
func (l *link) sendPosts() {
	for {
		l.mu.Lock()
		var line []byte
		select {
		case line = <-l.posts:
		default:
			l.posting = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		l.deliver(line, grace)
	}
}

// deliver posts a message that gets no answer, within a time.
func (l *link) deliver(line []byte, within time.Duration) {
	ctx, cancel := context.WithTimeout(l.alive, within)
	defer cancel()
	response, err := l.do(ctx, http.MethodPost, &exchange{}, nil, line)
	if err == nil { // what it says about a message that nobody waits for is of no use
		discard(response)
	}
}

// discard reads a little of a body, so that the connection can be used again, and closes it.
func discard(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	response.Body.Close()
}

// answer sends the answer to a question of the server.
func (l *link) answer(line []byte, wait bool) {
	if wait {
		l.deliver(line, answerTime)
		return
	}
	l.post(line)
}

// take brings a message that came with a call, or with none (0), to where it belongs; ok if it is the answer to the call.
func (l *link) take(call int64, data []byte) (m wire.Message, ok bool) {
	m, valid := wire.Parse(data)
	if !valid || l.ears.Take(call, m, l.answer) {
		return m, false
	}
	id, numbered := m.ResponseID()
	return m, numbered && id == call
}

// end closes the link and waits for what still runs.
func (l *link) end() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.lose(wire.ErrLost)
	l.workers.Wait()
	l.base.CloseIdleConnections()
}

func mediaOf(response *http.Response) string {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return media
}

// words are the beginning of a response that is an error.
func words(response *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // what can be had of it
	return body
}

// shorter bounds the words of an HTTP error, leaving enough to find secrets in before it is cut to what is shown.
func shorter(err error) error { return wire.Reword(err, wire.Clip(err.Error(), maxWords)) }

// unreached says why a request got no response. One that was not even sent means that the server is not there.
func (l *link) unreached(ctx context.Context, x *exchange, err error) error {
	fate := wire.NotSent
	if x.sent.Load() {
		fate = wire.SentUnknown
	}
	if ctx.Err() != nil {
		return wire.Ended(ctx, fate, "no answer")
	}
	if errors.Is(err, wire.ErrTooLarge) {
		return wire.Failed(wire.Ran, err)
	}
	if fate == wire.NotSent {
		l.lose(shorter(err))
		return wire.Failed(fate, wire.Lost(l.alive))
	}
	return wire.Failed(fate, fmt.Errorf("%w: %w", wire.ErrUnavailable, shorter(err)))
}
