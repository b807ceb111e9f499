package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// heartbeat is how often an agent that only listens is asked whether it is there.
const heartbeat = 30 * time.Second

// spot is one face at one path. Calls and tool lists are answered here, raw; sessions, streams and the
// rest of the protocol are mcp-go's.
type spot struct {
	*endpoint
	lib      *server.StreamableHTTPServer
	sessions *sessions
	max      int64
}

func newSpot(o HTTPOptions, face Face) (*spot, error) {
	known := newSessions(o.SessionIdle, o.MaxSessions)
	hooks := &server.Hooks{}
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, hello *mcp.InitializeRequest, _ *mcp.InitializeResult) {
		if s := server.ClientSessionFromContext(ctx); s != nil {
			known.introduce(s.SessionID(), principalOf(ctx), hello.Params.ClientInfo.Name)
		}
	})
	e, err := newEndpoint(o.Options, face, hooks)
	if err != nil {
		return nil, err
	}
	lib := server.NewStreamableHTTPServer(e.mcp,
		server.WithSessionIdManager(known),
		server.WithStreamableHTTPLogger(o.Log),
		server.WithDisableLocalhostProtection(true), // guard does it, and knows more names
		server.WithHeartbeatInterval(heartbeat),     // finds out that a listener is gone
	)
	return &spot{endpoint: e, lib: lib, sessions: known, max: o.MaxMessage}, nil
}

// ServeHTTP answers one request on the MCP endpoint.
func (s *spot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		s.post(w, r)
	case http.MethodGet, http.MethodDelete:
		if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
			s.lib.ServeHTTP(w, r) // refuses it, saying why
			return
		}
		s.within(w, r, func(*session, string) { s.lib.ServeHTTP(w, r) })
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// within serves a request inside the session its header names.
func (s *spot) within(w http.ResponseWriter, r *http.Request, serve func(n *session, client string)) {
	id := r.Header.Get(server.HeaderKeySessionID)
	if id == "" {
		http.Error(w, "the Mcp-Session-Id header is missing: initialize first", http.StatusBadRequest)
		return
	}
	n, client, done, err := s.sessions.use(id, principalOf(r.Context()))
	if err != nil {
		http.Error(w, "no such session: initialize again", http.StatusNotFound)
		return
	}
	defer done()
	serve(n, client)
}

func (s *spot) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "the content type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := s.body(w, r)
	if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
		newStream(w, r).answer(http.StatusRequestEntityTooLarge, faultAnswer(nil, faultf(mcp.INVALID_REQUEST, "message is longer than %d bytes", s.max)))
		return
	}
	if err != nil {
		return // the agent stopped in the middle: nobody is there to answer
	}
	m, bad := parseMessage(body)
	if bad != nil {
		newStream(w, r).answer(http.StatusBadRequest, faultAnswer(m.id, bad))
		return
	}
	spoken, bad := readEra(rawjson.Member(m.params, "_meta"))
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	switch {
	case m.method == "":
		w.WriteHeader(http.StatusAccepted) // a response, though we asked nothing
	case spoken.modern || mcp.IsModernProtocol(version):
		s.postModern(w, r, m, spoken, bad)
	case version != "" && !mcp.IsValidProtocolVersion(version) && m.method != string(mcp.MethodInitialize):
		http.Error(w, "this protocol version is not supported", http.StatusBadRequest)
	case m.method == string(mcp.MethodInitialize):
		s.initialize(w, r, m)
	default:
		s.within(w, r, func(n *session, client string) { s.postInSession(w, r, m, n, client) })
	}
}

// initialize opens a session, after clearing away those that nobody uses any more.
func (s *spot) initialize(w http.ResponseWriter, r *http.Request, m message) {
	idle, room := s.sessions.stale()
	for _, id := range idle {
		s.lib.Handle(nobody{}, &server.HTTPRequest{
			Method: http.MethodDelete, Context: context.WithoutCancel(r.Context()),
			Header: http.Header{http.CanonicalHeaderKey(server.HeaderKeySessionID): {id}},
		})
	}
	if !room {
		http.Error(w, "too many sessions are open; try again later", http.StatusServiceUnavailable)
		return
	}
	s.pass(w, r, m)
}

func (s *spot) postInSession(w http.ResponseWriter, r *http.Request, m message, n *session, client string) {
	switch {
	case m.id == nil && m.method == string(mcp.MethodNotificationCancelled):
		n.running.cancel(m.params)
		w.WriteHeader(http.StatusAccepted)
	case m.id != nil && m.method == string(mcp.MethodToolsList):
		result, bad := s.list(m.params)
		newStream(w, r).answer(http.StatusOK, answerTo(m.id, result, bad))
	case m.id != nil && m.method == string(mcp.MethodToolsCall):
		ctx, done := n.running.start(r.Context(), m.id)
		defer done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(n.life, cancel)()
		out := newStream(w, r)
		agent := agentOf(ctx)
		agent.Session, agent.Client = n.id, client
		result, bad := s.call(ctx, m.params, caller{agent: agent, write: out.notify})
		if cancelled(ctx) {
			out.drop()
			return
		}
		out.answer(http.StatusOK, answerTo(m.id, result, bad))
	default:
		s.pass(w, r, m)
	}
}

// postModern serves a request that stands for itself: no session, and closing the connection cancels
// it. bad is what its `_meta` lacks.
func (s *spot) postModern(w http.ResponseWriter, r *http.Request, m message, spoken era, bad *Fault) {
	answer := s.modernAnswer(m)
	if m.id == nil || answer == nil {
		s.pass(w, r, m)
		return
	}
	if wrong := checkModern(r.Header, spoken, m); wrong != nil {
		bad = wrong
	}
	out := newStream(w, r)
	if bad != nil {
		out.answer(modernStatus(bad), faultAnswer(m.id, bad))
		return
	}
	out.answer(answer(r.Context(), out))
}

// modernAnswer chooses who answers a modern request; nil leaves it to mcp-go.
func (s *spot) modernAnswer(m message) func(context.Context, *stream) (int, parts) {
	switch m.method {
	case string(mcp.MethodToolsList):
		return func(context.Context, *stream) (int, parts) {
			result, bad := s.list(m.params)
			return modernStatus(bad), answerTo(m.id, result, bad)
		}
	case string(mcp.MethodToolsCall):
		return func(ctx context.Context, out *stream) (int, parts) {
			agent := agentOf(ctx)
			result, bad := s.call(ctx, m.params, caller{agent: agent, write: out.notify})
			return modernStatus(bad), answerTo(m.id, result, bad)
		}
	case string(mcp.MethodSubscriptionsListen):
		return func(ctx context.Context, out *stream) (int, parts) {
			return http.StatusOK, s.listen(ctx, m, newLink(""), out.notify)
		}
	}
	return nil
}

// pass lets mcp-go answer. The id travels as a token of our own, since mcp-go would round large numbers.
func (s *spot) pass(w http.ResponseWriter, r *http.Request, m message) {
	passed := r.Clone(r.Context())
	if m.id == nil {
		passed.Body = io.NopCloser(bytes.NewReader(m.encode(nil)))
		s.lib.ServeHTTP(w, passed)
		return
	}
	token := newToken()
	passed.Body = io.NopCloser(bytes.NewReader(m.encode(token)))
	out := &splicer{ResponseWriter: w, token: token, id: m.id}
	s.lib.ServeHTTP(out, passed)
	out.finish()
}

// body reads the message, giving the agent time as long as something comes.
func (s *spot) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > s.max {
		return nil, &http.MaxBytesError{Limit: s.max}
	}
	control := http.NewResponseController(w)
	defer func() { _ = control.SetReadDeadline(time.Time{}) }() // a recorder has no deadlines
	return io.ReadAll(&patient{http.MaxBytesReader(w, r.Body, s.max), control})
}

type patient struct {
	io.Reader
	control *http.ResponseController
}

// Read gives every piece its own deadline.
func (p *patient) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(stall))
	return p.Reader.Read(b)
}

// nobody takes the answer to a request of our own.
type nobody struct{}

func (nobody) Header() http.Header         { return http.Header{} }
func (nobody) WriteHeader(int)             {}
func (nobody) Write(p []byte) (int, error) { return len(p), nil }
func (nobody) Flush()                      {}
func (nobody) CanStream() bool             { return false }
