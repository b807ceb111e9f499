// Package remote reaches a server over HTTP and carries its JSON-RPC messages byte for byte.
package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

// The library's client is not used: it rounds the ids of servers' requests, decodes their params, ends an answer to them
// after 30 seconds, and tells neither which call a message came with nor what became of a request.

const (
	maxHeaderBytes = 256 << 10 // of a response
	idleConns      = 64        // kept for the next requests
)

var (
	// ErrAuthRequired is the answer of a server that wants a login.
	ErrAuthRequired = errors.New("authorization required")
	// ErrOlder is the refusal of streamable HTTP that calls for DialSSE.
	ErrOlder = errors.New("the server does not speak streamable HTTP")
)

// ScopeError is the refusal of a login that allows too little. It is an ErrAuthRequired.
type ScopeError struct {
	// Challenge is the header WWW-Authenticate as the server sent it.
	Challenge string
}

// Error says so.
func (e *ScopeError) Error() string { return ErrAuthRequired.Error() + ": the login allows too little" }

// Unwrap gives ErrAuthRequired.
func (e *ScopeError) Unwrap() error { return ErrAuthRequired }

// Options say how a server is reached. All of them but Headers and Login are needed.
type Options struct {
	// URL is the server's endpoint.
	URL string
	// Headers go with every HTTP request, but not to another host.
	Headers map[string]string
	// Login sends requests through the transport it is given with what the server wants to know of us; nil: as they are.
	Login func(next http.RoundTripper) http.RoundTripper
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

// Dial makes a connection over streamable HTTP. It sends no message yet.
func (s *Server) Dial(ears wire.Ears) (*Conn, error) {
	l, err := s.link(ears)
	if err != nil {
		return nil, err
	}
	return &Conn{link: l, tools: &s.tools}, nil
}

// DialSSE makes a connection over the older transport, within ctx.
func (s *Server) DialSSE(ctx context.Context, ears wire.Ears) (*SSE, error) {
	l, err := s.link(ears)
	if err != nil {
		return nil, err
	}
	c := newSSE(l)
	within, cancel := context.WithTimeout(ctx, s.o.StartTimeout)
	defer cancel()
	if err := c.open(within); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (s *Server) link(ears wire.Ears) (*link, error) {
	endpoint, err := url.Parse(s.o.URL)
	if err != nil {
		return nil, wire.Failed(wire.NotSent, fmt.Errorf("read the URL: %w", err))
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxResponseHeaderBytes = maxHeaderBytes
	base.MaxIdleConns, base.MaxIdleConnsPerHost = idleConns, idleConns
	var way http.RoundTripper = base
	if s.o.Login != nil {
		way = s.o.Login(base)
	}
	l := &link{
		endpoint: endpoint.String(), headers: s.o.Headers, max: s.o.MaxMessage, ears: ears, base: base,
		client: &http.Client{Transport: way, CheckRedirect: sameHost},
		posts:  make(chan []byte, maxPosts),
	}
	l.alive, l.lose = context.WithCancelCause(context.Background())
	return l, nil
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
