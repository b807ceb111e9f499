package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve/seal"
)

// A modern agent is asked by the answer to its request: the call is parked, and the agent repeats the request with what
// was asked for. Where the server itself asks in this way, its state travels in ours and nothing is parked.

// rounds are the parked calls of one endpoint. It is safe for concurrent use.
type rounds struct {
	sealer *seal.Sealer
	most   int
	limit  int64 // bytes
	wait   time.Duration

	mu     sync.Mutex
	parked map[string]*round
	bytes  int64
}

func newRounds(o Options) (*rounds, error) {
	sealer, err := seal.New(o.StateKey)
	if err != nil {
		return nil, err
	}
	return &rounds{sealer: sealer, most: o.MaxParked, limit: 2 * o.MaxMessage, wait: o.ParkTime, parked: map[string]*round{}}, nil
}

var errAbandoned = errors.New("the agent did not come back with its answer")

// goRound serves a modern request that may ask for input: a new one, or one repeated with answers.
func (e *endpoint) goRound(ctx context.Context, t *task, x *exchange) (parts, *Fault) {
	if t.inputs != nil && t.inputs[0] != '{' {
		return nil, faultf(mcp.INVALID_PARAMS, "params.inputResponses must be an object")
	}
	state := seal.State{}
	if t.state != nil {
		if t.state[0] != '"' {
			return nil, faultf(mcp.INVALID_PARAMS, "params.requestState must be a string")
		}
		var err error
		if state, err = e.rounds.sealer.Open(rawjson.Unquote(t.state), x.agent.Principal, t.digest()); err != nil {
			return nil, faultf(mcp.INVALID_PARAMS, "params.requestState is refused: %v; send the request anew", err)
		}
	}
	if state.Call == "" {
		return e.attend(ctx, e.begin(ctx, t, x, state.Inner), x)
	}
	r := e.rounds.take(state.Call)
	if r == nil {
		return nil, faultf(mcp.INVALID_PARAMS, "params.requestState belongs to a call that waits no longer here; send the request anew")
	}
	r.resume(t.inputs, x.capabilities)
	if bad := r.enter(ctx, e.gate); bad != nil {
		r.cancel(errAbandoned)
		<-r.done
		return nil, bad
	}
	return e.attend(ctx, r, x)
}

// round is one call of a modern agent, which may outlive the request it came with.
type round struct {
	agent     dispatch.Agent
	digest    func() string
	size      int64
	mouth     mouth
	cancel    context.CancelCauseFunc
	asked     chan struct{} // rings when there is a question
	done      chan struct{} // closed when there is an answer
	result    parts
	bad       *Fault
	abandoned *time.Timer

	mu           sync.Mutex
	capabilities json.RawMessage
	leave        func() // gives back its slot; nil while it has none
	questions    questions
}

// begin starts a call in a goroutine of its own, which ends with it.
func (e *endpoint) begin(ctx context.Context, t *task, x *exchange, inner json.RawMessage) *round {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &round{agent: x.agent, digest: sync.OnceValue(t.digest), size: t.size, cancel: cancel, capabilities: x.capabilities,
		asked: make(chan struct{}, 1), done: make(chan struct{})}
	if x.write == nil {
		r.mouth.write = unheard
	}
	c := contactOf(x, &r.mouth, t.meta)
	c.Relay, c.Inputs, c.State = true, t.inputs, inner
	if c.Asker == "" {
		c.Asker = rand.Text() // nobody else's
	}
	c.Ask = func(asking context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		asking, done := during(asking, ctx)
		defer done()
		return r.ask(asking, method, params)
	}
	stop := context.AfterFunc(e.life, func() { cancel(context.Canceled) })
	e.crew.run(func() {
		defer close(r.done)
		defer cancel(nil)
		defer stop()
		defer r.mouth.close()
		if r.bad = r.enter(ctx, e.gate); r.bad != nil {
			return
		}
		defer r.pause()
		r.result, r.bad = e.run(ctx, t, x, c)
		if r.bad == nil {
			r.result, r.bad = e.relay(r, r.result)
		}
	})
	return r
}

// attend waits for a call's answer, or parks it when it asks. If ctx ends the call ends.
func (e *endpoint) attend(ctx context.Context, r *round, x *exchange) (parts, *Fault) {
	write := x.write
	if write == nil {
		write = unheard
	}
	r.mouth.turn(write)
	for {
		select {
		case <-r.done:
			r.pause() // it may have ended while it came back
			return r.result, r.bad
		default:
		}
		select {
		case <-r.done:
		case <-r.asked:
			if result := e.park(r, write); result != nil {
				return result, nil
			}
		case <-ctx.Done():
			r.cancel(context.Cause(ctx))
			<-r.done
		}
	}
}

// park puts a call aside and returns the answer that asks for what it needs; nil if it needs nothing any more.
func (e *endpoint) park(r *round, write func([]byte) bool) parts {
	wanted := r.questions.all()
	if wanted == nil {
		return nil
	}
	r.mouth.turn(nil)
	r.pause()
	id := rand.Text()
	if !e.rounds.put(id, r) {
		r.mouth.turn(write)
		r.questions.refuse(serverFault(overloaded, "too many calls wait for agents to answer"))
		return nil
	}
	state := e.rounds.sealer.Seal(seal.State{Principal: r.agent.Principal, Digest: r.digest(), Expires: time.Now().Add(e.rounds.wait), Call: id})
	return e.inputRequired(wanted, state)
}

func (e *endpoint) inputRequired(wanted []byte, state string, more ...[]byte) parts {
	line := append([]byte(`{"resultType":"input_required","inputRequests":`), wanted...)
	line = append(append(line, `,"requestState":`...), rawjson.Quote(state)...)
	for _, member := range more {
		line = append(append(line, ','), member...)
	}
	return dressing{info: e.info}.dress(append(line, '}'))
}

// relay puts the state of a server that asks for input into ours.
func (e *endpoint) relay(r *round, result parts) (parts, *Fault) {
	raw := dispatch.Pieces(result).Raw()
	if len(raw) > longestQuestion || rawjson.Unquote(rawjson.Member(raw, "resultType")) != "input_required" {
		return result, nil
	}
	var wanted []byte
	var inner json.RawMessage
	var more [][]byte
	rawjson.Object(raw, func(key, value []byte) {
		switch rawjson.Unquote(key) {
		case "resultType":
		case "inputRequests":
			wanted = value
		case "requestState":
			inner = value
		default:
			more = append(more, bytes.Join([][]byte{key, value}, []byte{':'}))
		}
	})
	for _, question := range rawjson.Members(wanted) {
		method := rawjson.Unquote(rawjson.Member(question, "method"))
		n, known := needOf(method, rawjson.Member(question, "params"))
		if !known {
			return nil, faultf(mcp.INTERNAL_ERROR, "the server asks for %q, which no agent answers", method)
		}
		r.mu.Lock()
		met := n.met(r.capabilities)
		r.mu.Unlock()
		if !met {
			return nil, missing(n)
		}
	}
	state := e.rounds.sealer.Seal(seal.State{Principal: r.agent.Principal, Digest: r.digest(), Expires: time.Now().Add(e.rounds.wait), Inner: inner})
	if wanted == nil {
		wanted = []byte("{}")
	}
	return e.inputRequired(wanted, state, more...), nil
}

// longestQuestion bounds a result that may ask for input.
const longestQuestion = 16 << 20

// enter waits for a slot among the running calls.
func (r *round) enter(ctx context.Context, g *gate) *Fault {
	leave, bad := g.enter(ctx, r.size)
	if bad != nil {
		return bad
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave = leave
	return nil
}

// pause gives the slot back, if it has one.
func (r *round) pause() {
	r.mu.Lock()
	leave := r.leave
	r.leave = nil
	r.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// put keeps a parked call until it is taken or abandoned. False: too many are there.
func (s *rounds) put(id string, r *round) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parked) >= s.most || s.bytes+r.size > s.limit && len(s.parked) > 0 {
		return false
	}
	s.parked[id] = r
	s.bytes += r.size
	r.abandoned = time.AfterFunc(s.wait, func() {
		if s.take(id) != nil {
			r.cancel(errAbandoned)
		}
	})
	return true
}

// take takes a call out, nil if it is not there.
func (s *rounds) take(id string) *round {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.parked[id]
	if r == nil {
		return nil
	}
	delete(s.parked, id)
	s.bytes -= r.size
	r.abandoned.Stop()
	return r
}

// digest says which request it is, whatever was added to repeat it and however it is spaced.
func (t *task) digest() string {
	dec := json.NewDecoder(bytes.NewReader(t.params))
	dec.UseNumber()
	var members map[string]any // for comparing only
	if err := dec.Decode(&members); err != nil {
		members = nil
	}
	for _, key := range []string{"_meta", "inputResponses", "requestState"} {
		delete(members, key)
	}
	canonical, err := json.Marshal([]any{t.method, members})
	if err != nil { // it was JSON a moment ago
		panic(err)
	}
	sum := sha256.Sum256(canonical)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
