// Package agent is a small MCP client that shows what it sent and received as raw JSON, over stdio and HTTP.
//
// Tests and benchmarks drive the built proxy, or a server directly, with it: the same code on both sides of a ratio.
package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
)

// ErrClosed says that the other side is gone.
var ErrClosed = errors.New("connection closed")

// Reply is one answer: Result or Error holds the bytes as they came, the other is nil.
type Reply struct{ Result, Error json.RawMessage }

// Note is a notification that reached the agent, in the order of arrival.
type Note struct {
	Method string
	Params json.RawMessage
}

// carrier moves whole messages; receive is called by one goroutine.
type carrier interface {
	send(ctx context.Context, line []byte) error
	close() error
}

// Agent is one MCP client session. All methods are safe for concurrent use.
type Agent struct {
	Client       string // clientInfo.name, "test-agent" if empty
	Capabilities string // of the client, a JSON object; `{}` if empty
	// Answer answers what the other side asks, with a raw result; nil refuses. It must be set before Hello and is
	// called from many goroutines.
	Answer    func(method string, params json.RawMessage) string
	carrier   carrier
	process   *process // nil over HTTP
	next      atomic.Int64
	answering sync.WaitGroup
	mu        sync.Mutex // guards all below
	waiting   map[string]chan Reply
	notes     []Note
	strays    []json.RawMessage // answers that nobody waited for
	changed   chan struct{}     // closed and replaced at each note
	gone      error
}

func newAgent() *Agent {
	return &Agent{waiting: map[string]chan Reply{}, changed: make(chan struct{})}
}

// Hello does the initialize handshake and returns the raw initialize result.
func (a *Agent) Hello(ctx context.Context) (json.RawMessage, error) {
	name := a.Client
	if name == "" {
		name = "test-agent"
	}
	capabilities := a.Capabilities
	if capabilities == "" {
		capabilities = `{}`
	}
	params := fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":%q,"version":"1"}}`, capabilities, name)
	raw, err := a.Request(ctx, "initialize", params)
	if err != nil {
		return nil, err
	}
	return raw, a.Notify(ctx, "notifications/initialized", `{}`)
}

// Request sends one request with raw params and returns the raw result; a JSON-RPC error comes back as *RPCError.
func (a *Agent) Request(ctx context.Context, method, params string) (json.RawMessage, error) {
	r, err := a.RequestID(ctx, strconv.FormatInt(a.next.Add(1), 10), method, params)
	if err != nil {
		return nil, err
	}
	if r.Error != nil {
		return nil, &RPCError{Raw: r.Error}
	}
	return r.Result, nil
}

// RequestID is Request with an id of the caller's choice, written raw (`7`, `"x"`). When ctx ends first it
// sends notifications/cancelled, as hosts do, and returns the context's error.
func (a *Agent) RequestID(ctx context.Context, id, method, params string) (Reply, error) {
	got := make(chan Reply, 1)
	a.mu.Lock()
	if a.gone != nil {
		defer a.mu.Unlock()
		return Reply{}, a.gone
	}
	a.waiting[id] = got
	a.mu.Unlock()
	defer a.forget(id)
	line := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
	if err := a.carrier.send(ctx, []byte(line)); err != nil {
		return Reply{}, fmt.Errorf("send %s: %w", method, err)
	}
	select {
	case r, ok := <-got:
		if !ok {
			return Reply{}, ErrClosed
		}
		return r, nil
	case <-ctx.Done():
		_ = a.Notify(context.WithoutCancel(ctx), "notifications/cancelled", `{"requestId":`+id+`,"reason":"the agent lost interest"}`)
		return Reply{}, ctx.Err()
	}
}

func (a *Agent) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// Notify sends a notification with raw params.
func (a *Agent) Notify(ctx context.Context, method, params string) error {
	return a.carrier.send(ctx, []byte(`{"jsonrpc":"2.0","method":"`+method+`","params":`+params+`}`))
}

// SendRaw sends any line as it stands, for what a well-behaved agent never sends.
func (a *Agent) SendRaw(ctx context.Context, line string) error {
	return a.carrier.send(ctx, []byte(line))
}

// Call calls a tool with raw arguments; extra goes into params as it stands (`"_meta":{…}`) unless empty.
func (a *Agent) Call(ctx context.Context, tool, arguments, extra string) (json.RawMessage, error) {
	params := `{"name":` + strconv.Quote(tool) + `,"arguments":` + arguments
	if extra != "" {
		params += "," + extra
	}
	return a.Request(ctx, "tools/call", params+"}")
}

// Notes returns the notifications received so far.
func (a *Agent) Notes() []Note {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Note(nil), a.notes...)
}

// Await returns the first notification that fits, waiting for it until ctx ends.
func (a *Agent) Await(ctx context.Context, fits func(Note) bool) (Note, error) {
	for seen := 0; ; {
		a.mu.Lock()
		changed, notes := a.changed, a.notes
		a.mu.Unlock()
		for ; seen < len(notes); seen++ {
			if fits(notes[seen]) {
				return notes[seen], nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Note{}, ctx.Err()
		}
	}
}

// Stray returns the nth answer that no request waited for, such as one to a line that was no message; it waits until ctx ends.
func (a *Agent) Stray(ctx context.Context, n int) (json.RawMessage, error) {
	for {
		a.mu.Lock()
		changed, strays := a.changed, a.strays
		a.mu.Unlock()
		if n < len(strays) {
			return strays[n], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// receive takes one line from the other side.
func (a *Agent) receive(line []byte) {
	id, r, n := parse(line)
	if id != "" && n.Method != "" {
		a.answering.Go(func() { a.answer(id, n) })
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if n.Method != "" {
		a.notes = append(a.notes, n)
		close(a.changed)
		a.changed = make(chan struct{})
		return
	}
	if got := a.waiting[id]; got != nil {
		delete(a.waiting, id)
		got <- r
		return
	}
	a.strays = append(a.strays, line)
	close(a.changed)
	a.changed = make(chan struct{})
}

// lost ends every waiting request.
func (a *Agent) lost(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = err
	for id, got := range a.waiting {
		delete(a.waiting, id)
		close(got)
	}
}

// Close ends the session: over stdio it closes the other side's input and waits for the process.
func (a *Agent) Close() error {
	err := a.carrier.close()
	a.answering.Wait()
	return err
}

// parse splits a message: an answer has an id and no method, a notification a method and no id, a question both. The usual order of an answer's members is read without decoding the result,
// because a benchmark measures the other side and not this one.
func parse(line []byte) (id string, r Reply, n Note) {
	const head = `{"jsonrpc":"2.0","id":`
	if rest, ok := bytes.CutPrefix(line, []byte(head)); ok {
		if i := bytes.IndexByte(rest, ','); i > 0 && rest[0] != '"' && bytes.HasPrefix(rest[i:], []byte(`,"result":`)) && rest[len(rest)-1] == '}' {
			return string(rest[:i]), Reply{Result: rest[i+len(`,"result":`) : len(rest)-1]}, Note{}
		}
	}
	var m struct {
		ID, Result, Error, Params json.RawMessage
		Method                    string
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return "", Reply{}, Note{Method: "not JSON", Params: line}
	}
	if m.Method != "" && len(m.ID) == 0 {
		return "", Reply{}, Note{Method: m.Method, Params: m.Params}
	}
	return string(m.ID), Reply{Result: m.Result, Error: m.Error}, Note{Method: m.Method, Params: m.Params}
}

// answer answers a question of the other side; whether the answer arrives is the other side's business.
func (a *Agent) answer(id string, n Note) {
	line := `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"nobody answers here"}}`
	if a.Answer != nil {
		line = `{"jsonrpc":"2.0","id":` + id + `,"result":` + a.Answer(n.Method, n.Params) + `}`
	}
	_ = a.carrier.send(context.Background(), []byte(line))
}

// RPCError is a JSON-RPC error as it came.
type RPCError struct{ Raw json.RawMessage }

func (e *RPCError) Error() string { return "rpc error " + string(e.Raw) }
