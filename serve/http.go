package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/serve/replay"
)

// HTTPOptions is what the streamable HTTP transport needs beside Options. Only Face is required.
type HTTPOptions struct {
	Options
	// Addr is host:port to listen on; default 127.0.0.1:8931. Anything but loopback needs Auth.
	Addr string
	// TLS encrypts if not nil; it must hold a certificate.
	TLS *tls.Config
	// Paths maps a path to the face it shows; default Face at /mcp and at /mcp/dispatch.
	Paths map[string]Face
	// Hosts are names this machine is known by beside loopback and the host of Addr, without port.
	Hosts []string
	// Auth says who sent a request, on all paths but /healthz, /readyz and Open. Nil: everybody is anonymous.
	Auth Doorkeeper
	// Limits says what the principal of a request may ask for; nil: nobody is limited.
	Limits func(dispatch.Agent) Limits
	// Extra are further handlers by path, such as /metrics.
	Extra map[string]http.Handler
	// Open are further handlers for everybody who passes the checks of Host and Origin, by path; one that ends in /
	// stands for all below it.
	Open map[string]http.Handler
	// Ready says why we are not ready yet, for /readyz; its text is shown. Nil: always ready.
	Ready func() error
	// Drain is how long running calls may still finish by themselves once ctx ends; default half a second.
	Drain time.Duration
	// OnListen is told the address once connections are accepted.
	OnListen func(net.Addr)
	// SessionIdle is how long an unused session lives at least; default 1h.
	SessionIdle time.Duration
	// MaxSessions bounds the sessions of one path, as MaxCalls does its calls; default 10000.
	MaxSessions int
	// ReplaySession and ReplayTotal bound what is kept for agents that lose their stream, in bytes of one session and
	// of all; default 4 MiB and 64 MiB.
	ReplaySession, ReplayTotal int64
	// Stateless serves agents of the handshake eras without sessions: nothing is asked of them, no stream is kept.
	Stateless bool
}

// ErrNeedsAuth is returned for an address that others can reach if nobody would have to say who he is.
var ErrNeedsAuth = errors.New("address is not loopback and no authentication is configured")

const (
	headerLimit   = 64 << 10
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

func (o HTTPOptions) withDefaults() HTTPOptions {
	o.Options = o.Options.withDefaults()
	if o.Addr == "" {
		o.Addr = "127.0.0.1:8931"
	}
	if o.Paths == nil {
		o.Paths = map[string]Face{"/mcp": o.Face, "/mcp/dispatch": o.Face}
	}
	o.SessionIdle = positive(o.SessionIdle, time.Hour)
	o.Drain = positive(o.Drain, lastWords)
	o.MaxSessions = positive(o.MaxSessions, 10000)
	o.ReplaySession = positive(o.ReplaySession, 4<<20)
	o.ReplayTotal = positive(o.ReplayTotal, 64<<20)
	return o
}

// HTTP serves agents over streamable HTTP until ctx ends. No connection is accepted any longer then, and running calls
// have the time of Drain to finish before they are cancelled; it returns nil at most 2 s later. Any other end is an error.
func HTTP(ctx context.Context, o HTTPOptions) error {
	o = o.withDefaults()
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	handler, err := newSite(o)
	if err != nil {
		return err
	}
	defer handler.close()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return fmt.Errorf("listen for agents: %w", err)
	}
	if o.OnListen != nil {
		o.OnListen(listener.Addr())
	}
	s := &http.Server{
		TLSConfig:         o.TLS,
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return life },
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerLimit,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() {
		if o.TLS != nil {
			failed <- s.ServeTLS(listener, "", "")
			return
		}
		failed <- s.Serve(listener)
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve agents: %w", err)
	case <-ctx.Done():
	}
	handler.hush() // who only listens would keep us
	last := time.AfterFunc(o.Drain, handler.kill)
	defer last.Stop()
	leaving, stop := context.WithTimeout(context.WithoutCancel(ctx), o.Drain+farewell)
	defer stop()
	if s.Shutdown(leaving) != nil {
		s.Close()
	}
	<-failed
	return nil
}

// Handler is the whole site as HTTP serves it, for a server of your own. Its sessions end with ctx.
func Handler(ctx context.Context, o HTTPOptions) (http.Handler, error) {
	s, err := newSite(o.withDefaults())
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, s.close)
	return s, nil
}

// site is every path we serve, behind the guard.
type site struct {
	guard
	spots []*spot
}

func newSite(o HTTPOptions) (*site, error) {
	host, err := listenHost(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("read address: %w", err)
	}
	if o.Auth == nil && !isLoopback(host) {
		return nil, fmt.Errorf("listen on %s: %w", o.Addr, ErrNeedsAuth)
	}
	mux := http.NewServeMux()
	s := &site{guard: guard{
		names:   map[string]bool{},
		anyHost: host == "", // our names are not known then, and Auth keeps strangers out
		door:    o.Auth,
		open:    map[string]bool{"/healthz": true, "/readyz": true},
		next:    newLimiter(o.Limits, mux),
	}}
	for _, name := range append(o.Hosts, host) {
		s.names[strings.ToLower(name)] = true
	}
	budget := replay.NewBudget(o.ReplayTotal)
	for path, face := range o.Paths {
		shown, err := newSpot(o, face, budget)
		if err != nil {
			s.close()
			return nil, err
		}
		s.spots = append(s.spots, shown)
		mux.Handle(path, shown)
	}
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { ready(w, o.Ready) })
	for path, handler := range o.Open {
		s.open[path] = true
		mux.Handle(path, http.MaxBytesHandler(handler, o.MaxMessage))
	}
	for path, handler := range o.Extra {
		mux.Handle(path, http.MaxBytesHandler(handler, o.MaxMessage))
	}
	return s, nil
}

func ready(w http.ResponseWriter, check func() error) {
	if check != nil {
		if err := check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ready")
}

// hush ends the streams of those who only listen.
func (s *site) hush() {
	for _, spot := range s.spots {
		spot.hush()
	}
}

// kill ends what still runs; the answers are still given.
func (s *site) kill() {
	for _, spot := range s.spots {
		spot.kill()
	}
}

// close ends every session and the streams that hang on it.
func (s *site) close() {
	var wg sync.WaitGroup
	for _, spot := range s.spots {
		wg.Go(spot.close)
	}
	wg.Wait()
}
