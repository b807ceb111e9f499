package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

// session is a connection after its handshake, or during it.
type session struct {
	conn
	house
	hello     json.RawMessage // the raw initialize or discover result
	version   string
	modern    bool
	ids       atomic.Int64
	desk      desk
	questions questions
	topics    topics
	level     atomic.Pointer[json.RawMessage] // of log messages, for a server that wants it with each request
	active    atomic.Int64                    // calls under way
	lastWord  atomic.Int64                    // when the server last said something, Unix nanoseconds
	workers   sync.WaitGroup
}

// house is what a session knows of the fleet around it.
type house struct {
	client  Client
	report  func(Event)               // tells what happens; the session knows no more of it than kind, method and params
	heard   func(ctx context.Context) // waits until what the server said so far was heard by whom it was reported to
	outside askFunc                   // answers what belongs to no call; nil is nobody
	asking  time.Duration             // the longest wait for an answer of an agent
}

type askFunc = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

func (s *session) ears() wire.Ears { return wire.Ears{Heard: s.hear, Asked: s.asked} }

// hear takes a notification from the connection.
func (s *session) hear(callID int64, method string, params []byte) {
	s.touch()
	switch mcp.MCPMethod(method) {
	case "notifications/progress":
		s.progress(params)
	case mcp.MethodNotificationToolsListChanged:
		s.report(Event{Kind: ToolsChanged})
	case mcp.MethodNotificationResourcesListChanged:
		s.report(Event{Kind: ResourcesChanged})
	case mcp.MethodNotificationPromptsListChanged:
		s.report(Event{Kind: PromptsChanged})
	case "notifications/cancelled":
		s.questions.cancel(wire.Cancelled(params))
	case "notifications/subscriptions/acknowledged":
		s.topics.acknowledged(params)
	default:
		s.said(callID, method, params)
	}
}

func (s *session) progress(params []byte) {
	token, rest, ok := wire.Progress(params)
	if !ok {
		return
	}
	if c := s.desk.get(token); c != nil && c.request.Progress != nil {
		c.box.put(said{params: rest})
	}
}

// said gives a notification to the call it belongs to, and what belongs to none to the fleet's listener.
func (s *session) said(callID int64, method string, params []byte) {
	params, subscribed := s.topics.strip(params)
	if !subscribed {
		c, _ := s.desk.owner(callID)
		if c != nil && c.request.Told != nil && c.box.put(said{method: method, params: params}) {
			if callID == 0 {
				s.desk.guessed.Store(true)
			}
			return
		}
	}
	s.report(Event{Kind: Said, Method: method, Params: params})
}

func (s *session) touch() { s.lastWord.Store(time.Now().UnixNano()) }

// idleFor is how long the server has been silent and nothing was asked of it; 0 while a call runs.
func (s *session) idleFor() time.Duration {
	if s.active.Load() > 0 {
		return 0
	}
	return time.Since(time.Unix(0, s.lastWord.Load()))
}

// do sends one request of the outside and answers what the server asks meanwhile.
func (s *session) do(ctx context.Context, k *clock, r *Request) (json.RawMessage, error) {
	if s.modern {
		if result, done, err := s.translated(ctx, r); done {
			return result, err
		}
	}
	result, err := s.once(ctx, k, r, r.Params)
	if err != nil || !s.modern || r.Relay {
		return result, err
	}
	return s.rounds(ctx, k, r, result)
}

// once sends a request with some params. If ctx ends first the server is told.
func (s *session) once(ctx context.Context, k *clock, r *Request, params json.RawMessage) (json.RawMessage, error) {
	c := &call{id: s.ids.Add(1), request: r, ctx: ctx, clock: k}
	c.box.progress, c.box.told = r.Progress, r.Told
	full, err := wire.WithMeta(params, r.Meta, s.metaOf(r, c.id))
	if err != nil {
		return nil, wire.Failed(NotSent, err)
	}
	s.active.Add(1)
	defer s.active.Add(-1)
	s.desk.open(c)
	result, err := s.send(ctx, c.id, r.Method, full)
	s.desk.close(c)
	c.box.finish(err != nil && ctx.Err() != nil)
	s.desk.settle(ctx, c)
	s.heard(ctx)
	return result, err
}

// send puts the request on its way and tells the server if nobody waits for its answer any longer.
func (s *session) send(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error) {
	result, err := s.Call(ctx, id, method, params)
	if err == nil || wire.FateOf(err) == Ran {
		s.touch()
	}
	if err != nil && ctx.Err() != nil && wire.FateOf(err) == SentUnknown && s.hello != nil { // a handshake is not cancelled
		s.Notify("notifications/cancelled", wire.CancelParams(id, "the caller waits no longer"))
	}
	return result, err
}

// ask sends a request of our own, without anything in it but what the protocol wants.
func (s *session) ask(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	return s.askAs(ctx, s.ids.Add(1), method, params)
}

func (s *session) askAs(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error) {
	full, err := wire.WithMeta(params, nil, s.ownMeta(nil))
	if err != nil {
		return nil, wire.Failed(NotSent, err)
	}
	return s.send(ctx, id, method, full)
}

// metaOf is what a request of the outside carries of ours.
func (s *session) metaOf(r *Request, id int64) []wire.Member {
	own := s.ownMeta(r)
	if r.Progress == nil {
		return own
	}
	return append([]wire.Member{wire.Own("progressToken", wire.Number(id))}, own...)
}

// ping asks for a sign of life. Any answer is one, also an error.
func (s *session) ping(ctx context.Context, patience time.Duration) error {
	method := string(mcp.MethodPing)
	if s.modern { // which has no ping
		method = string(mcp.MethodServerDiscover)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.ask(ctx, method, nil)
	if err == nil || wire.FateOf(err) == Ran {
		return nil
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil // somebody else ended it
	}
	return err
}

// end closes the connection and waits for what the session runs.
func (s *session) end() {
	s.conn.Close()
	s.workers.Wait()
}
