// Package house is a small world for faces to stand in: servers in memory, and a real dispatcher over them.
package house

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

// House is the world. It is safe for concurrent use.
type House struct {
	Dispatcher *dispatch.Dispatcher

	mu       sync.Mutex
	snap     *catalog.Snapshot
	late     *catalog.Snapshot // what is known once somebody waits for it
	requests []dispatch.Request
	records  []string
	shelf    *spill.Shelf
	dir      string
}

// entries are the servers' offers: server, kind (t for templates), JSON.
const entries = `notes tool {"name":"echo","title":"Echo","description":"Says a message back.","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]},"annotations":{"readOnlyHint":true},"_meta":{"tags":["talk","tiny"]},"x-cost":1.10}
notes tool {"name":"add","description":"Adds two numbers.","inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"_meta":{"_fastmcp":{"tags":["math"]}}}
notes tool {"name":"rows","description":"Gives n rows.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}
notes tool {"name":"exact","description":"Gives what no library expects.","inputSchema":{"type":"object"}}
notes tool {"name":"fail","inputSchema":{"type":"object"}}
notes tool {"name":"refuse","inputSchema":{"type":"object"}}
notes tool {"name":"steps","description":"Tells how far it is.","inputSchema":{"type":"object"}}
notes resource {"uri":"note://1","name":"first","mimeType":"text/plain","size":9007199254740993}
notes resource {"uri":"note://json","name":"data","mimeType":"text/plain"}
notes resource {"uri":"note://pretty","name":"pretty","mimeType":"application/json"}
notes resource {"uri":"note://blob","name":"picture","mimeType":"image/png"}
notes template {"uriTemplate":"note://user/{name}","name":"a user","description":"One user."}
notes prompt {"name":"greet","description":"A greeting.","arguments":[{"name":"who","required":true}]}
a tool {"name":"b_c","inputSchema":{"type":"object"}}
a resource {"uri":"same://x","name":"x"}
a_b tool {"name":"c","inputSchema":{"type":"object"}}
a_b resource {"uri":"same://x","name":"x"}`

// New builds the house; set, if not nil, may change the dispatcher's options. Close ends it.
func New(set func(*dispatch.Options)) (*House, error) {
	h := &House{}
	var err error
	if h.snap, err = snapshot(false); err != nil {
		return nil, err
	}
	if h.late, err = snapshot(true); err != nil {
		return nil, err
	}
	if h.dir, err = os.MkdirTemp("", "house"); err != nil {
		return nil, err
	}
	counter, err := tokens.New("")
	if err != nil {
		return nil, err
	}
	if h.shelf, err = spill.Open(spill.Options{Dir: h.dir, Tokens: counter}); err != nil {
		return nil, err
	}
	o := dispatch.Options{Catalog: h, Forwarder: h, Shelf: h.shelf, Tokens: counter, Recorder: h}
	if set != nil {
		set(&o)
	}
	h.Dispatcher, err = dispatch.New(o)
	return h, err
}

// snapshot is what is known of the servers; `later` is one that tells only when somebody waits for it.
func snapshot(later bool) (*catalog.Snapshot, error) {
	servers := map[string]*catalog.Server{}
	var order []*catalog.Server
	for _, name := range []string{"notes", "a", "a_b", "later"} {
		s := &catalog.Server{Name: name, Known: name != "later" || later}
		servers[name], order = s, append(order, s)
	}
	lines := entries
	if later {
		lines += "\n" + `later tool {"name":"late","inputSchema":{"type":"object"}}`
	}
	for line := range strings.Lines(lines) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		kind := catalog.Kind(parts[1])
		if kind == "template" {
			kind = catalog.Resource
		}
		e, err := catalog.NewEntry(parts[0], kind, parts[1] == "template", json.RawMessage(parts[2]))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", line, err)
		}
		servers[parts[0]].Entries = append(servers[parts[0]].Entries, e)
	}
	gen := uint64(1)
	if later {
		gen = 2
	}
	return catalog.NewSnapshot(gen, order), nil
}

// Snapshot is what is known now.
func (h *House) Snapshot() *catalog.Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.snap
}

// Refresh makes the last server known.
func (h *House) Refresh(context.Context, ...string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.snap = h.late
	return nil
}

// Wait returns at once: nobody is heard of by waiting.
func (h *House) Wait(context.Context) {}

// State says ready of every server.
func (h *House) State(string) (state, why string) { return "ready", "" }

// Begin keeps a line for each request, "action tool → outcome".
func (h *House) Begin(ctx context.Context, c dispatch.CallInfo) (context.Context, func(dispatch.Outcome)) {
	return ctx, func(o dispatch.Outcome) {
		h.mu.Lock()
		defer h.mu.Unlock()
		what := strings.Join(strings.Fields(c.Action+" "+c.Connection+" "+c.Tool), " ")
		outcome := string(o.Code)
		if o.Code == "" {
			outcome = "ok"
		}
		h.records = append(h.records, what+" → "+outcome)
	}
}

// Inject adds nothing.
func (h *House) Inject(_ context.Context, meta json.RawMessage) json.RawMessage { return meta }

// Records are the lines kept so far.
func (h *House) Records() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.records...)
}

// Requests are those that reached a server.
func (h *House) Requests() []dispatch.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]dispatch.Request(nil), h.requests...)
}

// Close removes what was kept.
func (h *House) Close() error {
	err := h.Dispatcher.Close()
	if h.shelf != nil {
		_ = h.shelf.Close()
	}
	_ = os.RemoveAll(h.dir)
	return err
}

// Forward plays the servers.
func (h *House) Forward(_ context.Context, r dispatch.Request) (json.RawMessage, error) {
	h.mu.Lock()
	h.requests = append(h.requests, r)
	h.mu.Unlock()
	p := gjson.ParseBytes(r.Params)
	switch r.Method {
	case "resources/read":
		return read(r.Server, p.Get("uri").String())
	case "prompts/get":
		return json.RawMessage(fmt.Sprintf(`{"description":"A greeting","messages":[{"role":"user","content":{"type":"text","text":%s,"future":1.10}},{"role":"assistant","content":{"type":"text","text":"Hello."}}],"_meta":{"big":9007199254740993}}`,
			rawjson.Quote("Greet "+p.Get("arguments.who").String()+"."))), nil
	}
	return play(r, p)
}

func play(r dispatch.Request, p gjson.Result) (json.RawMessage, error) {
	text := func(s string) json.RawMessage {
		return json.RawMessage(`{"content":[{"type":"text","text":` + string(rawjson.Quote(s)) + `}]}`)
	}
	switch p.Get("name").String() {
	case "echo":
		return text(p.Get("arguments.message").String()), nil
	case "add":
		return json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":"%v"}],"structuredContent":{"sum":%v}}`, p.Get("arguments.a").Num+p.Get("arguments.b").Num, p.Get("arguments.a").Num+p.Get("arguments.b").Num)), nil
	case "rows":
		var rows []string
		for i := range p.Get("arguments.n").Int() {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d é","amount":%d.50}`, i, i, i))
		}
		return text("[" + strings.Join(rows, ",") + "]"), nil
	case "exact":
		return json.RawMessage(`{"zed":1.10,"content":[{"type":"hologram","depth":9007199254740993,"x":{"b":1,"a":2}},{"type":"text","text":"caf\u00e9","annotations":{"priority":0.50,"proxyPath":"theirs"}},{"type":"text","text":"n","annotations":null}, {"type":"image","data":"AAEC","mimeType":"image/png","annotations":{"audience":["user"]}},7],"_meta":{"big":9007199254740993},"isError":false}`), nil
	case "fail":
		return json.RawMessage(`{"content":[{"type":"text","text":"disk on fire"}],"isError":true}`), nil
	case "refuse":
		return nil, &dispatch.ServerError{Code: -32602, Message: "no such thing", Raw: json.RawMessage(`{"code":-32602,"message":"no such thing"}`)}
	case "steps":
		for i := range 3 {
			if r.Progress != nil {
				r.Progress(json.RawMessage(fmt.Sprintf(`{"progress":%d,"total":3}`, i+1)))
			}
		}
		return text("done"), nil
	}
	return text(r.Server + " has called " + p.Get("name").String()), nil
}

func read(server, uri string) (json.RawMessage, error) {
	content := map[string]string{
		"note://1":      `"mimeType":"text/plain","text":"first note"`,
		"note://json":   `"mimeType":"text/plain","text":"{ \"n\": 9007199254740993,\n \"f\": 1.10 }","_meta":{"k":1}`,
		"note://pretty": `"mimeType":"application/json","text":"{\n  \"n\": 1\n}"`,
		"note://blob":   `"mimeType":"image/png","blob":"AAEC/w=="`,
		"same://x":      `"text":"` + server + `"`,
	}[uri]
	if name, ok := strings.CutPrefix(uri, "note://user/"); ok {
		content = `"mimeType":"text/plain","text":` + string(rawjson.Quote("user "+name))
	}
	if content == "" {
		return nil, &dispatch.ServerError{Code: -32002, Message: "resource not found", Raw: json.RawMessage(`{"code":-32002,"message":"resource not found"}`)}
	}
	return json.RawMessage(`{"contents":[{"uri":` + string(rawjson.Quote(uri)) + `,` + content + `}],"x-top":1.10}`), nil
}
