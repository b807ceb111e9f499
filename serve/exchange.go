package serve

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// exchange is one request being served: who asks, and how he is reached before the answer.
type exchange struct {
	agent dispatch.Agent
	era
	// session is that of an agent that shook hands; nil for a modern request.
	session *session
	// write sends one message before the answer, false if that can't be. Nil: the agent takes none.
	write func(line []byte) bool
}

// mouth speaks to the agent of one request until that is answered. While nobody listens it keeps what it has to say,
// but for the oldest. It is safe for concurrent use.
type mouth struct {
	mu    sync.Mutex
	shut  bool
	write func(line []byte) bool
	held  [][]byte
}

// maxHeld is how many messages wait for an agent to come back.
const maxHeld = 256

// say sends one message; nil is none. False: it was not sent.
func (m *mouth) say(line []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shut || line == nil {
		return false
	}
	if m.write != nil {
		return m.write(line)
	}
	if len(m.held) == maxHeld {
		m.held = m.held[1:]
	}
	m.held = append(m.held, line)
	return true
}

// turn makes write the way to the agent, nil for none, and says first what was kept.
func (m *mouth) turn(write func(line []byte) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.write = write; write == nil {
		return
	}
	for _, line := range m.held {
		write(line)
	}
	m.held = nil
}

// close ends speaking.
func (m *mouth) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut, m.held = true, nil
}

// unheard is the way to an agent that takes no messages before the answer.
func unheard([]byte) bool { return false }

// contactOf is what a face reaches the agent of a request by, but for Ask. m must be closed once the face is done.
func contactOf(x *exchange, m *mouth, meta json.RawMessage) dispatch.Contact {
	c := dispatch.Contact{Capabilities: x.capabilities, Asker: x.agent.Session}
	if x.write == nil {
		return c
	}
	if token := rawjson.Member(meta, "progressToken"); token != nil && token[0] != 'n' {
		c.Progress = func(params json.RawMessage) { m.say(progressMessage(token, params)) }
	}
	c.Told = func(method string, params json.RawMessage) {
		if x.wants(method, params) {
			m.say(notification(method, params))
		}
	}
	return c
}

var errOver = errors.New("the request it belongs to is over")

// during makes ctx end with the request as well.
func during(ctx, request context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(request, func() { cancel(errOver) })
	return ctx, func() { stop(); cancel(nil) }
}
