// Package downstream keeps one living session to each server: dials late, checks health, comes back after loss,
// carries raw JSON.
package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/process"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Fleet is the set of servers. Its methods may be called concurrently.
type Fleet struct {
	options     Options
	roster      atomic.Pointer[roster]
	applying    sync.Mutex  // held while the roster is replaced
	started     atomic.Bool // Start was called
	events      *eventQueue
	client      atomic.Pointer[Client] // of sessions to come
	watcher     *process.Watcher
	life        context.Context
	end         context.CancelCauseFunc
	supervisors sync.WaitGroup
	closing     sync.Once
}

// New makes a fleet and starts no server. It refuses servers without a name, of the same name, or whose options
// contradict each other.
func New(o Options) (*Fleet, error) {
	o = o.withDefaults()
	f := &Fleet{options: o, watcher: process.NewWatcher(o.Watcher, o.Log)}
	f.client.Store(&Client{o.ClientInfo, o.Capabilities})
	f.life, f.end = context.WithCancelCause(context.Background())
	r, _, err := f.enlist(&roster{}, o.Servers)
	if err != nil {
		return nil, err
	}
	f.roster.Store(r)
	f.events = newEventQueue(o.OnEvent)
	return f, nil
}

// Start starts all servers that are neither lazy nor disabled, at once, and returns without waiting for any. A
// server that fails to start is tried again when it is needed. The end of ctx prevents what has not begun; what
// has begun ends with Close only.
func (f *Fleet) Start(ctx context.Context) {
	f.started.Store(true)
	for _, m := range f.roster.Load().order {
		if ctx.Err() != nil {
			return
		}
		m.start()
	}
}

// start wakes a server that is to run without being asked for.
func (m *member) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.options.Lazy && m.dial != nil && !m.running && m.live == nil {
		m.wake()
	}
}

// Do sends one request and gives the raw result as the server sent it; the memory is the caller's. It waits for a
// starting server, starts a lazy or lost one, and sends once more if the session was lost before anything was
// sent, or at all if the request is idempotent. Every error is an *Error.
func (f *Fleet) Do(ctx context.Context, r Request) (json.RawMessage, error) {
	for {
		m := f.member(r.Server)
		if m == nil {
			return nil, &Error{r.Server, NotSent, ErrUnknownServer}
		}
		result, err := m.serve(ctx, r)
		if err == nil {
			return result, nil
		}
		if errors.Is(err, errReplaced) && wire.FateOf(err) == NotSent && f.member(r.Server) != m {
			continue // its successor takes the call
		}
		return nil, m.outward(err)
	}
}

// serve is Do by one member.
func (m *member) serve(ctx context.Context, r Request) (json.RawMessage, error) {
	m, err := m.of(r.Asker)
	if err != nil {
		return nil, err
	}
	defer m.leave()
	var k *clock // of the server's time; the agent's own does not stand still
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	} else {
		k, ctx = newClock(ctx, m.options.Timeout)
		defer k.stop()
	}
	result, err := m.do(ctx, k, &r)
	if err != nil && ctx.Err() == nil && worthRepeating(err, r) {
		return m.do(ctx, k, &r)
	}
	return result, err
}

func (m *member) do(ctx context.Context, k *clock, r *Request) (json.RawMessage, error) {
	s, err := m.session(ctx)
	if err != nil {
		return nil, err
	}
	return s.do(ctx, k, r)
}

// worthRepeating says if a request that failed may be sent again.
func worthRepeating(err error, r Request) bool {
	if !errors.Is(err, wire.ErrLost) || errors.Is(err, ErrTooLarge) {
		return false
	}
	switch wire.FateOf(err) {
	case NotSent:
		return true
	case SentUnknown:
		return r.Idempotent
	}
	return false
}

// outward makes the error the caller sees.
func (m *member) outward(err error) error {
	e := &Error{Server: m.options.Name, Fate: wire.FateOf(err), Err: err}
	if inner, ok := errors.AsType[*wire.Error](err); ok {
		e.Err = inner.Err
	}
	if _, theirs := errors.AsType[*RPCError](e.Err); !theirs {
		e.Err = m.reword(e.Err)
	}
	return e
}

// Fetch is Do for a request that may be repeated.
func (f *Fleet) Fetch(ctx context.Context, server, method string, params json.RawMessage) (json.RawMessage, error) {
	return f.Do(ctx, Request{Server: server, Method: method, Params: params, Idempotent: true})
}

// Hello gives the raw initialize or discover result of the living session, starting the server if need be, within
// the server's call timeout.
func (f *Fleet) Hello(ctx context.Context, server string) (json.RawMessage, error) {
	m := f.member(server)
	if m == nil {
		return nil, &Error{server, NotSent, ErrUnknownServer}
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	s, err := m.session(ctx)
	if err != nil {
		return nil, m.outward(err)
	}
	return s.hello, nil
}

// State tells a server's condition and, of a failing one, why (redacted, one line). An unknown server is failing.
func (f *Fleet) State(server string) (State, string) {
	m := f.member(server)
	if m == nil {
		return StateFailing, ErrUnknownServer.Error()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, m.why
}

// Restart ends a server's session, if there is one, and starts it anew, without waiting for either.
// It refuses unknown and disabled servers, with the sentinels, and those with an unset configuration.
func (f *Fleet) Restart(server string) error {
	m := f.member(server)
	if m == nil {
		return &Error{server, NotSent, ErrUnknownServer}
	}
	if err := m.restart(); err != nil {
		return m.outward(err)
	}
	for _, own := range m.agents.all() {
		_ = own.restart() // what may start at all was asked above
	}
	return nil
}

// Introduce says what servers are told of us from their next session on.
func (f *Fleet) Introduce(c Client) { f.client.Store(&c) }

// Notify sends a notification to a server, or to all ("") that have a session; it starts none and waits for none.
// A server gets them in order. Servers of the version without sessions want none and get none.
func (f *Fleet) Notify(server, method string, params json.RawMessage) {
	f.NotifyAs("", server, method, params)
}

// NotifyAs is Notify of one agent: of the sessions that are not shared only its own are told.
func (f *Fleet) NotifyAs(asker, server, method string, params json.RawMessage) {
	line, err := rawjson.OneLine(params)
	if err != nil {
		return
	}
	for _, m := range f.roster.Load().order {
		if server != "" && m.options.Name != server {
			continue
		}
		if own := m.agents.get(asker); own != nil {
			m = own
		}
		m.notify(method, line)
	}
}

// Leave ends the sessions that an agent has for itself.
func (f *Fleet) Leave(asker string) {
	for _, m := range f.roster.Load().order {
		if own := m.agents.remove(asker); own != nil {
			own.retire(errLeft)
		}
	}
}

// Close ends all sessions and servers, in parallel and within two seconds, and waits for every goroutine. Requests
// under way fail. It may be called more than once; the error is always nil.
func (f *Fleet) Close() error {
	f.closing.Do(func() {
		f.applying.Lock()
		for _, m := range f.roster.Load().order {
			m.close()
			for _, own := range m.agents.close(errClosing) {
				own.close()
			}
		}
		f.end(errClosing)
		f.applying.Unlock()
		f.supervisors.Wait()
		f.watcher.Close()
		f.events.close()
	})
	return nil
}
