package everything

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
)

type lineSink struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lineSink) send(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(append(line, '\n'))
}

// lines is the server on a pair of streams: one session, and modern requests beside it.
type lines struct {
	s       *state
	session *session
	out     *lineSink
	running sync.WaitGroup
	ctx     context.Context
	mu      sync.Mutex // guards stops
	stops   map[string]context.CancelFunc
}

// serveLines answers until in ends.
func (s *state) serveLines(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	l := &lines{s: s, out: &lineSink{out: out}, ctx: ctx, stops: map[string]context.CancelFunc{}}
	l.session = s.newSession(ctx, l.out)
	defer l.running.Wait()
	defer l.session.close()
	defer cancel()
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.take(line)
		}
		if err != nil {
			return err
		}
	}
}

func (l *lines) take(line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		l.out.send(failure(nil, &fault{code: -32700, message: "parse error"}))
		return
	}
	var p params
	_ = json.Unmarshal(orEmpty(m.Params), &p)
	switch {
	case !m.request():
		l.stop(p, m)
		l.session.hear(m)
	case p.Meta != nil && p.Meta.Version != "" || m.Method == "server/discover" || m.Method == "subscriptions/listen":
		l.modern(m, p)
	case !l.s.speaks("legacy"):
		l.out.send(failure(m.ID, noMethod(m.Method)))
	default:
		l.session.start(m, l.out, func() {}, func(line []byte) {
			if line != nil {
				l.out.send(line)
			}
		})
	}
}

func (l *lines) stop(p params, m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if stop := l.stops[string(p.RequestID)]; m.Method == "notifications/cancelled" && stop != nil {
		stop()
	}
}

func (l *lines) modern(m message, p params) {
	if f := l.s.unfit(p); f != nil {
		l.out.send(failure(m.ID, f))
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	l.stops[string(m.ID)] = cancel
	l.mu.Unlock()
	l.running.Go(func() {
		defer cancel()
		line := l.s.modernAnswer(ctx, m, p, l.out)
		l.mu.Lock()
		delete(l.stops, string(m.ID))
		l.mu.Unlock()
		if line != nil && ctx.Err() == nil {
			l.out.send(line)
		}
	})
}

func (s *state) modernAnswer(ctx context.Context, m message, p params, out sink) []byte {
	if m.Method == "subscriptions/listen" {
		_, closed := s.listen(m.ID, p.Notifications, out)
		<-ctx.Done()
		closed()
		return nil
	}
	x := &exchange{ctx: ctx, s: s, id: m.ID, method: m.Method, p: p, out: out, hangUp: func() {}}
	line, _ := x.answer()
	return line
}

// unfit is what is wrong with a modern request before its method is looked at; nil if nothing is.
func (s *state) unfit(p params) *fault {
	switch {
	case !s.speaks("modern"):
		return noMethod("server/discover")
	case p.Meta == nil || p.Meta.Version == "" || p.Meta.Capabilities == nil:
		return &fault{code: -32602, message: "_meta must name the protocol version and the client's capabilities", status: 400}
	case p.Meta.Version != modern:
		versions, _ := json.Marshal(s.versions())
		return &fault{code: -32022, message: "protocol version not supported", status: 400,
			data: `{"supported":` + string(versions) + `,"requested":` + quote(p.Meta.Version) + `}`}
	}
	return nil
}
