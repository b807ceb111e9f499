package serve

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve/replay"
)

// sessionHeader names a session in requests and in the answer to initialize.
const sessionHeader = "Mcp-Session-Id"

// spot is one face at one path.
type spot struct {
	*endpoint
	sessions  *sessions
	max       int64
	stateless bool
}

func newSpot(o HTTPOptions, face Face, budget *replay.Budget) (*spot, error) {
	e, err := newEndpoint(o.Options, face)
	if err != nil {
		return nil, err
	}
	known := &sessions{idle: o.SessionIdle, max: o.MaxSessions, keep: o.ReplaySession, budget: budget, byID: map[string]*tenant{}}
	s := &spot{endpoint: e, sessions: known, max: o.MaxMessage, stateless: o.Stateless}
	e.crew.run(func() { known.run(e.life) })
	return s, nil
}

// close ends every session and what hangs on it.
func (s *spot) close() {
	s.sessions.close()
	s.endpoint.close()
}

// ServeHTTP answers one request on the MCP endpoint.
func (s *spot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		s.post(w, r)
	case (r.Method == http.MethodGet || r.Method == http.MethodDelete) && !s.stateless && !mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)):
		s.within(w, r, func(n *tenant) {
			if r.Method == http.MethodGet {
				s.get(w, r, n)
				return
			}
			s.sessions.end(n.id)
			w.WriteHeader(http.StatusOK)
		})
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, faultf(mcp.INVALID_REQUEST, "method not allowed"))
	}
}

// refuse answers a request that is none, or whose id nobody knows.
func refuse(w http.ResponseWriter, status int, bad *Fault) {
	(&writer{w: w}).answer(status, faultAnswer(nil, bad))
}

// within serves a request inside the session its header names.
func (s *spot) within(w http.ResponseWriter, r *http.Request, serve func(n *tenant)) {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		refuse(w, http.StatusBadRequest, faultf(mcp.INVALID_REQUEST, "the %s header is missing: initialize first", sessionHeader))
		return
	}
	n, done, err := s.sessions.use(id, principalOf(r.Context()))
	if err != nil {
		refuse(w, http.StatusNotFound, faultf(mcp.INVALID_REQUEST, "no such session: initialize again"))
		return
	}
	defer done()
	serve(n)
}

func (s *spot) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, faultf(mcp.INVALID_REQUEST, "the content type must be application/json"))
		return
	}
	body, err := s.body(w, r)
	if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
		refuse(w, http.StatusRequestEntityTooLarge, faultf(mcp.INVALID_REQUEST, "message is longer than %d bytes", s.max))
		return
	}
	if err != nil {
		return // the agent stopped in the middle: nobody is there to answer
	}
	if s.postBatch(w, r, body) {
		return
	}
	m, bad := parseMessage(body)
	if bad != nil {
		(&writer{w: w}).answer(http.StatusBadRequest, faultAnswer(m.id, bad))
		return
	}
	spoken, bad := readEra(rawjson.Member(m.params, "_meta"))
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	switch {
	case m.method != "" && (spoken.modern || mcp.IsModernProtocol(version)):
		s.postModern(w, r, m, spoken, bad)
	case version != "" && !mcp.IsValidProtocolVersion(version) && m.method != "initialize":
		(&writer{w: w}).answer(http.StatusBadRequest, faultAnswer(m.id, unsupported(version)))
	case m.method == "initialize" && m.id != nil:
		s.initialize(w, r, m)
	case s.stateless:
		s.postAlone(w, r, m)
	default:
		s.within(w, r, func(n *tenant) { s.postInSession(w, r, m, n) })
	}
}

// initialize opens a session.
func (s *spot) initialize(w http.ResponseWriter, r *http.Request, m message) {
	n := s.sessions.open(s.endpoint, agentOf(r.Context()))
	result, bad := s.endpoint.answer(r.Context(), m, &exchange{session: n.session})
	if s.stateless {
		n.leave()
		n.id = ""
	} else if err := s.sessions.add(n); err != nil {
		n.leave()
		refuse(w, http.StatusServiceUnavailable, faultf(overloaded, "%v; try again later", err))
		return
	}
	if n.id != "" {
		w.Header().Set(sessionHeader, n.id)
	}
	(&writer{w: w}).answer(http.StatusOK, answerTo(m.id, result, bad))
}

func (s *spot) postInSession(w http.ResponseWriter, r *http.Request, m message, n *tenant) {
	x := &exchange{agent: n.as(agentOf(r.Context())), era: n.era(), session: n.session}
	switch {
	case m.method == "" || m.id == nil:
		s.hear(n.session, m)
		w.WriteHeader(http.StatusAccepted)
	case quick(m.method):
		result, bad := s.endpoint.answer(r.Context(), m, x)
		(&writer{w: w}).answer(http.StatusOK, answerTo(m.id, result, bad))
	default:
		n.attach()
		s.stream(w, r, m, n, x)
	}
}

// hear takes what needs no answer.
func (s *spot) hear(n *session, m message) {
	switch {
	case m.method == "":
		if !n.asks.answered(m) {
			s.log.Debug("response to no request of ours")
		}
	case m.method == "notifications/initialized":
		n.attach()
	default:
		s.notified(n, m)
	}
}

// postAlone serves a request of the handshake eras without a session.
func (s *spot) postAlone(w http.ResponseWriter, r *http.Request, m message) {
	n := s.newSession(r.Context(), "", agentOf(r.Context()))
	defer n.end()
	if m.method == "" || m.id == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	x := &exchange{agent: n.who, era: n.era(), session: n}
	s.flow(w, r, m, x, func(*Fault) int { return http.StatusOK })
}

// postModern serves a request that stands for itself: no session, and closing the connection cancels
// it. bad is what its `_meta` lacks.
func (s *spot) postModern(w http.ResponseWriter, r *http.Request, m message, spoken era, bad *Fault) {
	if m.id == nil {
		w.WriteHeader(http.StatusAccepted) // there is none that means anything over HTTP
		return
	}
	x := &exchange{agent: agentOf(r.Context()), era: spoken}
	x.agent.Client = spoken.client
	if wrong := checkModern(r.Header, spoken, m); wrong != nil {
		bad = wrong
	}
	if bad == nil && m.method == "tools/call" {
		bad = s.checkParams(r.Header, m, x)
	}
	if bad != nil {
		(&writer{w: w}).answer(modernStatus(bad), faultAnswer(m.id, bad))
		return
	}
	x.modern = true
	s.flow(w, r, m, x, modernStatus)
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

// postBatch answers a batch of an agent that may send one; false if body is none.
func (s *spot) postBatch(w http.ResponseWriter, r *http.Request, body []byte) bool {
	if !strings.HasPrefix(strings.TrimLeft(string(body[:min(len(body), 64)]), " \t\r\n"), "[") || s.stateless {
		return false
	}
	n, done, err := s.sessions.use(r.Header.Get(sessionHeader), principalOf(r.Context()))
	if err != nil {
		return false
	}
	defer done()
	batch, bad := readBatch(body, n.greeted().version)
	if batch == nil && bad == nil {
		return false
	}
	if bad != nil {
		refuse(w, http.StatusBadRequest, bad)
		return true
	}
	leave, ok := takeTurn(r.Context())
	if !ok {
		tooMany(w, time.Second)
		return true
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(n.life, cancel)()
	answer := answerBatch(batch, func(m message) { s.hear(n.session, m) }, func(m message) parts {
		ctx, done := n.running.start(ctx, m.id)
		defer done()
		result, bad := s.endpoint.answer(ctx, m, &exchange{agent: n.as(agentOf(ctx)), era: n.era(), session: n.session})
		if cancelled(ctx) {
			return nil
		}
		return answerTo(m.id, result, bad)
	})
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return true
	}
	(&writer{w: w}).answer(http.StatusOK, answer)
	return true
}
