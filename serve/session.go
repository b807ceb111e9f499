package serve

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// session is an agent that shook hands: the one on stdio, or one of many over HTTP. It is the Peer of its agent.
type session struct {
	id      string
	who     dispatch.Agent // as far as its credential tells
	face    Face
	running running
	asks    asks
	// out sends what belongs to no request; false if that can't be. listens says whether the agent takes it now.
	out     func(line []byte) bool
	listens func() bool
	// life ends with the session.
	life context.Context
	stop context.CancelFunc

	mu     sync.Mutex
	said   greeting
	level  int
	ended  bool
	ready  bool
	detach func()
}

func (e *endpoint) newSession(ctx context.Context, id string, who dispatch.Agent) *session {
	s := &session{id: id, who: who, face: e.face, asks: asks{max: e.maxAsks, timeout: e.askTimeout}, out: unheard, listens: func() bool { return true }}
	s.life, s.stop = context.WithCancel(ctx)
	return s
}

// Agent is who it is.
func (s *session) Agent() dispatch.Agent {
	return s.as(s.who)
}

// as is the agent of a request, as its credential tells, in this session.
func (s *session) as(a dispatch.Agent) dispatch.Agent {
	a.Session, a.Client = s.id, s.greeted().client
	return a
}

// ClientInfo is what the agent said of itself.
func (s *session) ClientInfo() json.RawMessage { return s.greeted().info }

// Capabilities is what the agent said it can do.
func (s *session) Capabilities() json.RawMessage { return s.greeted().capabilities }

// Notify sends a notification that belongs to no request.
func (s *session) Notify(method string, params json.RawMessage) {
	if line := notification(method, params); line != nil && s.era().wants(method, params) {
		s.out(line)
	}
}

// Ask asks the agent outside of requests.
func (s *session) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if err := refusal(s.Capabilities(), method, params); err != nil {
		return nil, err
	}
	return s.askOutside(ctx, method, params)
}

// listenSoon is how long a question waits for an agent that does not listen yet, or not at the moment.
const listenSoon = 10 * time.Second

// askOutside puts a question where no request of the agent leads to it.
func (s *session) askOutside(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	ctx, done := during(ctx, s.life)
	defer done()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	soon := time.AfterFunc(listenSoon, func() {
		if !s.listens() {
			giveUp(errUnasked)
		}
	})
	defer soon.Stop()
	return s.asks.put(ctx, method, params, s.out)
}

// asking is how a face asks the agent while a request of ctx runs: on its stream if it has one.
func (s *session) asking(request context.Context, x *exchange, m *mouth) func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		if err := refusal(x.capabilities, method, params); err != nil {
			return nil, err
		}
		ctx, done := during(ctx, request)
		defer done()
		if x.write == nil {
			return s.askOutside(ctx, method, params)
		}
		return s.asks.put(ctx, method, params, m.say)
	}
}

// greet takes what the agent says of itself; the last word counts.
func (s *session) greet(g greeting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = g
}

func (s *session) greeted() greeting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said
}

// era is what the handshake settled for the requests of the session.
func (s *session) era() era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return era{version: s.said.version, client: s.said.client, capabilities: s.said.capabilities, level: s.level}
}

// silence keeps log messages below a level from the agent.
func (s *session) silence(level int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}

// attach tells the face of the agent, once.
func (s *session) attach() {
	s.mu.Lock()
	first := !s.ready && !s.ended && s.said.version != ""
	s.ready = s.ready || first
	s.mu.Unlock()
	if !first {
		return
	}
	detach := s.face.Attach(s)
	s.mu.Lock()
	late := s.ended
	s.detach = detach
	s.mu.Unlock()
	if late && detach != nil {
		detach()
	}
}

// end ends the session and the calls it still runs. It may be called more than once.
func (s *session) end() {
	s.stop()
	s.mu.Lock()
	first, detach := !s.ended, s.detach
	s.ended = true
	s.mu.Unlock()
	if first && detach != nil {
		detach()
	}
}
