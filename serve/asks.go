package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// askOverloaded is the JSON-RPC code for a question refused because too many are open.
const askOverloaded = overloaded

// asks are the questions put to one agent that shook hands, until they are answered. It is safe for concurrent use.
type asks struct {
	max     int
	timeout time.Duration

	mu   sync.Mutex
	last int64
	open map[string]chan message
}

var errUnasked = serverFault(mcp.INVALID_REQUEST, "the agent does not listen, and no request of its own leads to it")

// put sends one question and waits for its answer. If ctx ends first the agent is told.
func (a *asks) put(ctx context.Context, method string, params json.RawMessage, send func(line []byte) bool) (json.RawMessage, error) {
	id, answer := a.enter(askedBy(ctx))
	if answer == nil {
		return nil, serverFault(askOverloaded, "%d questions wait for the agent already", a.max)
	}
	defer a.leave(id)
	line := outgoing(rawjson.Quote(id), method, params)
	if line == nil {
		return nil, serverFault(mcp.INVALID_PARAMS, "the params of %s are no object", method)
	}
	if !send(line) {
		return nil, errUnasked
	}
	timeout := time.NewTimer(a.timeout)
	defer timeout.Stop()
	var why error
	select {
	case m := <-answer:
		return reply(method, m)
	case <-ctx.Done():
		why = fmt.Errorf("ask the agent: %w", context.Cause(ctx))
	case <-timeout.C:
		why = serverFault(mcp.INTERNAL_ERROR, "the agent gave no answer within %v", a.timeout)
	}
	send(notification("notifications/cancelled", fmt.Appendf(nil, `{"requestId":%q,"reason":"nobody waits for the answer any more"}`, id)))
	return nil, why
}

// enter makes room for a question and names it: SERVER:NUMBER, or pd:NUMBER where we ask ourselves.
func (a *asks) enter(server string) (id string, answer chan message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) >= a.max {
		return "", nil
	}
	if a.open == nil {
		a.open = map[string]chan message{}
	}
	a.last++
	id, answer = cmp.Or(server, "pd")+":"+strconv.FormatInt(a.last, 10), make(chan message, 1)
	a.open[id] = answer
	return id, answer
}

func (a *asks) leave(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, id)
}

// answered hands a response to the question it answers; of several the first counts. False: nobody asked.
func (a *asks) answered(m message) bool {
	id := rawjson.Unquote(m.id)
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.open[id]
	if answer == nil {
		return false
	}
	delete(a.open, id)
	answer <- m
	return true
}

// reply is what a response means to the server that asked.
func reply(method string, m message) (json.RawMessage, error) {
	if isObject(m.fault) {
		code, err := strconv.ParseInt(string(rawjson.Member(m.fault, "code")), 10, 64)
		if err != nil {
			code = mcp.INTERNAL_ERROR
		}
		return nil, &dispatch.ServerError{Code: code, Message: rawjson.Unquote(rawjson.Member(m.fault, "message")), Raw: m.fault}
	}
	if !isObject(m.result) {
		return nil, serverFault(mcp.INTERNAL_ERROR, "the agent's answer to %s is no result", method)
	}
	return m.result, nil
}
