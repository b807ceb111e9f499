package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	keptReply    = 64 << 10 // of a reply, to find an error in it as it was sent
	maxErrorBody = 64 << 10
)

// exchange travels in the context of one request through the library and back: it brings the exact bytes to send
// and learns what happened to them.
type exchange struct {
	body     []byte
	session  bool // the server gave us a session before
	sent     atomic.Bool
	status   atomic.Int64
	tooLarge atomic.Bool
	reply    tail
}

type exchangeKey struct{}

func (x *exchange) in(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { x.sent.Store(true) }})
	return withoutDeadline{ctx}
}

// withoutDeadline ends when its context ends, but does not say when, so that the library sets no timer of its own
// and every timeout is the same error.
type withoutDeadline struct{ context.Context }

// Deadline is never known.
func (withoutDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

// refused says if the server answered with an HTTP error and no JSON-RPC one.
func (x *exchange) refused() bool {
	return x.status.Load() >= 400 && !bytes.Contains(x.reply.bytes(), []byte(`"jsonrpc"`))
}

// rpcError finds the error as sent in the end of the reply; failing that it tells what the library read.
func (x *exchange) rpcError(read *mcp.JSONRPCErrorDetails) *wire.RPCError {
	kept := x.reply.bytes()
	for _, line := range append([][]byte{kept}, bytes.Split(kept, []byte("\n"))...) {
		line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data:")))
		if m, ok := wire.Parse(line); ok && m.Refusal() != nil {
			return m.Refusal()
		}
	}
	raw := fmt.Appendf(nil, `{"code":%d,"message":%s}`, read.Code, rawjson.Quote(read.Message))
	return &wire.RPCError{Code: int64(read.Code), Message: read.Message, Raw: raw}
}

// roundTripper bounds what comes from a remote server and swaps in the exact request.
type roundTripper struct {
	base *http.Transport
	max  int64
}

func newRoundTripper(max int64) *roundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	return &roundTripper{t, max}
}

// RoundTrip sends one HTTP request.
func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	cancel := func() {}
	if r.Method == http.MethodDelete { // good-bye, which may take the library longer than we have
		ctx, cancel = context.WithTimeout(ctx, graceHTTP)
	}
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	r = r.Clone(ctx)
	if x != nil && r.Method == http.MethodPost {
		r.Body = io.NopCloser(bytes.NewReader(x.body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
		r.ContentLength = int64(len(x.body))
	}
	answer, err := t.base.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	if x != nil {
		x.status.Store(int64(answer.StatusCode))
		if answer.StatusCode == http.StatusNotFound && !x.session {
			answer.StatusCode = http.StatusBadRequest // no session is lost, so the library is to read the error in it
		}
	}
	answer.Body = t.bound(answer, x, cancel)
	return answer, nil
}

func (t *roundTripper) bound(answer *http.Response, x *exchange, done func()) *boundedBody {
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	b := &boundedBody{ReadCloser: answer.Body, max: t.max, events: media == "text/event-stream", exchange: x, done: done}
	if answer.StatusCode >= 400 { // words about an error; the first will do
		b.ReadCloser = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxErrorBody), answer.Body}
	}
	return b
}

// boundedBody fails when a reply, or one event of a stream, is longer than max.
type boundedBody struct {
	io.ReadCloser
	max      int64
	size     int64
	events   bool
	last     byte // before this read
	exchange *exchange
	done     func()
}

// Read counts what it reads.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.count(p[:n])
	if b.exchange != nil {
		b.exchange.reply.write(p[:n])
	}
	if b.size > b.max {
		if b.exchange != nil {
			b.exchange.tooLarge.Store(true)
		}
		return 0, fmt.Errorf("%w: more than %d bytes", wire.ErrTooLarge, b.max)
	}
	return n, err
}

// count starts again after each event, which an empty line ends.
func (b *boundedBody) count(p []byte) {
	if len(p) == 0 {
		return
	}
	b.size += int64(len(p))
	if !b.events {
		return
	}
	for _, end := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.LastIndex(p, []byte(end)); i >= 0 {
			b.size = min(b.size, int64(len(p)-i-len(end)))
		}
	}
	if b.last == '\n' && (p[0] == '\n' || p[0] == '\r') {
		b.size = min(b.size, int64(len(p)))
	}
	b.last = p[len(p)-1]
}

// Close ends the reading.
func (b *boundedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

// tail keeps the last bytes written to it. The library may still read a stream when its answer is there.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p = p[max(0, len(p)-keptReply):]
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*keptReply {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-keptReply:]...)
	}
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.buf)
}
