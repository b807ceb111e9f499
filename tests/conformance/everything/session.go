package everything

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
)

// session is one agent of the handshake eras.
type session struct {
	id           string
	s            *state
	ctx          context.Context // ends with the session
	end          context.CancelFunc
	running      sync.WaitGroup
	alone        sink // for what belongs to no request
	version      string
	capabilities json.RawMessage
	info         json.RawMessage
	mu           sync.Mutex // guards all below
	ready        bool
	level        string
	watched      map[string]bool
	waiting      map[string]chan message
	stops        map[string]context.CancelFunc
	streams      map[string]*stream
	order        []string // of streams, oldest first
}

func (s *state) newSession(ctx context.Context, alone sink) *session {
	v := &session{id: s.id("session"), s: s, alone: alone, level: "info", watched: map[string]bool{},
		waiting: map[string]chan message{}, stops: map[string]context.CancelFunc{}, streams: map[string]*stream{}}
	v.ctx, v.end = context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[v.id] = v
	return v
}

func (s *state) session(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// close ends the session and all that runs in it.
func (v *session) close() {
	v.s.mu.Lock()
	delete(v.s.sessions, v.id)
	v.s.mu.Unlock()
	v.end()
	v.running.Wait()
}

func (v *session) begin(version string, capabilities, info json.RawMessage) {
	v.version, v.capabilities, v.info = version, capabilities, info
}

func (v *session) logLevel() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.level
}

func (v *session) setLevel(level string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.level = level
}

func (v *session) watch(uri string, on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if on {
		v.watched[uri] = true
	} else {
		delete(v.watched, uri)
	}
}

func (v *session) watches(uri string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.watched[uri]
}

// ask puts a request of our own to the agent.
func (v *session) ask(ctx context.Context, out sink, method, params string) (json.RawMessage, error) {
	n := v.s.next.Add(1)
	id := quote("everything-" + strconv.FormatInt(n, 10))
	if v.s.opts.bigIDs {
		id = strconv.FormatInt(1<<53+1+2*n, 10)
	}
	got := make(chan message, 1)
	v.mu.Lock()
	v.waiting[id] = got
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.waiting, id)
	}()
	out.send([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`))
	select {
	case m := <-got:
		if m.Error != nil {
			return nil, fmt.Errorf("%s was refused: %s", method, m.Error)
		}
		return m.Result, nil
	case <-ctx.Done():
		out.send(notification("notifications/cancelled", `{"requestId":`+id+`,"reason":"no longer needed"}`))
		return nil, ctx.Err()
	}
}

// hear takes what is no request: answers to our questions and notifications.
func (v *session) hear(m message) {
	if m.response() {
		v.mu.Lock()
		got := v.waiting[string(m.ID)]
		v.mu.Unlock()
		if got != nil {
			select {
			case got <- m:
			default: // answered twice
			}
		}
		return
	}
	switch m.Method {
	case "notifications/initialized":
		v.mu.Lock()
		v.ready = true
		v.mu.Unlock()
	case "notifications/cancelled":
		var p params
		_ = json.Unmarshal(m.Params, &p)
		v.mu.Lock()
		stop := v.stops[string(p.RequestID)]
		v.mu.Unlock()
		if stop != nil {
			stop()
		}
	case "notifications/roots/list_changed":
		v.running.Go(func() { v.rootsChanged() })
	}
}

// rootsChanged asks for the roots outside of any request and logs how many there are.
func (v *session) rootsChanged() {
	raw, err := v.ask(v.ctx, v.alone, "roots/list", `{}`)
	var r struct{ Roots []json.RawMessage }
	if err == nil && json.Unmarshal(raw, &r) == nil {
		v.alone.send(notification("notifications/message", fmt.Sprintf(`{"level":"info","logger":"everything","data":"%d roots now"}`, len(r.Roots))))
	}
}

// start runs a request; the answer goes to done, which also hears of a cancelled one (nil).
func (v *session) start(m message, out sink, hangUp func(), done func(line []byte)) {
	ctx, cancel := context.WithCancel(v.ctx)
	v.mu.Lock()
	v.stops[string(m.ID)] = cancel
	v.mu.Unlock()
	x := &exchange{ctx: ctx, s: v.s, session: v, id: m.ID, method: m.Method, out: out, hangUp: hangUp}
	v.running.Go(func() {
		defer cancel()
		line := x.run(m.Params)
		v.mu.Lock()
		delete(v.stops, string(m.ID))
		v.mu.Unlock()
		if ctx.Err() != nil {
			line = nil
		}
		done(line)
	})
}

func (x *exchange) run(raw json.RawMessage) []byte {
	if err := json.Unmarshal(orEmpty(raw), &x.p); err != nil {
		return failure(x.id, invalid("params: %v", err))
	}
	line, _ := x.answer()
	return line
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(`{}`)
	}
	return raw
}
