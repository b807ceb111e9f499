package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/process"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/remote"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const (
	stableAfter  = 30 * time.Second // a session that lived so long forgives what was before it
	restartFirst = 500 * time.Millisecond
	restartMost  = 30 * time.Second
	patience     = 2 * time.Second  // the longest pause before a restart that a call waits for
	pingPatience = 10 * time.Second // the longest wait for the answer to a ping
)

// member is one server of the fleet. While somebody needs it, one goroutine supervises it: pauses if it failed
// lately, starts it, guards the session until that is lost. Between two needs there is no goroutine.
type member struct {
	options Server
	fleet   *Fleet
	log     *slog.Logger
	babble  *process.Log   // of what is no message
	remote  *remote.Server // used if it has a URL
	dial    func(ctx context.Context, s *session) (conn, error)
	probe   bool // whether discover comes before initialize
	pings   bool
	again   bool // whether a silent session is replaced at once, not at the next need

	framing wire.Framing
	fixed   era // the protocol, if the configuration or the transport says it

	agents    *agents                       // the members for one agent each; nil without
	asker     string                        // whose this member is, if it is one of those
	among     *agents                       // that it belongs to then
	users     atomic.Int64                  // requests that use it
	dismissed atomic.Bool                   // another one may have its name
	unused    atomic.Pointer[chan struct{}] // told when users falls to none; nil: nobody waits for that
	used      atomic.Int64                  // when the last one began, Unix nanoseconds

	mu        sync.Mutex
	known     era // the same, or what the last session found out
	state     State
	why       string
	cause     error         // behind why
	live      *session      // the ready one
	running   bool          // the supervising goroutine
	closed    error         // why there is to be no session any longer
	failures  int           // starts that failed, ever
	changed   chan struct{} // closed and replaced when one of the above changes
	pause     *backoff.ExponentialBackOff
	setbacks  int                     // failed starts and lost sessions in a row
	notBefore time.Time               // of the next start
	since     time.Time               // the session is ready
	interrupt context.CancelCauseFunc // ends the running lifetime
}

func newMember(f *Fleet, s Server) (*member, error) {
	log := f.options.Log.With("server", s.Name)
	m := &member{
		options: s, fleet: f, log: log, babble: process.NewLog(log),
		remote: remote.New(remote.Options{
			URL: s.URL, Headers: s.Headers, Login: s.Login, MaxMessage: f.options.MaxMessage, StartTimeout: s.StartTimeout,
		}),
		changed: make(chan struct{}),
		pause: &backoff.ExponentialBackOff{
			InitialInterval: restartFirst, MaxInterval: restartMost, Multiplier: 2, RandomizationFactor: 0.2,
		},
	}
	var err error
	if m.fixed, err = eraOf(s.Protocol); err != nil {
		return nil, fmt.Errorf("server %s: %w", s.Name, err)
	}
	switch s.Framing {
	case "", "newline":
	case string(wire.ContentLength):
		m.framing = wire.ContentLength
	default:
		return nil, fmt.Errorf("server %s: unknown framing %q: newline or %s", s.Name, s.Framing, wire.ContentLength)
	}
	if s.PerAgent {
		m.agents = &agents{m: m, most: f.options.MaxAgents}
	}
	switch {
	case s.Disabled:
		m.state = StateDisabled
	case s.Unset != nil:
		m.state, m.cause = StateFailing, s.Unset
		m.why = m.redact(s.Unset.Error())
	default:
		m.state = StateAsleep
		err = m.chooseDialer()
	}
	m.known = m.fixed
	return m, err
}

// chooseDialer decides how the server is reached.
func (m *member) chooseDialer() error {
	s := m.options
	switch {
	case m.fleet.options.dial != nil:
		m.dial = func(context.Context, *session) (conn, error) { return m.fleet.options.dial(s) }
	case s.Local != nil:
		m.dial = m.dialLocal
		m.fixed = eraLegacy
	case s.Transport == "stdio" && s.Command != "":
		m.pings, m.again = true, true
		m.dial = m.dialStdio
	case s.URL != "" && (s.Transport == "" || s.Transport == "http"):
		m.pings, m.probe = true, true
		m.dial = m.dialHTTP
	case s.URL != "" && s.Transport == "sse":
		m.pings, m.fixed = true, eraLegacy
		m.dial = m.dialSSE
	default:
		return fmt.Errorf("server %s: transport %q with neither command nor URL that fits", s.Name, s.Transport)
	}
	return nil
}

func (m *member) redact(text string) string { return m.fleet.options.Redact(m.options.Name, text) }

// shown makes one short line without secrets of a text from outside.
func (m *member) shown(text string, limit int) string { return wire.Clip(m.redact(text), limit) }

// reword gives err without secrets.
func (m *member) reword(err error) error { return wire.Reword(err, m.shown(err.Error(), maxWhy)) }

// session gives the ready session, after waiting for one if need be.
func (m *member) session(ctx context.Context) (*session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.forbidden(); err != nil {
		return nil, err
	}
	for failures := m.failures; ; {
		switch {
		case m.closed != nil:
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, m.closed)
		case m.live != nil && m.live.Life().Err() == nil:
			return m.live, nil
		case m.failures != failures:
			return nil, m.failing("")
		}
		if !m.running {
			if wait := time.Until(m.notBefore); wait > patience {
				return nil, m.failing(fmt.Sprintf(" (next try in %s)", wait.Round(time.Second)))
			}
			m.wake()
		}
		changed := m.changed
		m.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = wire.Ended(ctx, NotSent, "the server is still starting")
		}
		m.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
}

// forbidden is why the server may not start at all.
func (m *member) forbidden() error {
	switch {
	case m.options.Disabled:
		return ErrDisabled
	case m.options.Unset != nil:
		return m.failing("")
	}
	return nil
}

// failing is the error of a server that does not start.
func (m *member) failing(more string) error {
	if errors.Is(m.cause, ErrAuthRequired) {
		return ErrAuthRequired
	}
	return wire.Reword(fmt.Errorf("%w: %w", ErrUnavailable, m.cause), ErrUnavailable.Error()+": "+m.why+more)
}

// wake starts the supervising goroutine. The caller holds mu and saw that none runs.
func (m *member) wake() {
	if m.closed != nil {
		return
	}
	m.running = true
	m.show(StateStarting, nil)
	m.fleet.supervisors.Go(func() {
		for m.lifetime() {
		}
	})
}

// lifetime is one start and, if that succeeds, one session until its end. True asks for another one at once.
func (m *member) lifetime() bool {
	ctx, interrupt := context.WithCancelCause(m.fleet.life)
	defer interrupt(nil)
	m.mu.Lock()
	m.interrupt = interrupt
	wait, closed := time.Until(m.notBefore), m.closed
	m.mu.Unlock()
	if closed != nil {
		return m.over(nil, closed)
	}
	if !sleep(ctx, wait) {
		return m.over(nil, context.Cause(ctx))
	}
	start := time.Now()
	s, err := m.open(ctx)
	if err != nil {
		return m.over(nil, err)
	}
	m.ready(s, time.Since(start))
	why := m.guard(ctx, s)
	again := m.over(s, why)
	s.end()
	return again
}

// sleep is false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// open dials and greets within the server's start timeout.
func (m *member) open(ctx context.Context) (*session, error) {
	limit := m.options.StartTimeout
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := m.newSession()
	var err error
	if s.conn, err = m.dial(within, s); err != nil {
		return nil, m.startError(ctx, within, err)
	}
	m.mu.Lock()
	known := m.known
	m.mu.Unlock()
	if err := s.greet(within, known, m.probe); err != nil {
		if errors.Is(err, remote.ErrOlder) {
			return m.openSSE(ctx, within, s, err)
		}
		s.end()
		return nil, m.startError(ctx, within, err)
	}
	s.listen()
	return s, nil
}

// openSSE tries the older HTTP transport after the newer one was refused.
func (m *member) openSSE(ctx, within context.Context, refused *session, why error) (*session, error) {
	refused.end()
	s := m.newSession()
	var err error
	if s.conn, err = m.dialSSE(within, s); err != nil {
		if !errors.Is(err, ErrAuthRequired) {
			err = fmt.Errorf("%w; over SSE: %w", why, err)
		}
		return nil, m.startError(ctx, within, err)
	}
	if err := s.greet(within, eraLegacy, false); err != nil {
		s.end()
		return nil, m.startError(ctx, within, err)
	}
	return s, nil
}

func (m *member) newSession() *session {
	o := &m.fleet.options
	s := &session{house: house{client: *m.fleet.client.Load(), report: m.report, heard: m.fleet.events.flush, asking: o.AskTimeout}}
	if m.asker != "" && o.ClientOf != nil {
		if own, ok := o.ClientOf(m.asker); ok {
			s.client = own
		}
	}
	if o.Asked != nil {
		s.outside = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			return o.Asked(withAsker(ctx, m.asker), m.options.Name, method, params)
		}
	}
	s.touch()
	return s
}

// report tells the fleet's listener. Of a session that one agent has for itself only its beginning and what the server
// says concern anybody.
func (m *member) report(e Event) {
	if m.asker != "" && e.Kind != Said && e.Kind != Ready || m.dismissed.Load() {
		return
	}
	e.Server, e.Asker = m.options.Name, m.asker
	m.fleet.events.put(e)
}

// notify sends a notification if there is a session for it.
func (m *member) notify(method string, params json.RawMessage) {
	m.mu.Lock()
	s := m.live
	m.mu.Unlock()
	if s != nil && !s.modern {
		s.Notify(method, params)
	}
}

// startError says why a start failed: a restart or the end that was asked for, time, or the server itself.
func (m *member) startError(ctx, within context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if inner, ok := errors.AsType[*wire.Error](err); ok {
		err = inner.Err
	}
	if within.Err() != nil {
		return fmt.Errorf("%w: no handshake within %s", ErrTimeout, m.options.StartTimeout)
	}
	return fmt.Errorf("%s: %w", m.options.Describe, err)
}

// ready shows a fresh session to those who wait.
func (m *member) ready(s *session, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live = s
	m.known = eraLegacy
	if s.modern {
		m.known = eraModern
	}
	m.since = time.Now()
	m.show(StateReady, nil)
	m.report(Event{Kind: Ready})
	m.log.Info("server ready", "protocol", s.version, "took", took.Round(time.Millisecond))
}

// guard waits for the end of a session and pings it while it is idle. It gives the reason.
func (m *member) guard(ctx context.Context, s *session) error {
	every := m.fleet.options.PingEvery
	var tick, idle <-chan time.Time
	if m.pings && every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		tick = t.C
	}
	if m.asker != "" {
		t := time.NewTicker(m.fleet.options.AgentIdle)
		defer t.Stop()
		idle = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.Life().Done():
			return context.Cause(s.Life())
		case <-idle:
			if m.among.retireIdle(m) {
				return errIdle
			}
		case <-tick:
			if s.idleFor() < every/2 {
				continue
			}
			if err := s.ping(ctx, min(every, pingPatience)); err != nil && s.Life().Err() == nil {
				return fmt.Errorf("%w: %w", errSilent, err)
			}
		}
	}
}

// over records the end of a start (s is nil) or of a session and says if the next one begins at once.
func (m *member) over(s *session, why error) (again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s != nil {
		m.live = nil
		m.report(Event{Kind: Lost})
		if time.Since(m.since) >= stableAfter {
			m.forgive()
		}
	}
	m.interrupt = nil
	if errors.Is(why, errRestart) {
		m.forgive()
		m.show(StateStarting, nil)
		return true
	}
	if s == nil {
		m.failures++
		m.known = m.fixed // it may be another server now
	}
	m.notBefore = time.Now()
	if m.setbacks++; m.setbacks > 1 { // the first one may have been a whim
		m.notBefore = m.notBefore.Add(m.pause.NextBackOff())
	}
	m.running = s != nil && m.again && errors.Is(why, errSilent)
	m.show(StateFailing, why)
	if m.closed == nil && !errors.Is(why, errClosing) {
		m.log.Warn("server not available", "why", m.why)
	}
	if m.running {
		m.show(StateStarting, nil)
	}
	return m.running
}

// forgive forgets what failed. The caller holds mu.
func (m *member) forgive() {
	m.setbacks, m.notBefore = 0, time.Time{}
	m.pause.Reset()
}

// show sets the state and wakes those who wait for a change. The caller holds mu.
func (m *member) show(state State, cause error) {
	m.cause, m.why = cause, ""
	if cause != nil {
		m.why = m.shown(cause.Error(), maxWhy)
		if errors.Is(cause, ErrAuthRequired) {
			state = StateNeedsLogin
		}
	}
	m.state = state
	close(m.changed)
	m.changed = make(chan struct{})
	m.report(Event{Kind: StateChanged})
}

// restart ends what is there and begins anew at once.
func (m *member) restart() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.forbidden(); err != nil {
		return err
	}
	if m.closed != nil {
		return m.closed
	}
	switch {
	case !m.running:
		m.forgive()
		m.wake()
	case m.interrupt != nil: // otherwise a start is about to begin
		m.interrupt(errRestart)
	}
	return nil
}

func (m *member) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut(errClosing)
}

// shut lets no session begin any longer. The caller holds mu.
func (m *member) shut(why error) {
	m.closed = why
	close(m.changed)
	m.changed = make(chan struct{})
}
