package transparent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// world is a small working set of servers behind a face, in memory. Lines of entries are SERVER KIND JSON.
type world struct {
	mu      sync.Mutex
	policy  *view.Policy
	view    *view.View
	answers map[string]string // METHOD SERVER NAME → raw result, or `!CODE message`
	passed  []string          // METHOD SERVER PARAMS _META
	notes   []string          // SERVER METHOD PARAMS
	states  map[string]string
	gen     uint64
}

func newWorld(t testing.TB, entries string) *world {
	t.Helper()
	policy, err := view.Compile(view.Rules{Deny: []string{"wipe"}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{policy: policy, answers: map[string]string{}, states: map[string]string{}}
	w.know(t, entries)
	return w
}

// know makes entries what is known; a line of a server's name alone is a server of which nothing is known, SERVER
// hello JSON what it said of itself.
func (w *world) know(t testing.TB, entries string) {
	t.Helper()
	var servers []*catalog.Server
	byName := map[string]*catalog.Server{}
	for line := range strings.Lines(entries) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		s := byName[f[0]]
		if s == nil {
			s = &catalog.Server{Name: f[0], Capabilities: json.RawMessage(`{"tools":{},"prompts":{},"resources":{}}`)}
			byName[f[0]] = s
			servers = append(servers, s)
		}
		if len(f) < 3 {
			s.Capabilities = nil
			continue
		}
		s.Known = true
		if f[1] == "hello" {
			s.Capabilities = json.RawMessage(f[2])
			continue
		}
		kind := map[string]catalog.Kind{"tool": catalog.Tool, "prompt": catalog.Prompt, "resource": catalog.Resource, "template": catalog.Resource}[f[1]]
		e, err := catalog.NewEntry(f[0], kind, f[1] == "template", json.RawMessage(f[2]))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s.Entries = append(s.Entries, e)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gen++
	w.view = w.policy.Over(catalog.NewSnapshot(w.gen, servers))
}

func (w *world) Seen(dispatch.Agent) *view.View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view
}

func (w *world) Find(_ context.Context, a dispatch.Agent, kind catalog.Kind, name string) (*catalog.Entry, error) {
	e, err := w.Seen(a).Resolve(kind, name, "")
	switch {
	case errors.Is(err, view.ErrUnknown):
		return nil, &dispatch.Error{Code: dispatch.UnknownTool, Message: "there is none", Fate: dispatch.NotSent, Err: err}
	case errors.Is(err, view.ErrDenied):
		return nil, &dispatch.Error{Code: dispatch.Denied, Message: "kept out", Fate: dispatch.NotSent, Err: err}
	case err != nil:
		return nil, &dispatch.Error{Code: dispatch.AmbiguousTool, Message: err.Error(), Fate: dispatch.NotSent, Err: err}
	}
	return e, nil
}

func (w *world) Pass(_ context.Context, _ dispatch.Agent, r dispatch.PassRequest) (json.RawMessage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed = append(w.passed, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.Ref.Server, r.Params, r.Meta)))
	answer := w.answers[strings.TrimSpace(r.Method+" "+r.Ref.Server+" "+r.Ref.Name)]
	if why, failed := strings.CutPrefix(answer, "!"); failed {
		if why == "down" {
			return nil, &dispatch.Error{Code: dispatch.ServerUnavailable, Message: "it is down", Fate: dispatch.NotSent, Retryable: true}
		}
		return nil, &dispatch.Error{Code: dispatch.Internal, Err: &dispatch.ServerError{Code: -32042, Message: "quota", Raw: json.RawMessage(why)}}
	}
	if answer == "" {
		answer = `{}`
	}
	return json.RawMessage(answer), nil
}

func (w *world) ReadResource(_ context.Context, _ dispatch.Agent, uri string) (json.RawMessage, error) {
	return json.RawMessage(`{"contents":[{"uri":"` + uri + `","text":"kept"}]}`), nil
}

func (w *world) Await(_ context.Context, a dispatch.Agent) *view.View { return w.Seen(a) }

func (w *world) State(server string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.states[server]; s != "" {
		return s
	}
	return "ready"
}

func (w *world) Own(server string) bool { return server == "own" }

func (w *world) Notify(_ dispatch.Agent, server, method string, params json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, fmt.Sprintf("%s %s %s", server, method, params))
}

// sent gives what reached servers since it was asked last.
func (w *world) sent() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.passed
	w.passed = nil
	return out
}

func newFace(t testing.TB, w *world, plain bool) *Face {
	t.Helper()
	f := New(Options{Dispatcher: w, Servers: w, Plain: plain})
	t.Cleanup(f.wishes.Close)
	return f
}

var agentOne = dispatch.Agent{Session: "one"}

// do puts one request to the face and gives its result, or its error as `!CODE message`.
func do(t testing.TB, f *Face, a dispatch.Agent, method, params string) string {
	t.Helper()
	meta := memberOf(params, "_meta")
	var out dispatch.Pieces
	var err error
	if method == "tools/call" {
		out, err = f.Call(t.Context(), serve.Call{Agent: a, Name: unquoted(memberOf(params, "name")), Params: json.RawMessage(params), Meta: meta})
	} else {
		out, err = f.Handle(t.Context(), serve.Request{Agent: a, Method: method, Params: json.RawMessage(params), Meta: meta})
	}
	if fault, ok := errors.AsType[*serve.Fault](err); ok {
		return strings.TrimSpace(fmt.Sprintf("!%d %s %s", fault.Code, fault.Message, fault.Data))
	}
	if err != nil {
		return "!" + err.Error()
	}
	if raw := out.Raw(); !json.Valid(raw) {
		t.Errorf("%s: %s is not JSON", method, raw)
	}
	return string(out.Raw())
}

func memberOf(params, key string) json.RawMessage {
	var m map[string]json.RawMessage
	_ = json.Unmarshal([]byte(params), &m)
	return m[key]
}

func unquoted(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// listener is an agent that notes what it is told.
type listener struct {
	agent dispatch.Agent
	mu    sync.Mutex
	heard []string
}

func (l *listener) Agent() dispatch.Agent         { return l.agent }
func (l *listener) ClientInfo() json.RawMessage   { return nil }
func (l *listener) Capabilities() json.RawMessage { return nil }
func (l *listener) Notify(method string, params json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, strings.TrimSpace(method+" "+string(params)))
}
func (l *listener) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("nobody answers")
}

// told gives what the agent was told since it was asked last.
func (l *listener) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.heard
	l.heard = nil
	return out
}
