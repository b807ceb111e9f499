package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

var errNoSession = errors.New("no such session")

// session is one agent of the handshake eras over HTTP.
type session struct {
	id      string
	running running
	// life ends with the session.
	life context.Context
	end  context.CancelFunc

	// Guarded by sessions.mu.
	principal, client string
	used              time.Time
	busy              int // requests being served
}

// sessions knows every living session of one face. mcp-go asks it for ids, so that both agree on who
// lives. It is safe for concurrent use.
type sessions struct {
	idle time.Duration
	max  int

	mu   sync.Mutex
	byID map[string]*session
}

func newSessions(idle time.Duration, most int) *sessions {
	return &sessions{idle: idle, max: most, byID: map[string]*session{}}
}

// Generate opens a session that nobody owns yet.
func (s *sessions) Generate() string {
	n := &session{id: rand.Text(), used: time.Now()}
	n.life, n.end = context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[n.id] = n
	return n.id
}

// Validate says whether a session lives; an ended one is not told from one that never was.
func (s *sessions) Validate(id string) (terminated bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id] == nil {
		return false, errNoSession
	}
	return false, nil
}

// Terminate ends a session and the calls it still runs.
func (s *sessions) Terminate(id string) (notAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.byID[id]; n != nil {
		n.end()
		delete(s.byID, id)
	}
	return false, nil
}

// introduce notes who opened a session.
func (s *sessions) introduce(id, principal, client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.byID[id]; n != nil {
		n.principal, n.client = principal, client
	}
}

// use finds the session of a request and keeps it alive until done is called. A session of another
// principal does not exist.
func (s *sessions) use(id, principal string) (n *session, client string, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.byID[id]
	if n == nil || n.principal != principal {
		return nil, "", nil, errNoSession
	}
	n.busy++
	return n, n.client, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		n.busy--
		n.used = time.Now()
	}, nil
}

// stale lists the sessions idle for too long, and whether there is room for one more beside the rest.
func (s *sessions) stale() (ids []string, room bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, n := range s.byID {
		if n.busy == 0 && time.Since(n.used) > s.idle {
			ids = append(ids, id)
		}
	}
	return ids, len(s.byID)-len(ids) < s.max
}
