package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const (
	graceHTTP = time.Second // for telling a remote server good-bye
	maxWords  = 4 << 10     // bytes of an error's words, enough to find secrets in before it is cut to what is shown
)

// Conn is the connection to a remote server over one of the library's transports. What the library would
// decode and write again travels around it: the request goes out as given, errors come back as sent. Its methods may
// be called concurrently, Settle only before calls that its version is for.
type Conn struct {
	transport transport.Interface
	trip      *roundTripper
	tools     *headerTools
	alive     context.Context
	lose      context.CancelCauseFunc
	modern    atomic.Bool

	mu      sync.Mutex
	closed  bool
	workers sync.WaitGroup
}

// Life ends when the connection is lost; its cause says why.
func (c *Conn) Life() context.Context { return c.alive }

// Settle says which protocol version the handshake found; "" is none.
func (c *Conn) Settle(version string) {
	c.modern.Store(version == mcp.ProtocolVersion20260728)
	if t, ok := c.transport.(transport.HTTPConnection); ok {
		t.SetProtocolVersion(version)
	}
}

// Call sends one request, whose params are one line or nil, and waits for its raw result. It returns as soon as ctx
// ends. Every error is a *wire.Error.
func (c *Conn) Call(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error) {
	if c.alive.Err() != nil {
		return nil, wire.Failed(wire.NotSent, wire.Lost(c.alive))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.alive, func() { cancel(wire.Lost(c.alive)) })()
	x := &exchange{body: wire.RequestLine(id, method, params), session: c.transport.GetSessionId() != ""}
	answer, err := c.transport.SendRequest(x.in(ctx), transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Method: method, Header: c.headers(method, params),
	})
	switch {
	case x.tooLarge.Load():
		return nil, wire.Failed(wire.Ran, fmt.Errorf("%w: more than %d bytes", wire.ErrTooLarge, c.trip.max))
	case err != nil || x.refused():
		return nil, c.explain(ctx, x, err)
	case answer.Error != nil:
		return nil, wire.Failed(wire.Ran, x.rpcError(answer.Error))
	case answer.Result == nil:
		return nil, wire.Failed(wire.Ran, errors.New("the answer has neither result nor error"))
	}
	if method == string(mcp.MethodToolsList) && c.modern.Load() {
		c.tools.remember(answer.Result)
	}
	return answer.Result, nil
}

// headers are the HTTP headers that repeat a part of the request in the new era.
func (c *Conn) headers(method string, params []byte) http.Header {
	if !c.modern.Load() {
		return nil
	}
	h := http.Header{}
	for name, value := range mcp.StandardHeaders(mcp.ProtocolVersion20260728, mcp.MCPMethod(method), params) {
		h.Set(name, value)
	}
	if method == string(mcp.MethodToolsCall) {
		c.tools.headers(h, params)
	}
	return h
}

// explain turns an error of the transport into one of ours, with what became of the request.
func (c *Conn) explain(ctx context.Context, x *exchange, err error) error {
	fate := wire.NotSent
	if x.sent.Load() {
		fate = wire.SentUnknown
	}
	switch {
	case ctx.Err() != nil:
		return wire.Ended(ctx, fate, "no answer")
	case errors.Is(err, transport.ErrAuthorizationRequired), errors.Is(err, transport.ErrUnauthorized):
		c.lose(ErrAuthRequired)
		return wire.Failed(wire.NotSent, ErrAuthRequired)
	case errors.Is(err, transport.ErrSessionTerminated) && x.session: // refused, so it did not run
		c.lose(errors.New("the server forgot the session"))
		return wire.Failed(wire.NotSent, wire.Lost(c.alive))
	case errors.Is(err, transport.ErrLegacySSEServer):
		return wire.Failed(wire.NotSent, err)
	case fate == wire.NotSent:
		c.lose(shorter(err))
		return wire.Failed(wire.NotSent, wire.Lost(c.alive))
	case x.status.Load() >= 400:
		if x.status.Load() < 500 {
			fate = wire.NotSent // refused
		}
		err = fmt.Errorf("HTTP status %d: %s", x.status.Load(), x.reply.bytes())
	}
	return wire.Failed(fate, fmt.Errorf("%w: %w", wire.ErrUnavailable, shorter(err)))
}

// outer gives an error of a start, before anything was sent, the shape of other errors.
func outer(err error) error {
	if errors.Is(err, transport.ErrAuthorizationRequired) || errors.Is(err, transport.ErrUnauthorized) {
		return wire.Failed(wire.NotSent, ErrAuthRequired)
	}
	return wire.Failed(wire.NotSent, shorter(err))
}

// shorter bounds the body of an HTTP error, leaving enough to find secrets in before it is cut to what is shown.
func shorter(err error) error { return wire.Reword(err, wire.Clip(err.Error(), maxWords)) }

// Notify sends in the background: the transport waits for the server's answer. In the new era there is nothing
// to say: a request is cancelled by hanging up.
func (c *Conn) Notify(method string, params []byte) {
	send := func() {
		ctx, cancel := context.WithTimeout(c.alive, graceHTTP)
		defer cancel()
		x := &exchange{body: wire.NotificationLine(method, params)}
		var n mcp.JSONRPCNotification
		n.JSONRPC, n.Method = mcp.JSONRPC_VERSION, method
		_ = c.transport.SendNotification(x.in(ctx), n) // nobody waits for it
	}
	c.mu.Lock()
	skip := c.closed || c.modern.Load()
	if !skip && method != "notifications/initialized" {
		c.workers.Go(send)
		skip = true
	}
	c.mu.Unlock()
	if !skip { // what comes before everything else
		send()
	}
}

// Close says good-bye, for a second at most, and waits for what still runs. It may be called more than once.
func (c *Conn) Close() {
	c.mu.Lock()
	already := c.closed
	c.closed = true
	c.mu.Unlock()
	if !already {
		_ = c.transport.Close() // says good-bye; whether that is heard does not matter
		c.lose(wire.ErrLost)
	}
	c.workers.Wait()
	c.trip.base.CloseIdleConnections()
}
