package downstream

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const maxQuestions = 1024 // of one server that wait for an answer at once

// What a server gets to hear when its question reaches nobody.
var (
	errNobody = &RPCError{Code: mcp.METHOD_NOT_FOUND, Message: "method not found"}
	errShared = &RPCError{Code: mcp.INVALID_REQUEST, Message: "several agents use this connection at once and nothing tells which of them is asked: set perAgent for this server, or ask on the stream of the request"}
	errOver   = &RPCError{Code: mcp.INVALID_REQUEST, Message: "the request that this belonged to is over"}
	errMany   = &RPCError{Code: mcp.INTERNAL_ERROR, Message: fmt.Sprintf("more than %d requests wait for an answer", maxQuestions)}
)

// questions are the requests of a server that wait for an answer.
type questions struct {
	mu   sync.Mutex
	open map[*question]struct{}
}

// question is one of them.
type question struct {
	wire.Question
	taken context.Context // ends when the server takes it back
	back  context.CancelFunc
}

// begin admits a question, unless too many wait.
func (qs *questions) begin(life context.Context, q wire.Question) (*question, bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if len(qs.open) >= maxQuestions {
		return nil, false
	}
	if qs.open == nil {
		qs.open = map[*question]struct{}{}
	}
	own := &question{Question: q}
	own.taken, own.back = context.WithCancel(life)
	qs.open[own] = struct{}{}
	return own, true
}

func (qs *questions) finish(q *question) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	delete(qs.open, q)
	q.back()
}

// cancel takes back the question with an id as the server wrote it.
func (qs *questions) cancel(id json.RawMessage) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for q := range qs.open {
		if string(q.ID) == string(id) {
			q.back()
		}
	}
}

// asked takes a request of the server. Each is answered in a goroutine of its own: an answer may take a person.
func (s *session) asked(q wire.Question) {
	s.touch()
	if q.Method == string(mcp.MethodPing) {
		q.Drop(nil, nil)
		return
	}
	own, ok := s.questions.begin(s.Life(), q)
	if !ok {
		q.Drop(nil, errMany)
		return
	}
	s.workers.Go(func() {
		result, err := s.answer(own)
		took := own.taken.Err() != nil
		s.questions.finish(own)
		if !took {
			own.Answer(result, err)
		}
	})
}

// answer finds whom to ask and asks. If it could only be guessed which call of an agent is meant, and the one that
// was taken ends, another one of the same agent is tried.
func (s *session) answer(q *question) (json.RawMessage, error) {
	var tried *call
	for {
		c, shared := s.desk.addressee(q.Call)
		result, over, err := s.attempt(q, c, shared, tried)
		s.desk.answered(c)
		switch {
		case !over:
			return result, err
		case err != nil:
			tried = c
		}
	}
}

// attempt asks the agent of a call. over tells that the call ended: with an error if the agent had been asked.
func (s *session) attempt(q *question, c *call, shared bool, tried *call) (result json.RawMessage, over bool, err error) {
	switch {
	case shared:
		return nil, false, errShared
	case tried != nil && (c == nil || c.request.Asker != tried.request.Asker):
		return nil, false, errOver
	case c != nil && c.request.Ask != nil:
		during, under := s.desk.during(c)
		if !under {
			return nil, true, nil
		}
		c.box.flush(during) // what the server said before it asked comes first
		result, err = s.put(during, c.clock, q, c.request.Ask)
		if err == nil || during.Err() == nil || q.taken.Err() != nil {
			return result, false, err
		}
		return nil, q.Call == 0, errOver
	case s.outside != nil:
		result, err = s.put(q.taken, nil, q, s.outside)
		return result, false, err
	}
	return nil, false, errNobody
}

// put asks within a context, until the server takes the question back or patience ends.
func (s *session) put(ctx context.Context, k *clock, q *question, ask askFunc) (json.RawMessage, error) {
	defer k.pause()()
	ctx, cancel := context.WithTimeout(ctx, s.asking)
	defer cancel()
	defer context.AfterFunc(q.taken, cancel)()
	return ask(ctx, q.Method, q.Params)
}
