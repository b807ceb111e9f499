package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// endpoint is one face made ready to be spoken to; both transports share it. It is safe for concurrent use.
type endpoint struct {
	face Face
	info json.RawMessage // serverInfo
	log  *slog.Logger
	gate *gate
	crew *crew

	rounds     *rounds
	maxAsks    int
	askTimeout time.Duration

	// quiet ends what only listens, life all that runs.
	quiet, life context.Context
	hush, kill  context.CancelFunc
}

// newEndpoint readies face; o has its defaults. It must be closed.
func newEndpoint(o Options, face Face) (*endpoint, error) {
	if face == nil {
		return nil, errors.New("serve: no face given")
	}
	info, err := json.Marshal(mcp.Implementation{Name: o.Name, Version: o.Version})
	if err != nil {
		return nil, fmt.Errorf("write serverInfo: %w", err)
	}
	e := &endpoint{
		face: face, info: info, log: o.Log, gate: newGate(o.MaxCalls, 2*o.MaxMessage), crew: newCrew(),
		maxAsks: o.MaxAsks, askTimeout: o.AskTimeout,
	}
	if e.rounds, err = newRounds(o); err != nil {
		return nil, err
	}
	e.life, e.kill = context.WithCancel(context.Background())
	e.quiet, e.hush = context.WithCancel(e.life)
	return e, nil
}

// close ends what still runs and waits for it, though not for ever.
func (e *endpoint) close() {
	e.kill()
	idle := make(chan struct{})
	go func() { e.crew.wait(); close(idle) }()
	select {
	case <-idle:
	case <-time.After(farewell):
		e.log.Warn("calls still running at the end are left behind")
	}
}

// quick says whether a request is answered from memory, so that it needs no goroutine of its own.
func quick(method string) bool {
	switch method {
	case "initialize", "ping", "server/discover", "shutdown":
		return true
	}
	return false
}

// removed are the methods of the handshake eras that modern agents have no more.
var removed = []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}

// answer answers one request. It waits while too many run, and returns early only if the face does once ctx ends.
func (e *endpoint) answer(ctx context.Context, m message, x *exchange) (parts, *Fault) {
	if x.modern && slices.Contains(removed, m.method) {
		return nil, faultf(mcp.METHOD_NOT_FOUND, "%s was removed in protocol version %s", m.method, mcp.ProtocolVersion20260728)
	}
	switch m.method {
	case "initialize":
		g := readGreeting(m.params)
		x.session.greet(g)
		return e.greet(x.session.Agent(), g), nil
	case "ping", "shutdown":
		return parts{[]byte("{}")}, nil
	case "server/discover", "subscriptions/listen":
		if !x.modern {
			return nil, faultf(mcp.METHOD_NOT_FOUND, "%s needs protocol version %s or later", m.method, mcp.ProtocolVersion20260728)
		}
		if m.method == "server/discover" {
			return e.discover(x.agent), nil
		}
		return e.listen(ctx, m, x)
	case "tools/list":
		result, bad := e.ask(ctx, m, x)
		if bad == noMethod {
			return e.list(m.params, x)
		}
		return result, bad
	case "logging/setLevel":
		return e.setLevel(ctx, m, x)
	}
	result, bad := e.ask(ctx, m, x)
	if bad == noMethod {
		bad = notFound(m.method)
	}
	return result, bad
}

func notFound(method string) *Fault {
	return faultf(mcp.METHOD_NOT_FOUND, "method %s not found", method)
}

// ask puts a request to the face.
func (e *endpoint) ask(ctx context.Context, m message, x *exchange) (parts, *Fault) {
	t, bad := e.taskOf(m, x)
	if bad != nil {
		return nil, bad
	}
	if x.modern && t.repeatable() {
		return e.goRound(ctx, t, x)
	}
	mouth := &mouth{write: x.write}
	if x.write == nil {
		mouth.write = unheard
	}
	defer mouth.close()
	c := contactOf(x, mouth, t.meta)
	if x.session != nil {
		c.Ask = x.session.asking(ctx, x, mouth)
	}
	if !strings.HasSuffix(t.method, "/list") { // which come from memory
		leave, bad := e.gate.enter(ctx, t.size)
		if bad != nil {
			return nil, bad
		}
		defer leave()
	}
	return e.run(ctx, t, x, c)
}

// task is one request on its way to the face.
type task struct {
	requestParams
	method string
	params json.RawMessage
	size   int64
}

func (e *endpoint) taskOf(m message, x *exchange) (*task, *Fault) {
	p, bad := readParams(m.params)
	if bad != nil {
		return nil, bad
	}
	if m.method == "tools/call" && !p.named {
		return nil, faultf(mcp.INVALID_PARAMS, "params.name must be a string: the tool to call")
	}
	return &task{requestParams: p, method: m.method, params: m.params, size: int64(len(m.params))}, nil
}

// repeatable says whether a modern agent can be asked for input by the answer.
func (t *task) repeatable() bool {
	switch t.method {
	case "tools/call", "prompts/get", "resources/read":
		return true
	}
	return false
}

// run lets the face do a task and brings what it says into the form of the era.
func (e *endpoint) run(ctx context.Context, t *task, x *exchange, c dispatch.Contact) (parts, *Fault) {
	said, err := e.doFace(ctx, t, x.agent, c)
	switch {
	case errors.Is(err, ErrNoMethod):
		return nil, noMethod
	case err != nil:
		return nil, faultOf(err)
	}
	result, err := oneLine(parts(said))
	if err != nil {
		e.log.Error("face returned no JSON object", "method", t.method, "tool", t.name, "bytes", parts(said).size(), "err", err)
		if t.method != "tools/call" {
			return nil, faultf(mcp.INTERNAL_ERROR, "%s failed inside the proxy", t.method)
		}
		result = parts{internalResult}
	}
	if !x.modern {
		return result, nil
	}
	return dressing{e.info, e.hints(t.method, x.agent)}.dress(dispatch.Pieces(result).Raw()), nil
}

// doFace keeps a panic inside one request.
func (e *endpoint) doFace(ctx context.Context, t *task, a dispatch.Agent, c dispatch.Contact) (said dispatch.Pieces, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("request panicked", "method", t.method, "tool", t.name, "panic", p, "stack", string(debug.Stack()))
			said, err = dispatch.Pieces{internalResult}, nil
			if t.method != "tools/call" {
				said, err = nil, faultf(mcp.INTERNAL_ERROR, "%s failed inside the proxy", t.method)
			}
		}
	}()
	if t.method == "tools/call" {
		return e.face.Call(ctx, Call{Agent: a, Name: t.name, Arguments: t.arguments, Params: t.params, Meta: t.meta, Contact: c})
	}
	return e.face.Handle(ctx, Request{Agent: a, Method: t.method, Params: t.params, Meta: t.meta, Contact: c})
}

// noMethod says that the face has no such method.
var noMethod = faultf(mcp.METHOD_NOT_FOUND, "method not found")

// faultOf is what an agent sees of a face's error: the fault it is, else that there is no such tool.
func faultOf(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	return faultf(mcp.INVALID_PARAMS, "%v", err)
}

// setLevel answers logging/setLevel: the session keeps the level, the face may hear of it.
func (e *endpoint) setLevel(ctx context.Context, m message, x *exchange) (parts, *Fault) {
	level := slices.Index(levels, rawjson.Unquote(rawjson.Member(m.params, "level")))
	if level < 0 {
		return nil, faultf(mcp.INVALID_PARAMS, "params.level must be one of %v", levels)
	}
	x.session.silence(level)
	result, bad := e.ask(ctx, m, x)
	if bad == noMethod && e.has(x.agent, "logging", "") {
		return parts{[]byte("{}")}, nil
	}
	if bad == noMethod {
		bad = notFound(m.method)
	}
	return result, bad
}

// notified hears a notification of an agent that shook hands.
func (e *endpoint) notified(s *session, m message) {
	switch m.method {
	case "notifications/cancelled":
		s.running.cancel(m.params)
	case "notifications/initialized":
	default:
		defer func() {
			if p := recover(); p != nil {
				e.log.Error("notification panicked", "method", m.method, "panic", p, "stack", string(debug.Stack()))
			}
		}()
		e.face.Notified(s.Agent(), m.method, m.params)
	}
}

var errNoObject = errors.New("is not a JSON object")

// oneLine returns a result without line breaks: as it is, if there are none.
func oneLine(p parts) (parts, error) {
	for _, piece := range p {
		if bytes.IndexByte(piece, '\n') >= 0 || bytes.IndexByte(piece, '\r') >= 0 {
			raw, err := rawjson.OneLine(dispatch.Pieces(p).Raw())
			if err != nil {
				return nil, err
			}
			p = parts{bytes.TrimSpace(raw)}
			break
		}
	}
	if len(p) == 0 || len(p[0]) == 0 || p[0][0] != '{' {
		return nil, errNoObject
	}
	return p, nil
}

// internalResult is what an agent sees of a bug of ours; the log has the rest.
var internalResult = json.RawMessage(`{"content":[{"type":"text","text":"internal: the proxy failed while handling this call; its log says why. Sent, outcome unknown: check before repeating."}],"isError":true}`)
