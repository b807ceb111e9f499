package script

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	ready    = 2                // worlds kept ready, so that a call need not wait for one to be made
	used     = 8                // worlds kept for a next call of their scope
	wear     = 1000             // calls that one world serves
	patience = time.Second      // for code that does not stop at once when it is told to
	leftover = 2                // pieces of such code at once before no more is begun
	nudge    = time.Millisecond // between two times of telling
)

// shop makes worlds ahead of their use, keeps those that may be used again for the same scope, and sees runs to their end.
type shop struct {
	limits Limits
	fit    func(*machine) error // puts more into a new world; nil: nothing

	shelf  chan *machine
	stuck  atomic.Int32
	mu     sync.Mutex // over closed, and over beginning work
	closed bool
	kept   []*machine     // of scopes, the latest last
	work   sync.WaitGroup // runs and the making of worlds
	homes  sync.WaitGroup // the goroutines of worlds
}

func newShop(l Limits, fit func(*machine) error) *shop {
	return &shop{limits: l, fit: fit, shelf: make(chan *machine, ready)}
}

func (s *shop) make() (*machine, error) {
	m := &machine{jobs: make(chan func(), 1)} // so that the last job can be given by the one before it
	s.homes.Go(m.dwell)
	made := make(chan error, 1)
	m.jobs <- func() { made <- m.build(s.limits, s.fit) }
	if err := <-made; err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// of gives a world that served the scope before, or a new one.
func (s *shop) of(scope string) (*machine, error) {
	if scope != "" {
		if m := s.again(scope); m != nil {
			return m, nil
		}
	}
	m, err := s.take()
	if err == nil {
		m.scope = scope
	}
	return m, err
}

func (s *shop) again(scope string) *machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range slices.Backward(s.kept) {
		if m.scope == scope {
			s.kept = slices.Delete(s.kept, i, i+1)
			return m
		}
	}
	return nil
}

// keep takes a world back after a run that came to its own end, for the next of its scope, unless it is of none.
func (s *shop) keep(m *machine) bool {
	m.uses++
	if m.scope == "" || m.uses >= wear {
		return false
	}
	s.mu.Lock()
	var old *machine
	if s.kept = append(s.kept, m); s.closed || len(s.kept) > used {
		old, s.kept = s.kept[0], s.kept[1:]
	}
	s.mu.Unlock()
	if old != nil {
		old.close()
	}
	return true
}

// take gives a new world.
func (s *shop) take() (m *machine, err error) {
	select {
	case m = <-s.shelf:
	default:
		if m, err = s.make(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// restock makes the next world, once the run that took one is over: they would be in each other's way.
func (s *shop) restock() {
	if len(s.shelf) == cap(s.shelf) {
		return
	}
	m, err := s.make()
	if err != nil {
		return // whoever takes the next one makes it and hears of it
	}
	select {
	case s.shelf <- m:
	default:
		m.close()
	}
}

// begin starts a goroutine that close waits for.
func (s *shop) begin(f func()) {
	if s.enter() {
		go func() {
			defer s.work.Done()
			f()
		}()
	}
}

// enter makes close wait for work.Done, unless it is too late for any work.
func (s *shop) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Add(1)
	}
	return !s.closed
}

func (s *shop) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
	for _, m := range s.kept {
		m.close()
	}
	s.kept = nil
	for {
		select {
		case m := <-s.shelf:
			m.close()
		default:
			s.homes.Wait()
			return nil
		}
	}
}

// outcome is how a run ended.
type outcome struct {
	value json.RawMessage
	err   error
}

// do begins a run in a world of the scope and waits for its end.
func (s *shop) do(ctx context.Context, h Host, scope string, start func(*machine) error) (json.RawMessage, error) {
	if s.stuck.Load() >= leftover {
		return nil, ErrBusy
	}
	if h == nil {
		h = Closed{}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.Timeout, ErrTimeout)
	defer cancel()
	m, err := s.of(scope)
	if err != nil {
		return nil, err
	}
	ended := make(chan outcome, 1)
	r := &run{machine: m, shop: s, host: h}
	if !s.enter() {
		m.close()
		return nil, ErrClosed
	}
	m.jobs <- func() {
		defer s.work.Done()
		o := r.live(ctx, start)
		again := r.ended && !errors.Is(o.err, ErrMemory) && s.keep(m) // before anybody can ask for it
		ended <- o
		if !again {
			m.close()
		}
	}
	defer s.begin(s.restock)
	select {
	case o := <-ended:
		return o.value, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case o := <-ended:
		return o.value, o.err
	case <-late.C:
	}
	s.stuck.Add(1)
	s.begin(func() {
		<-ended
		s.stuck.Add(-1)
	})
	return nil, context.Cause(ctx)
}

// stopWith interrupts the engine from the end of ctx on, until the function it returns is called.
func (m *machine) stopWith(ctx context.Context) (over func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(gone)
		tick := time.NewTicker(nudge)
		defer tick.Stop()
		for {
			m.interrupt()
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		if !stop() {
			<-gone
		}
	}
}

// why is the reason a run was stopped for, or err where it was not.
func why(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return context.Cause(ctx)
	}
	return err
}
