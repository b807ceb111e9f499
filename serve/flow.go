package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/serve/replay"
)

// abandonedAfter is how long a call goes on whose agent lost its stream and does not come back for it.
const abandonedAfter = 2 * time.Minute

// streamMemory is how much a request without a session may say before its agent has taken it.
const streamMemory = 1 << 20

// flow answers a request that stands for itself: what is said before the answer opens a stream, and closing the
// connection cancels the request.
func (s *spot) flow(w http.ResponseWriter, r *http.Request, m message, x *exchange, statusOf func(*Fault) int) {
	leave, ok := takeTurn(r.Context())
	if !ok {
		tooMany(w, time.Second)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	stream := replay.NewLog(nil, streamMemory).Open(replay.Options{})
	defer stream.Forget()
	if takesEvents(r) {
		x.write = func(line []byte) bool { return stream.Say(parts{line}) }
	}
	l := stream.Listen(0)
	status := http.StatusOK
	ended := make(chan struct{})
	s.crew.run(func() {
		defer close(ended)
		defer leave()
		result, bad := s.endpoint.answer(ctx, m, x)
		status = statusOf(bad)
		stream.End(answerTo(m.id, result, bad))
	})
	o := &writer{w: w}
	first, err := firstOf(r.Context(), l)
	switch {
	case err != nil:
	case first.event.Last:
		o.answer(status, first.event.Message)
	case x.write == nil: // only the answer is wanted, however long it takes
		if e, err := l.Next(r.Context()); err == nil {
			o.answer(status, e.Message)
		}
	default:
		l.Again(first.event)
		o.pour(r.Context(), l, "")
	}
	cancel()
	l.Leave()
	<-ended
}

// stream answers a request of a session. Once its stream was opened the request outlives its connection: the agent can
// come back and hear the rest.
func (s *spot) stream(w http.ResponseWriter, r *http.Request, m message, n *tenant, x *exchange) {
	leave, ok := takeTurn(r.Context())
	if !ok {
		tooMany(w, time.Second)
		return
	}
	ctx, done := n.running.start(context.WithoutCancel(r.Context()), m.id)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(n.life, cancel)
	stream := n.log.Open(replay.Options{Abandoned: cancel, Grace: abandonedAfter})
	if takesEvents(r) {
		x.write = func(line []byte) bool { return stream.Say(parts{line}) }
	}
	l := stream.Listen(0)
	defer l.Leave()
	ended := make(chan struct{})
	busy := s.sessions.still(n)
	s.crew.run(func() {
		defer close(ended)
		defer busy()
		defer leave()
		defer done()
		defer cancel()
		defer stop()
		result, bad := s.endpoint.answer(ctx, m, x)
		if cancelled(ctx) {
			stream.End(nil)
			return
		}
		if !stream.End(answerTo(m.id, result, bad)) {
			stream.End(faultAnswer(m.id, faultf(mcp.INTERNAL_ERROR, "the result is too large to be kept while the connection was lost; send the request anew")))
		}
	})
	o := &writer{w: w, ids: true, prime: x.version >= mcp.ProtocolVersion20251125}
	first, err := firstOf(r.Context(), l)
	if err == nil && first.silent && x.write == nil {
		first.event, err = l.Next(r.Context())
	}
	switch {
	case err != nil: // it could not be found again
		cancel()
		stream.Forget()
		<-ended
	case first.nothing:
		<-ended
		w.WriteHeader(http.StatusAccepted)
		stream.Forget()
	case first.event.Last:
		o.answer(http.StatusOK, first.event.Message)
		stream.Forget()
	default:
		l.Again(first.event)
		o.pour(r.Context(), l, stream.Start())
	}
}

// get serves a stream of a session: the one for what belongs to no request, or one that the agent lost.
func (s *spot) get(w http.ResponseWriter, r *http.Request, n *tenant) {
	if !takesEvents(r) {
		refuse(w, http.StatusNotAcceptable, faultf(mcp.INVALID_REQUEST, "accept text/event-stream"))
		return
	}
	n.attach()
	var l *replay.Listener
	if last := r.Header.Get(mcp.HeaderLastEventID); last != "" {
		found, after := n.log.Find(last)
		if found == nil {
			refuse(w, http.StatusBadRequest, faultf(mcp.INVALID_REQUEST, "the stream of %s is not kept any more", mcp.HeaderLastEventID))
			return
		}
		l = found.Listen(after)
	} else {
		l = n.standing.ListenOn()
	}
	defer l.Leave()
	o := &writer{w: w, ids: true, prime: n.era().version >= mcp.ProtocolVersion20251125}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.quiet, cancel)()
	o.pour(ctx, l, l.At())
}
