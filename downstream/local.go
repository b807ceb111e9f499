package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const (
	localBacklog = 4096 // notifications that wait to be heard
	barrier      = "barrier"
	graceLocal   = time.Second // for handlers that do not heed their context
)

// localConn is the connection to a server in this process. Requests are function calls; notifications come
// through a channel, and a marker sent behind them tells when those of a call have all been heard.
type localConn struct {
	server  *server.MCPServer
	session *localSession
	heard   func(call int64, method string, params []byte)
	alive   context.Context
	lose    context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	workers sync.WaitGroup
}

// localSession is what the server knows of us.
type localSession struct {
	id          string
	out         chan mcp.JSONRPCNotification
	initialized atomic.Bool
}

func (s *localSession) SessionID() string { return s.id }
func (s *localSession) Initialize()       { s.initialized.Store(true) }
func (s *localSession) Initialized() bool { return s.initialized.Load() }
func (s *localSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return s.out
}

func (m *member) dialLocal(ctx context.Context, s *session) (conn, error) {
	srv, err := m.options.Local()
	if err != nil {
		return nil, err
	}
	c := &localConn{server: srv, heard: s.hear, session: &localSession{out: make(chan mcp.JSONRPCNotification, localBacklog)}}
	c.session.id = fmt.Sprintf("%s-%p", m.options.Name, c.session)
	if err := srv.RegisterSession(ctx, c.session); err != nil {
		return nil, fmt.Errorf("register session: %w", err)
	}
	c.alive, c.lose = context.WithCancelCause(context.Background())
	c.workers.Go(c.pump)
	return c, nil
}

func (c *localConn) Life() context.Context { return c.alive }

func (c *localConn) Settle(string) {}

func (c *localConn) Listen() {}

// pump hears notifications until the connection ends.
func (c *localConn) pump() {
	for {
		select {
		case n := <-c.session.out:
			c.hear(n)
		case <-c.alive.Done():
			return
		}
	}
}

func (c *localConn) hear(n mcp.JSONRPCNotification) {
	if n.Method == barrier {
		if passed, ok := n.Params.AdditionalFields[barrier].(chan struct{}); ok {
			close(passed)
		}
		return
	}
	if params, err := json.Marshal(n.Params); err == nil {
		c.heard(0, n.Method, params)
	}
}

// flush waits until everything said so far was heard.
func (c *localConn) flush(ctx context.Context) {
	passed := make(chan struct{})
	var n mcp.JSONRPCNotification
	n.Method = barrier
	n.Params.AdditionalFields = map[string]any{barrier: passed}
	select {
	case c.session.out <- n:
	case <-ctx.Done():
		return
	}
	select {
	case <-passed:
	case <-ctx.Done():
	}
}

func (c *localConn) Call(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.alive, func() { cancel(wire.Lost(c.alive)) })()
	type answered struct {
		result json.RawMessage
		err    error
	}
	done := make(chan answered, 1)
	run := func() {
		result, err := c.handle(ctx, wire.RequestLine(id, method, params))
		c.flush(ctx)
		done <- answered{result, err}
	}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.workers.Go(run)
	}
	c.mu.Unlock()
	if closed {
		return nil, wire.Failed(NotSent, wire.Lost(c.alive))
	}
	select {
	case a := <-done:
		return a.result, a.err
	case <-ctx.Done():
		return nil, wire.Ended(ctx, SentUnknown, "no answer")
	}
}

// handle calls the server. A panic of one of its handlers is an error of that call.
func (c *localConn) handle(ctx context.Context, line []byte) (result json.RawMessage, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = wire.Failed(Ran, fmt.Errorf("panic in the server: %v", r))
		}
	}()
	answer := c.server.HandleMessage(c.server.WithContext(ctx, c.session), line)
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, wire.Failed(Ran, fmt.Errorf("write the answer: %w", err))
	}
	m, ok := wire.Parse(raw)
	if !ok {
		return nil, wire.Failed(Ran, errors.New("the server gave no answer"))
	}
	return m.Answer()
}

func (c *localConn) Notify(method string, params []byte) {
	c.server.HandleMessage(c.server.WithContext(c.alive, c.session), wire.NotificationLine(method, params))
}

// close waits for the handlers, though not for ever: one that ignores its context can't be ended.
func (c *localConn) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.lose(wire.ErrLost)
	c.server.UnregisterSession(context.Background(), c.session.id)
	done := make(chan struct{})
	go func() {
		c.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(graceLocal):
	}
}
