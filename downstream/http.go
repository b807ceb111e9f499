package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const (
	graceHTTP   = time.Second // for telling a remote server good-bye
	noSoonerEnd = 24 * time.Hour
)

// remoteConn is the connection to a remote server over one of the library's transports. What the library would
// decode and write again travels around it: the request goes out as given, errors come back as sent.
type remoteConn struct {
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

func (m *member) newRemote() *remoteConn {
	c := &remoteConn{trip: newRoundTripper(m.fleet.options.MaxMessage), tools: m.tools}
	c.alive, c.lose = context.WithCancelCause(context.Background())
	return c
}

func (c *remoteConn) client() *http.Client {
	return &http.Client{Transport: c.trip, CheckRedirect: sameHost}
}

// sameHost refuses redirects to another host: they would carry the configured headers there.
func sameHost(r *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("too many redirects")
	}
	if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return errors.New("redirect to another host refused")
	}
	return nil
}

func (m *member) dialHTTP(_ context.Context, s *session) (conn, error) {
	c := m.newRemote()
	t, err := transport.NewStreamableHTTP(m.options.URL,
		transport.WithHTTPBasicClient(c.client()),
		transport.WithHTTPHeaders(m.options.Headers),
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)), // it logs URLs, which may hold secrets
		//lint:ignore SA1019 servers of the old era tell changes on this stream only
		transport.WithContinuousListening())
	if err != nil {
		return nil, err
	}
	if err := c.begin(c.alive, t, s); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (m *member) dialSSE(ctx context.Context, s *session) (conn, error) {
	c := m.newRemote()
	t, err := transport.NewSSE(m.options.URL,
		transport.WithHTTPClient(c.client()),
		transport.WithHeaders(m.options.Headers),
		transport.WithSSELogger(slog.New(slog.DiscardHandler)),
		transport.WithEndpointTimeout(m.options.StartTimeout),
		transport.WithResponseTimeout(noSoonerEnd))
	if err != nil {
		return nil, err
	}
	t.SetConnectionLostHandler(func(err error) { c.lose(fmt.Errorf("stream ended: %w", err)) })
	// The stream lives as long as the context it was started with, so the deadline of the start only ends it early.
	stop := context.AfterFunc(ctx, func() { c.lose(context.Cause(ctx)) })
	err = c.begin(c.alive, t, s)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.Close()
		return nil, outer(err, NotSent)
	}
	return c, nil
}

func (c *remoteConn) begin(ctx context.Context, t transport.Interface, s *session) error {
	c.transport = t
	t.SetNotificationHandler(func(n mcp.JSONRPCNotification) {
		if len(n.Params.Meta) == 0 {
			n.Params.Meta = nil // the library makes one where none was sent
		}
		if params, err := json.Marshal(n.Params); err == nil {
			s.heard(n.Method, params)
		}
	})
	if both, ok := t.(transport.BidirectionalInterface); ok {
		both.SetRequestHandler(answerRequest)
	}
	return t.Start(ctx)
}

// answerRequest offers servers what a wire does.
func answerRequest(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if r.Method == string(mcp.MethodPing) {
		return transport.NewJSONRPCResultResponse(r.ID, json.RawMessage(`{}`)), nil
	}
	return transport.NewJSONRPCErrorResponse(r.ID, mcp.METHOD_NOT_FOUND, "method not found", nil), nil
}

func (c *remoteConn) Life() context.Context { return c.alive }

func (c *remoteConn) Settle(version string) {
	c.modern.Store(version == modernVersion)
	if t, ok := c.transport.(transport.HTTPConnection); ok {
		t.SetProtocolVersion(version)
	}
}

// fallback says if the server refused the newer transport in the way that calls for the older one.
func (c *remoteConn) fallback(err error) bool { return errors.Is(err, transport.ErrLegacySSEServer) }

func (c *remoteConn) Call(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error) {
	if c.alive.Err() != nil {
		return nil, wire.Failed(NotSent, wire.Lost(c.alive))
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
		return nil, wire.Failed(Ran, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, c.trip.max))
	case err != nil || x.refused():
		return nil, c.explain(ctx, x, err)
	case answer.Error != nil:
		return nil, wire.Failed(Ran, x.rpcError(answer.Error))
	case answer.Result == nil:
		return nil, wire.Failed(Ran, errors.New("the answer has neither result nor error"))
	}
	if method == string(mcp.MethodToolsList) && c.modern.Load() {
		c.tools.remember(answer.Result)
	}
	return answer.Result, nil
}

// headers are the HTTP headers that repeat a part of the request in the new era.
func (c *remoteConn) headers(method string, params []byte) http.Header {
	if !c.modern.Load() {
		return nil
	}
	h := http.Header{}
	for name, value := range mcp.StandardHeaders(modernVersion, mcp.MCPMethod(method), params) {
		h.Set(name, value)
	}
	if method == string(mcp.MethodToolsCall) {
		c.tools.headers(h, params)
	}
	return h
}

// explain turns an error of the transport into one of ours, with what became of the request.
func (c *remoteConn) explain(ctx context.Context, x *exchange, err error) error {
	fate := NotSent
	if x.sent.Load() {
		fate = SentUnknown
	}
	switch {
	case ctx.Err() != nil:
		return wire.Ended(ctx, fate, "no answer")
	case errors.Is(err, transport.ErrAuthorizationRequired), errors.Is(err, transport.ErrUnauthorized):
		c.lose(ErrAuthRequired)
		return wire.Failed(NotSent, ErrAuthRequired)
	case errors.Is(err, transport.ErrSessionTerminated) && x.session: // refused, so it did not run
		c.lose(errors.New("the server forgot the session"))
		return wire.Failed(NotSent, wire.Lost(c.alive))
	case errors.Is(err, transport.ErrLegacySSEServer):
		return wire.Failed(NotSent, err)
	case fate == NotSent:
		c.lose(shorter(err))
		return wire.Failed(NotSent, wire.Lost(c.alive))
	case x.status.Load() >= 400:
		if x.status.Load() < 500 {
			fate = NotSent // refused
		}
		err = fmt.Errorf("HTTP status %d: %s", x.status.Load(), x.reply.bytes())
	}
	return wire.Failed(fate, fmt.Errorf("%w: %w", ErrUnavailable, shorter(err)))
}

// outer gives an error of a start the shape of other errors.
func outer(err error, fate Fate) error {
	if errors.Is(err, transport.ErrAuthorizationRequired) || errors.Is(err, transport.ErrUnauthorized) {
		return wire.Failed(fate, ErrAuthRequired)
	}
	return wire.Failed(fate, shorter(err))
}

// shorter bounds the body of an HTTP error, leaving enough to find secrets in before it is cut to what is shown.
func shorter(err error) error { return wire.Reword(err, wire.Clip(err.Error(), maxRaw)) }

// notify sends in the background: the transport waits for the server's answer. In the new era there is nothing
// to say: a request is cancelled by hanging up.
func (c *remoteConn) Notify(method string, params []byte) {
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

func (c *remoteConn) Close() {
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
