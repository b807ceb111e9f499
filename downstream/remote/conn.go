package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Conn is the connection to a remote server over streamable HTTP, of both eras of the protocol. Its methods may be
// called concurrently, Settle only before calls that its version is for.
type Conn struct {
	*link
	tools *headerTools
}

func (c *Conn) modern() bool { return c.settled() == mcp.ProtocolVersion20260728 }

// Call sends one request, whose params are one line or nil, and waits for its raw result. It returns as soon as ctx
// ends. Every error is a *wire.Error.
func (c *Conn) Call(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error) {
	if c.alive.Err() != nil {
		return nil, wire.Failed(wire.NotSent, wire.Lost(c.alive))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.alive, func() { cancel(wire.Lost(c.alive)) })()
	x := &exchange{}
	response, err := c.do(ctx, http.MethodPost, x, c.own(method, params), wire.RequestLine(id, method, params))
	if err != nil {
		return nil, c.unreached(ctx, x, err)
	}
	defer response.Body.Close()
	m, err := c.answerOf(ctx, id, method, x, response)
	if err != nil {
		return nil, err
	}
	result, err := m.Answer()
	if err == nil && method == string(mcp.MethodInitialize) {
		session := response.Header.Get("Mcp-Session-Id")
		c.session.Store(&session)
	}
	if err == nil && method == string(mcp.MethodToolsList) && c.modern() {
		result = c.tools.remember(result)
	}
	return result, err
}

// own are the HTTP headers that repeat a part of the request in the new era.
func (c *Conn) own(method string, params []byte) http.Header {
	if !c.modern() {
		return nil
	}
	h := http.Header{}
	for name, value := range mcp.StandardHeaders(mcp.ProtocolVersion20260728, mcp.MCPMethod(method), params) {
		h.Set(name, value)
	}
	switch method {
	case string(mcp.MethodToolsCall):
		c.tools.headers(h, params)
	case "tasks/get", "tasks/update", "tasks/cancel":
		if id, ok := mcp.EncodeHeaderValue(rawjson.Unquote(rawjson.Member(params, "taskId"))); ok {
			h.Set(mcp.HeaderName, id)
		}
	}
	return h
}

// answerOf finds the answer to a request in its response.
func (c *Conn) answerOf(ctx context.Context, id int64, method string, x *exchange, response *http.Response) (wire.Message, error) {
	if response.StatusCode >= 300 {
		return c.refused(method, x, response)
	}
	switch media := mediaOf(response); {
	case response.StatusCode == http.StatusAccepted || response.StatusCode == http.StatusNoContent:
		return wire.Message{}, wire.Failed(wire.SentUnknown, fmt.Errorf("%w: HTTP status %d instead of an answer", wire.ErrUnavailable, response.StatusCode))
	case media == "text/event-stream":
		return c.follow(ctx, id, response)
	case media == "application/json" || media == "":
		return c.whole(ctx, id, response)
	default:
		return wire.Message{}, wire.Failed(wire.SentUnknown, fmt.Errorf("%w: the answer is of type %s", wire.ErrUnavailable, wire.Clip(media, 80)))
	}
}

// whole reads a response that is one message, or a batch of them.
func (c *Conn) whole(ctx context.Context, id int64, response *http.Response) (wire.Message, error) {
	if response.ContentLength > c.max {
		return wire.Message{}, c.tooLarge()
	}
	var b bytes.Buffer
	if response.ContentLength > 0 {
		b.Grow(int(min(response.ContentLength, 8<<20)) + bytes.MinRead)
	}
	_, err := b.ReadFrom(io.LimitReader(response.Body, c.max+1))
	switch {
	case ctx.Err() != nil:
		return wire.Message{}, wire.Ended(ctx, wire.SentUnknown, "no answer")
	case int64(b.Len()) > c.max:
		return wire.Message{}, c.tooLarge()
	case err != nil:
		return wire.Message{}, wire.Failed(wire.SentUnknown, fmt.Errorf("%w: read the answer: %w", wire.ErrUnavailable, shorter(err)))
	}
	for _, message := range wire.Batch(b.Bytes()) {
		if m, ok := c.take(id, message); ok || m.IsError() && !m.HasID() {
			return m, nil
		}
	}
	return wire.Message{}, wire.Failed(wire.SentUnknown, fmt.Errorf("%w: the response holds no answer: %s", wire.ErrUnavailable, wire.Clip(string(b.Bytes()[:min(b.Len(), maxWords)]), 200)))
}

func (c *Conn) tooLarge() error {
	return wire.Failed(wire.Ran, fmt.Errorf("%w: more than %d bytes", wire.ErrTooLarge, c.max))
}

// refused reads a response whose status is no success.
func (c *Conn) refused(method string, x *exchange, response *http.Response) (wire.Message, error) {
	status := response.StatusCode
	if status == http.StatusUnauthorized {
		c.lose(ErrAuthRequired)
		return wire.Message{}, wire.Failed(wire.NotSent, ErrAuthRequired)
	}
	if challenge := response.Header.Get("WWW-Authenticate"); status == http.StatusForbidden && strings.Contains(challenge, "insufficient_scope") {
		return wire.Message{}, wire.Failed(wire.NotSent, &ScopeError{challenge})
	}
	if status == http.StatusNotFound && x.session != "" { // refused, so it did not run
		c.lose(errForgotten)
		return wire.Message{}, wire.Failed(wire.NotSent, wire.Lost(c.alive))
	}
	body := words(response)
	m, ok := wire.Parse(bytes.TrimSpace(body))
	ok = ok && m.IsError() && bytes.Contains(body, []byte(`"jsonrpc"`))
	if method == string(mcp.MethodInitialize) && callsForSSE(status) && !(ok && NewEra(m.Refusal().Code)) {
		return wire.Message{}, wire.Failed(wire.NotSent, fmt.Errorf("%w: HTTP status %d: %s", ErrOlder, status, wire.Clip(string(body), maxWords)))
	}
	if ok {
		return m, nil
	}
	fate := wire.SentUnknown
	if status < 500 {
		fate = wire.NotSent // refused
	}
	return wire.Message{}, wire.Failed(fate, shorter(fmt.Errorf("%w: HTTP status %d: %s", wire.ErrUnavailable, status, body)))
}

// callsForSSE says which refusals of initialize a server of the older transport gives.
func callsForSSE(status int) bool {
	switch status {
	case http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

// NewEra says that only a server of the new era gives this error to initialize: it does not want that, but it is there.
func NewEra(code int64) bool { return code <= -32020 && code >= -32049 || code == mcp.METHOD_NOT_FOUND }

// Notify sends a notification in the background, in order. In the new era there is nothing to say: a request is
// cancelled by hanging up.
func (c *Conn) Notify(method string, params []byte) {
	if c.modern() {
		return
	}
	line := wire.NotificationLine(method, params)
	if method == "notifications/initialized" { // comes before everything else
		c.deliver(line, grace)
		return
	}
	c.post(line)
}

// Close says good-bye, for a second at most, and waits for what still runs. It may be called more than once.
func (c *Conn) Close() {
	c.mu.Lock()
	already := c.closed
	c.closed = true
	c.mu.Unlock()
	if !already && value(&c.session) != "" && !errors.Is(context.Cause(c.alive), errForgotten) {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		if response, err := c.do(ctx, http.MethodDelete, &exchange{}, nil, nil); err == nil {
			discard(response) // whether it was heard does not matter
		}
		cancel()
	}
	c.end()
}
