// Package remote reaches a server over HTTP and carries its JSON-RPC messages byte for byte.
package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const noSoonerEnd = 24 * time.Hour

var (
	// ErrAuthRequired is the answer of a server that wants a login.
	ErrAuthRequired = errors.New("authorization required")
	// ErrOlder is the refusal of streamable HTTP that calls for DialSSE.
	ErrOlder = transport.ErrLegacySSEServer
)

// Options say how a server is reached. All of them but Headers are needed.
type Options struct {
	// URL is the server's endpoint.
	URL string
	// Headers go with every HTTP request, but not to another host.
	Headers map[string]string
	// MaxMessage is the largest message taken from the server in bytes.
	MaxMessage int64
	// StartTimeout is the longest wait for an SSE server to name its endpoint.
	StartTimeout time.Duration
}

// Server is one remote server. It remembers across connections which tools want arguments repeated as headers.
type Server struct {
	o     Options
	tools headerTools
}

// New makes a Server and asks nothing of it.
func New(o Options) *Server { return &Server{o: o} }

func (s *Server) conn() *Conn {
	c := &Conn{trip: newRoundTripper(s.o.MaxMessage), tools: &s.tools}
	c.alive, c.lose = context.WithCancelCause(context.Background())
	return c
}

func (c *Conn) client() *http.Client {
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

// Dial makes a connection over streamable HTTP. It sends no message yet. What hears the
// server's notifications must not block.
func (s *Server) Dial(heard func(method string, params []byte)) (*Conn, error) {
	c := s.conn()
	t, err := transport.NewStreamableHTTP(s.o.URL,
		transport.WithHTTPBasicClient(c.client()),
		transport.WithHTTPHeaders(s.o.Headers),
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)), // it logs URLs, which may hold secrets
		//lint:ignore SA1019 servers of the old era tell changes on this stream only
		transport.WithContinuousListening())
	if err != nil {
		return nil, err
	}
	if err := c.begin(c.alive, t, heard); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// DialSSE makes a connection over the older transport, within ctx. What hears the server's notifications
// must not block.
func (s *Server) DialSSE(ctx context.Context, heard func(method string, params []byte)) (*Conn, error) {
	c := s.conn()
	t, err := transport.NewSSE(s.o.URL,
		transport.WithHTTPClient(c.client()),
		transport.WithHeaders(s.o.Headers),
		transport.WithSSELogger(slog.New(slog.DiscardHandler)),
		transport.WithEndpointTimeout(s.o.StartTimeout),
		transport.WithResponseTimeout(noSoonerEnd))
	if err != nil {
		return nil, err
	}
	t.SetConnectionLostHandler(func(err error) { c.lose(fmt.Errorf("stream ended: %w", err)) })
	// The stream lives as long as the context it was started with, so the deadline of the start only ends it early.
	stop := context.AfterFunc(ctx, func() { c.lose(context.Cause(ctx)) })
	err = c.begin(c.alive, t, heard)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.Close()
		return nil, outer(err)
	}
	return c, nil
}

func (c *Conn) begin(ctx context.Context, t transport.Interface, heard func(method string, params []byte)) error {
	c.transport = t
	t.SetNotificationHandler(func(n mcp.JSONRPCNotification) {
		if len(n.Params.Meta) == 0 {
			n.Params.Meta = nil // the library makes one where none was sent
		}
		if params, err := json.Marshal(n.Params); err == nil {
			heard(n.Method, params)
		}
	})
	if both, ok := t.(transport.BidirectionalInterface); ok {
		both.SetRequestHandler(answerRequest)
	}
	return t.Start(ctx)
}

// answerRequest offers servers a sign of life and nothing else, as the wire to a process does.
func answerRequest(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if r.Method == string(mcp.MethodPing) {
		return transport.NewJSONRPCResultResponse(r.ID, json.RawMessage(`{}`)), nil
	}
	return transport.NewJSONRPCErrorResponse(r.ID, mcp.METHOD_NOT_FOUND, "method not found", nil), nil
}
