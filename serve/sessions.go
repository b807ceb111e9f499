package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/serve/replay"
)

var (
	errNoSession = errors.New("no such session")
	errFull      = errors.New("too many sessions are open")
)

// tenant is a session over HTTP.
type tenant struct {
	*session
	// log keeps the streams of its requests, and standing is the one for what belongs to no request.
	log      *replay.Log
	standing *replay.Stream

	// Guarded by sessions.mu.
	used time.Time
	busy int // requests being served, and streams open
}

// sessions knows every living session of one face. It is safe for concurrent use.
type sessions struct {
	idle   time.Duration
	max    int
	keep   int64 // bytes kept for replay, of each session
	budget *replay.Budget

	mu   sync.Mutex
	byID map[string]*tenant
}

// open makes a session that is not found before it is kept.
func (s *sessions) open(e *endpoint, who dispatch.Agent) *tenant {
	n := &tenant{session: e.newSession(e.life, rand.Text(), who), log: replay.NewLog(s.budget, s.keep)}
	n.standing = n.log.Open(replay.Options{Lossy: true})
	n.out, n.listens = func(line []byte) bool { return n.standing.Say(parts{line}) }, n.standing.Heard
	return n
}

// add makes a session one that is found. Where there is no room those nobody uses any more make some.
func (s *sessions) add(n *tenant) error {
	if s.full() {
		s.sweep()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) >= s.max {
		return errFull
	}
	n.used = time.Now()
	s.byID[n.id] = n
	return nil
}

func (s *sessions) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID) >= s.max
}

// use finds the session of a request and keeps it alive until done is called. A session of another principal does not
// exist.
func (s *sessions) use(id, principal string) (n *tenant, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.byID[id]
	if n == nil || n.who.Principal != principal {
		return nil, nil, errNoSession
	}
	return n, s.hold(n), nil
}

// hold keeps a session alive until done is called; the caller has the lock.
func (s *sessions) hold(n *tenant) (done func()) {
	n.busy++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		n.busy--
		n.used = time.Now()
	}
}

// still keeps a session that is in use alive for longer.
func (s *sessions) still(n *tenant) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hold(n)
}

// end ends a session and the calls it still runs.
func (s *sessions) end(id string) {
	s.mu.Lock()
	n := s.byID[id]
	delete(s.byID, id)
	s.mu.Unlock()
	if n != nil {
		n.leave()
	}
}

func (n *tenant) leave() {
	n.session.end()
	n.log.Close()
}

// sweep ends the sessions that nobody has used for too long.
func (s *sessions) sweep() {
	var idle []string
	s.mu.Lock()
	for id, n := range s.byID {
		if n.busy == 0 && time.Since(n.used) > s.idle {
			idle = append(idle, id)
		}
	}
	s.mu.Unlock()
	for _, id := range idle {
		s.end(id)
	}
}

// run sweeps until ctx ends.
func (s *sessions) run(ctx context.Context) {
	tick := time.NewTicker(max(s.idle/8, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.sweep()
		case <-ctx.Done():
			return
		}
	}
}

// close ends all sessions.
func (s *sessions) close() {
	s.mu.Lock()
	all := s.byID
	s.byID = map[string]*tenant{}
	s.mu.Unlock()
	for _, n := range all {
		n.leave()
	}
}
