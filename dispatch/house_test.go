package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

// house is a small working world for a Dispatcher: three servers with a few tools, in memory.
type house struct {
	mu     sync.Mutex
	snap   *catalog.Snapshot
	calls  []Request
	states map[string]string
}

func (h *house) Snapshot() *catalog.Snapshot              { return h.snap }
func (h *house) Refresh(context.Context, ...string) error { return nil }
func (h *house) Wait(context.Context)                     {}

func (h *house) State(server string) (string, string) {
	if s, ok := h.states[server]; ok {
		state, why, _ := strings.Cut(s, ": ")
		return state, why
	}
	return "ready", ""
}

// Forward plays the servers: each tool does what its name says.
func (h *house) Forward(ctx context.Context, r Request) (json.RawMessage, error) {
	h.mu.Lock()
	h.calls = append(h.calls, r)
	h.mu.Unlock()
	p := gjson.ParseBytes(r.Params)
	args := p.Get("arguments")
	switch r.Method + " " + p.Get("name").String() + p.Get("uri").String() {
	case "tools/call echo":
		return json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, mustJSON(args.Get("message").String()))), nil
	case "tools/call args":
		return json.RawMessage(`{"content":[{"type":"text","text":` + string(mustJSON(args.Raw)) + `}],"structuredContent":` + args.Raw + `}`), nil
	case "tools/call exact":
		return json.RawMessage(`{"zed":1.10,"content":[{"type":"hologram","depth":9007199254740993,"x":{"b":1,"a":2}},{"type":"text","text":"caf\u00e9"}],"_meta":{"big":9007199254740993},"isError":false}`), nil
	case "tools/call rows":
		return rowsResult(int(args.Get("n").Int())), nil
	case "tools/call paged":
		n := int(args.Get("cursor").Int())
		if n == int(args.Get("failAt").Int()) && n > 0 {
			return json.RawMessage(`{"content":[{"type":"text","text":"page is gone"}],"isError":true}`), nil
		}
		next := "null"
		if n < 4 {
			next = fmt.Sprint(n + 1)
		}
		return json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":"{\"items\":[{\"n\":%d},{\"n\":%d.50}],\"next\":%s}"}]}`, n, n, next)), nil
	case "tools/call fail":
		return json.RawMessage(`{"content":[{"type":"text","text":"disk on fire"}],"isError":true}`), nil
	case "tools/call refuse":
		return nil, &ServerError{Code: -32602, Message: "no such thing", Raw: json.RawMessage(`{"code":-32602,"message":"no such thing"}`)}
	case "tools/call hang":
		<-ctx.Done()
		return nil, &ForwardError{Code: Timeout, Fate: SentUnknown, Message: "no answer in time", Err: ctx.Err()}
	case "tools/call picture":
		return json.RawMessage(`{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", int(args.Get("n").Int())) + `"},{"type":"text","text":"a picture"}]}`), nil
	case "resources/read mem://note":
		return json.RawMessage(`{"contents":[{"uri":"mem://note","mimeType":"text/plain","text":"hello"}]}`), nil
	case "resources/read mem://user/ann":
		return json.RawMessage(`{"contents":[{"uri":"mem://user/ann","text":"Ann"}]}`), nil
	case "prompts/get greet":
		return json.RawMessage(`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"Hi ` + args.Get("who").String() + `"}},{"role":"assistant","content":{"type":"text","text":"Hello"}}]}`), nil
	}
	return nil, &ForwardError{Code: ServerUnavailable, Fate: NotSent, Message: "connection " + r.Server + " is down", Retryable: true}
}

func rowsResult(n int) json.RawMessage {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"row %d","amount":%d.50}`, i, i, i)
	}
	b.WriteByte(']')
	return contentResult([]json.RawMessage{textBlock(b.String())}, false)
}

// sent returns how many requests reached a server.
func (h *house) sent() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.calls)
}

const houseTools = `main echo {"name":"echo","description":"Says a message back. Then more.","inputSchema":{"type":"object","properties":{"message":{"type":"string"},"times":{"type":"integer"}},"required":["message"]},"annotations":{"readOnlyHint":true}}
main args {"name":"args","description":"Gives its arguments back.","inputSchema":{"type":"object","properties":{"rows":{"type":"array"},"text":{"type":"string"},"deep":{"type":"object"},"n":{"type":"number"},"list":{"type":"array","items":{"type":"string"}}}}}
main exact {"name":"exact","inputSchema":{"type":"object"}}
main rows {"name":"rows","description":"Gives n rows of a table.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}
main find {"name":"find","inputSchema":{"type":"object","properties":{"pattern":{"type":"string"}},"required":["pattern"]}}
main paged {"name":"paged","inputSchema":{"type":"object","properties":{"cursor":{"type":"integer"},"failAt":{"type":"integer"}}},"annotations":{"readOnlyHint":true}}
main fail {"name":"fail","inputSchema":{"type":"object"}}
main refuse {"name":"refuse","inputSchema":{"type":"object"}}
main hang {"name":"hang","inputSchema":{"type":"object"}}
main picture {"name":"picture","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}
main shared {"name":"shared","inputSchema":{"type":"object"}}
other shared {"name":"shared","inputSchema":{"type":"object"}}
other secret_wipe {"name":"secret_wipe","description":"Wipes all.","inputSchema":{"type":"object"}}`

// loadedCounter is shared by all tests: its tables are loaded once.
var loadedCounter = sync.OnceValues(func() (*tokens.Counter, error) { return tokens.New("") })

// newHouse returns a Dispatcher in front of the house.
func newHouse(t testing.TB, change func(*Options)) (*Dispatcher, *house) {
	t.Helper()
	counter, err := loadedCounter()
	if err != nil {
		t.Fatal(err)
	}
	h := &house{snap: &catalog.Snapshot{Gen: 1, Hash: "abc"}, states: map[string]string{"broken": "failing: exit status 1"}}
	for i, name := range []string{"main", "other", "broken"} {
		h.snap.Servers = append(h.snap.Servers, &catalog.Server{Name: name, Alias: fmt.Sprintf("c%d", i+1), Known: name != "broken"})
	}
	h.snap.Servers[2].Err = errors.New("exit status 1")
	add := func(server string, kind catalog.Kind, template bool, raw string) {
		e, err := catalog.NewEntry(server, kind, template, json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		s := h.snap.Server(server)
		s.Entries = append(s.Entries, e)
	}
	for line := range strings.Lines(houseTools) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		add(f[0], catalog.Tool, false, f[2])
	}
	add("main", catalog.Resource, false, `{"uri":"mem://note","name":"note"}`)
	add("main", catalog.Resource, true, `{"uriTemplate":"mem://user/{name}","name":"user"}`)
	add("main", catalog.Prompt, false, `{"name":"greet","arguments":[{"name":"who","required":true}]}`)

	shelf, err := spill.Open(spill.Options{Dir: t.TempDir(), Tokens: counter})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Catalog: h, Forwarder: h, Shelf: shelf, Tokens: counter, Rulebook: Rulebook{Rules: view.Rules{Deny: []string{"*wipe"}}}}
	if change != nil {
		change(&o)
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if err := shelf.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, h
}

var testAgent = Agent{Session: "s1"}

// ask puts one input to the dispatcher and returns the raw result.
func ask(t testing.TB, d *Dispatcher, input string) gjson.Result {
	t.Helper()
	raw := d.Handle(t.Context(), Input{Agent: testAgent, Arguments: json.RawMessage(input)}).Raw()
	if !json.Valid(raw) {
		t.Fatalf("answer is not valid JSON: %s", raw)
	}
	if strings.Contains(string(raw), "\n") {
		t.Errorf("answer holds a raw newline: %s", raw)
	}
	return gjson.ParseBytes(raw)
}

// said returns all text of a result.
func said(r gjson.Result) string {
	var parts []string
	for _, b := range r.Get("content").Array() {
		parts = append(parts, b.Get("text").String())
	}
	return strings.Join(parts, "\n")
}
