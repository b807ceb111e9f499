package dispatch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// TestFlow asks what may go where; ROWS, MIX, PASSED and FILE stand for kept data.
func TestFlow(t *testing.T) {
	rowsToEcho := Flow{Deny: []FlowRule{{From: "main/rows", To: "main/echo"}}}
	onlyArgs := Flow{Allow: []FlowRule{{From: "main", To: "main/args"}}}
	for _, tc := range []struct {
		name string
		flow Flow
		in   string
		deny []string // empty: it passes
		sent int
	}{
		{name: "no rules", in: `{"action":"call","tool":"echo","arguments":{"message":{"$from":"ROWS","path":"0.name"}}}`, sent: 1},
		{name: "denied", flow: rowsToEcho, in: `{"action":"call","tool":"echo","arguments":{"message":{"$from":"ROWS","path":"0.name"}}}`,
			deny: []string{"denied: data of main/rows may not go to main/echo: flow.deny has {from: main/rows, to: main/echo}.", "Not sent: safe to repeat."}},
		{name: "denied when only tried", flow: rowsToEcho, in: `{"action":"call","dryRun":true,"tool":"echo","arguments":{"message":{"$from":"ROWS","path":"0.name"}}}`,
			deny: []string{"denied: data of main/rows"}},
		{name: "another tool", flow: rowsToEcho, in: `{"action":"call","tool":"args","arguments":{"rows":{"$from":"ROWS"}}}`, sent: 1},
		{name: "words of the agent", flow: rowsToEcho, in: `{"action":"call","tool":"echo","arguments":{"message":"row 0"}}`, sent: 1},
		{name: "as the whole arguments", flow: rowsToEcho, in: `{"action":"call","tool":"echo","arguments":{"$from":"ROWS","jq":"{message:.[0].name}"}}`, deny: []string{"denied: data of main/rows"}},
		{name: "in a handle of several", flow: rowsToEcho, in: `{"action":"call","tool":"echo","arguments":{"message":{"$from":["FILE","ROWS"],"as":"base64"}}}`, deny: []string{"denied: data of main/rows"}},
		{name: "argumentsFile", flow: rowsToEcho, in: `{"action":"call","tool":"echo","argumentsFile":"PICKED"}`, deny: []string{"denied: data of main/rows"}},
		{name: "through a batch's data", flow: rowsToEcho, in: `{"action":"call","tool":"echo","arguments":{"message":{"$from":"MIX","path":"0.id"}}}`, deny: []string{"denied: data of main/rows"}},
		{name: "handed on by another tool", flow: rowsToEcho, in: `{"action":"call","tool":"echo","arguments":{"message":{"$from":"PASSED","path":"text"}}}`,
			deny: []string{"denied: data that came from main/rows on its way may not go to main/echo"}},
		{name: "the elements of forEach, once", flow: rowsToEcho, in: `{"action":"batch","forEach":{"$from":"ROWS"},"calls":[{"tool":"echo","arguments":{"message":{"$from":"item","path":"name"}}}]}`,
			deny: []string{"denied: data of main/rows"}},
		{name: "elements not used", flow: rowsToEcho, in: `{"action":"batch","forEach":{"$from":"ROWS"},"max":2,"calls":[{"tool":"echo","arguments":{"message":"x"}}]}`, sent: 2},
		{name: "another call of the batch", flow: rowsToEcho, in: `{"action":"batch","calls":[{"id":"a","tool":"rows","arguments":{"n":1}},{"tool":"echo","arguments":{"message":{"$from":"a","path":"0.name"}}}]}`,
			deny: []string{"[a] main/rows ok", "denied: data of main/rows"}, sent: 1},
		{name: "allowed", flow: onlyArgs, in: `{"action":"call","tool":"args","arguments":{"rows":{"$from":"ROWS"}}}`, sent: 1},
		{name: "not allowed", flow: onlyArgs, in: `{"action":"call","tool":"echo","arguments":{"message":{"$from":"ROWS","path":"0.name"}}}`, deny: []string{"no rule of flow.allow covers it"}},
		{name: "allowed to who was given it", flow: Flow{Allow: []FlowRule{{From: "main/args", To: "main/echo"}}},
			in: `{"action":"call","tool":"echo","arguments":{"message":{"$from":"PASSED","path":"text"}}}`, sent: 1},
		{name: "deny wins", flow: Flow{Allow: []FlowRule{{From: "*", To: "*"}}, Deny: []FlowRule{{From: "*", To: "main/e*"}}},
			in: `{"action":"call","tool":"echo","arguments":{"message":{"$from":"ROWS","path":"0.name"}}}`, deny: []string{"flow.deny has {from: *, to: main/e*}"}},
		{name: "a file", flow: Flow{Deny: []FlowRule{{From: "file://*", To: "main"}}}, in: `{"action":"call","tool":"echo","arguments":{"message":{"$from":"FILE"}}}`, deny: []string{"denied: data of file:///"}},
		{name: "a file is of no server", flow: Flow{Deny: []FlowRule{{From: "main", To: "*"}}}, in: `{"action":"call","tool":"echo","arguments":{"message":{"$from":"FILE"}}}`, sent: 1},
		{name: "a prompt", flow: Flow{Deny: []FlowRule{{From: "main", To: "main/greet"}}}, in: `{"action":"call","type":"prompt","tool":"greet","arguments":{"who":{"$from":"ROWS","path":"0.name"}}}`, deny: []string{"main/greet"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, h, world := newFlowHouse(t, tc.flow)
			before := h.sent()
			text := said(ask(t, d, world.Replace(tc.in)))
			for _, w := range tc.deny {
				if !strings.Contains(text, w) {
					t.Errorf("got %q, want it to hold %q", clip(text, 1000), w)
				}
			}
			if got := h.sent() - before; got != tc.sent {
				t.Errorf("got %d calls, want %d; said %q", got, tc.sent, clip(text, 1000))
			}
		})
	}
}

// newFlowHouse makes some data before the policy is in force.
func newFlowHouse(t *testing.T, f Flow) (*Dispatcher, *house, *strings.Replacer) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(file, []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, h := newHouse(t, func(o *Options) {
		var err error
		if o.Shelf, err = spill.Open(spill.Options{Dir: t.TempDir(), Tokens: o.Tokens, AllowedRoots: []string{dir}}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = o.Shelf.Close() })
	})
	kept := func(in string, pairs ...string) string {
		r := ask(t, d, strings.NewReplacer(pairs...).Replace(in))
		if at := r.Get(`_meta.proxy-dispatch.handle`).String(); at != "" {
			return at
		}
		if at := strings.Index(said(r), "Result kept: "); at >= 0 {
			return strings.Fields(said(r)[at:])[2]
		}
		t.Fatalf("nothing is kept: %s", r.Raw)
		return ""
	}
	rows := kept(`{"action":"call","tool":"rows","arguments":{"n":3},"resultToFile":true}`)
	mix := kept(`{"action":"batch","resultToFile":true,"calls":[{"tool":"rows","arguments":{"n":1}},{"tool":"echo","arguments":{"message":"x"}}]}`)
	passed := kept(`{"action":"call","tool":"args","arguments":{"text":{"$from":"ROWS","path":"0.name"}},"resultToFile":true}`, "ROWS", rows)
	picked := kept(`{"action":"readresult","resultFile":"ROWS","jq":"{message:.[0].name}","resultToFile":true}`, "ROWS", rows)
	policy, err := compileFlow(f)
	if err != nil {
		t.Fatal(err)
	}
	d.book.Load().flow = policy
	return d, h, strings.NewReplacer("ROWS", rows, "MIX", mix, "PASSED", passed, "PICKED", picked, "FILE", file)
}

func TestFlowIsRead(t *testing.T) {
	d, _, world := newFlowHouse(t, Flow{})
	for name, want := range map[string]string{
		"ROWS": "from: main/rows\n", "MIX": "from: main/rows, main/echo\n", "PASSED": "from: main/args, main/rows (given)\n",
		"PICKED": "from: main/rows\n", "FILE": "from: " + world.Replace("file://FILE") + "\n",
	} {
		if text := said(ask(t, d, world.Replace(`{"action":"readresult","resultFile":"`+name+`"}`))); !strings.Contains(text+"\n", want) {
			t.Errorf("stat of %s: got %q, want it to hold %q", name, text, want)
		}
	}
	text := said(ask(t, d, world.Replace(`{"action":"readresult","resultFile":["PASSED","MIX"],"format":"json"}`)))
	if want := `"from":["main/args","main/rows","main/echo"]`; !strings.Contains(text, want) {
		t.Errorf("stat of several: got %s, want it to hold %s", text, want)
	}
}

// TestFlowIsRecorded: an audit sees what data went into a call, or was kept from it.
func TestFlowIsRecorded(t *testing.T) {
	d, _, world := newFlowHouse(t, Flow{Deny: []FlowRule{{From: "*", To: "main/echo"}}})
	log := &outcomes{}
	d.o.Recorder = log
	ask(t, d, world.Replace(`{"action":"call","tool":"args","arguments":{"n":{"$from":["ROWS","FILE"],"jq":"length"}}}`))
	ask(t, d, world.Replace(`{"action":"call","tool":"echo","arguments":{"message":{"$from":"PASSED"}}}`))
	want := []Outcome{
		{Connection: "main", Tool: "args", From: []string{"main/rows", world.Replace("file://FILE")}},
		{Connection: "main", Tool: "echo", Code: Denied, From: []string{"main/args"}},
	}
	for i, got := range log.seen {
		if i >= len(want) || got.Connection != want[i].Connection || got.Tool != want[i].Tool || got.Code != want[i].Code || !slices.Equal(got.From, want[i].From) {
			t.Errorf("outcome %d: got %+v, want %+v", i, got, want)
		}
	}
	if len(log.seen) != len(want) {
		t.Errorf("got %d outcomes, want %d", len(log.seen), len(want))
	}
}

type outcomes struct {
	unrecorded
	mu   sync.Mutex
	seen []Outcome
}

func TestFlowRefuses(t *testing.T) {
	for _, f := range []Flow{{Allow: []FlowRule{{From: "[a", To: "*"}}}, {Deny: []FlowRule{{From: "*", To: "{a"}}}} {
		if _, err := compileFlow(f); err == nil {
			t.Errorf("compileFlow(%v): got no error", f)
		}
	}
	p, err := compileFlow(Flow{Allow: []FlowRule{{From: "a/*", To: "b/*"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.check(nil, catalog.Ref{Server: "x", Name: "y"}); err != nil {
		t.Errorf("data of nobody: got %v", err)
	}
}

func (o *outcomes) Begin(ctx context.Context, _ CallInfo) (context.Context, func(Outcome)) {
	return ctx, func(out Outcome) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.seen = append(o.seen, out)
	}
}
