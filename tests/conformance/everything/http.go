package everything

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// serveHTTP speaks streamable HTTP at /mcp until ctx ends. The URL goes to stderr, so that port 0 can be used.
func (s *state) serveHTTP(ctx context.Context) error {
	l, err := net.Listen("tcp", s.opts.http)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s/mcp\n", l.Addr())
	srv := &http.Server{Handler: &web{s: s, ctx: ctx}, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		err := srv.Close()
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		return err
	}
}

type web struct {
	s   *state
	ctx context.Context // of the sessions
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if !local(r.Host) || !localOrigin(r.Header.Get("Origin")) {
		http.Error(rw, "only from this machine", http.StatusForbidden)
		return
	}
	switch {
	case r.URL.Path != "/mcp":
		http.NotFound(rw, r)
	case r.Method == http.MethodPost:
		w.post(rw, r)
	case r.Method == http.MethodGet:
		w.get(rw, r)
	case r.Method == http.MethodDelete:
		if v := w.session(rw, r); v != nil {
			v.close()
		}
	default:
		http.Error(rw, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// local says whether a Host header names this machine, so that no foreign page can reach us under its own name.
func local(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1", "[::1]"}, host)
}

func localOrigin(origin string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && local(u.Host)
}

func reply(rw http.ResponseWriter, status int, line []byte) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(line)
}

func (w *web) post(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		code := -32700
		if json.Valid(body) {
			code = -32600
		}
		reply(rw, http.StatusBadRequest, failure(nil, &fault{code: code, message: "no JSON-RPC message: " + err.Error()}))
		return
	}
	var p params
	if err := json.Unmarshal(orEmpty(m.Params), &p); err != nil {
		reply(rw, http.StatusBadRequest, failure(m.ID, invalid("params: %v", err)))
		return
	}
	header := r.Header.Get("Mcp-Protocol-Version")
	switch {
	case modernRequest(header, m, p):
		w.modern(rw, r, m, p)
	case !w.s.speaks("legacy"):
		reply(rw, http.StatusNotFound, failure(m.ID, noMethod(m.Method)))
	case header != "" && !slices.Contains(legacyVersions, header):
		http.Error(rw, "unsupported protocol version", http.StatusBadRequest)
	case m.Method == "initialize":
		w.initialize(rw, m)
	default:
		w.legacy(rw, r, m)
	}
}

// modernRequest tells the eras apart: by what the request says of itself, else by what it asks for.
func modernRequest(header string, m message, p params) bool {
	return header == modern || p.Meta != nil && p.Meta.Version != "" || m.Method == "server/discover" || m.Method == "subscriptions/listen"
}

func (w *web) initialize(rw http.ResponseWriter, m message) {
	alone := newStream("alone")
	v := w.s.newSession(w.ctx, alone)
	v.streams[alone.id] = alone
	rw.Header().Set("Mcp-Session-Id", v.id)
	got := make(chan []byte, 1)
	v.start(m, alone, func() {}, func(line []byte) { got <- line })
	reply(rw, http.StatusOK, <-got)
}

// session finds the session a request belongs to, or answers the request.
func (w *web) session(rw http.ResponseWriter, r *http.Request) *session {
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		http.Error(rw, "Mcp-Session-Id missing", http.StatusBadRequest)
		return nil
	}
	v := w.s.session(id)
	if v == nil {
		http.Error(rw, "no such session", http.StatusNotFound)
	}
	return v
}

func (w *web) legacy(rw http.ResponseWriter, r *http.Request, m message) {
	v := w.session(rw, r)
	switch {
	case v == nil:
	case !m.request():
		v.hear(m)
		rw.WriteHeader(http.StatusAccepted)
	case slices.Contains([]string{"tools/call", "resources/read", "prompts/get"}, m.Method):
		st := v.newStream()
		if v.version == legacy { // older agents stumble over an event without a message
			st.send(nil)
		}
		v.start(m, st, st.hangUp, func(line []byte) {
			if line != nil {
				st.send(line)
			}
			st.finish()
		})
		st.copyTo(r.Context(), rw, 0)
	default:
		got := make(chan []byte, 1)
		v.start(m, v.alone, func() {}, func(line []byte) { got <- line })
		reply(rw, http.StatusOK, <-got)
	}
}

// get opens the stream of what belongs to no request, or goes on with a broken one.
func (w *web) get(rw http.ResponseWriter, r *http.Request) {
	v := w.session(rw, r)
	if v == nil {
		return
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		http.Error(rw, "Accept must name text/event-stream", http.StatusNotAcceptable)
		return
	}
	name, from := "alone", 0
	if last := r.Header.Get("Last-Event-Id"); last != "" {
		var ok bool
		if name, from, ok = parseEventID(last); !ok {
			http.Error(rw, "unknown event", http.StatusBadRequest)
			return
		}
	}
	v.mu.Lock()
	st := v.streams[name]
	v.mu.Unlock()
	if st == nil {
		http.Error(rw, "unknown event", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(v.ctx, cancel)()
	st.copyTo(ctx, rw, from)
}
