package dispatch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestHandle(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string // all in the text
		not      []string // none in the text
		isError  bool
		sent     int // requests that reached a server
	}{
		{name: "call", in: `{"action":"call","tool":"echo","arguments":{"message":"hi"}}`, want: []string{"hi"}, sent: 1},
		{name: "call by alias", in: `{"action":"call","tool":"c1/echo","arguments":{"message":"hi"}}`, want: []string{"hi"}, sent: 1},
		{name: "no action", in: `{"tool":"echo"}`, want: []string{"bad_request: action is missing"}, isError: true},
		{name: "unknown action", in: `{"action":"serach"}`, want: []string{"bad_request:", "search"}, isError: true},
		{name: "not an object", in: `[1]`, want: []string{"bad_request:"}, isError: true},
		{name: "duplicate key", in: `{"action":"list","action":"list"}`, want: []string{"bad_request:"}, isError: true},
		{name: "key in another case", in: `{"action":"list","Action":"list"}`, want: []string{"bad_request:"}, isError: true},
		{name: "unknown parameter", in: `{"action":"status","wat":1}`, want: []string{"bad_request:", `"wat"`}, isError: true},
		{name: "unknown tool", in: `{"action":"call","tool":"ecco","arguments":{}}`, want: []string{"unknown_tool:", "main/echo", "Not sent: safe to repeat."}, isError: true},
		{name: "ambiguous tool", in: `{"action":"call","tool":"shared"}`, want: []string{"ambiguous_tool:", "main/shared", "other/shared"}, isError: true},
		{name: "denied tool", in: `{"action":"call","tool":"other/secret_wipe"}`, want: []string{"denied:", "Not sent"}, isError: true},
		{name: "connection is down", in: `{"action":"call","tool":"broken/x"}`, want: []string{"server_unavailable:", "exit status 1", "Not sent"}, isError: true},
		{name: "unknown connection", in: `{"action":"call","tool":"x","connection":"mian"}`, want: []string{"not_found:", "main"}, isError: true},
		{name: "missing argument", in: `{"action":"call","tool":"echo","arguments":{}}`, want: []string{"invalid_arguments:", "message", "main/echo(message: string", "Not sent"}, isError: true},
		{name: "wrong type", in: `{"action":"call","tool":"rows","arguments":{"n":{}}}`, want: []string{"invalid_arguments:", "n"}, isError: true},
		{name: "key moved in", in: `{"action":"call","tool":"echo","message":"hi"}`, want: []string{"hi"}, sent: 1},
		{name: "parameter beside the arguments", in: `{"action":"call","tool":"main/find","pattern":"x"}`, want: []string{"invalid_arguments:", "the tool's own pattern belongs into arguments"}, isError: true},
		{name: "stray key", in: `{"action":"call","tool":"echo","arguments":{"message":"hi"},"mesage":"x"}`, want: []string{"bad_request:", `"mesage"`}, isError: true},
		{name: "arguments as a string", in: `{"action":"call","tool":"echo","arguments":"{\"message\":\"hi\"}"}`, want: []string{"hi"}, sent: 1},
		{name: "other spellings", in: `{"action":"execute","name":"echo","args":{"message":"hi"}}`, want: []string{"hi"}, sent: 1},
		{name: "tool error passes", in: `{"action":"call","tool":"fail"}`, want: []string{"disk on fire"}, isError: true, sent: 1},
		{name: "protocol error", in: `{"action":"call","tool":"refuse"}`, want: []string{"no such thing", "Ran and failed."}, isError: true, sent: 1},
		{name: "dry run", in: `{"action":"call","tool":"echo","arguments":{"message":"hi"},"dryRun":true}`, want: []string{"dry run", `"message":"hi"`}},
		{name: "resource", in: `{"action":"call","type":"resource","tool":"mem://note"}`, sent: 1},
		{name: "resource by template", in: `{"action":"call","type":"resource","tool":"mem://user/ann"}`, sent: 1},
		{name: "template expanded", in: `{"action":"call","type":"resource","tool":"mem://user/{name}","arguments":{"name":"ann"}}`, sent: 1},
		{name: "resource with its connection", in: `{"action":"call","type":"resource","tool":"c1/mem://user/ann"}`, sent: 1},
		{name: "resource in no list", in: `{"action":"call","type":"resource","tool":"mem://hidden","connection":"main"}`, want: []string{"main is down"}, isError: true, sent: 1},
		{name: "resource in no list of no connection", in: `{"action":"call","type":"resource","tool":"mem://hidden"}`, want: []string{"unknown_tool:"}, isError: true},
		{name: "prompt", in: `{"action":"call","type":"prompt","tool":"greet","arguments":{"who":"Bo"}}`, want: []string{"[user]\nHi Bo", "[assistant]\nHello"}, sent: 1},
		{name: "search", in: `{"action":"search","query":"say a message"}`, want: []string{"main/echo(message: string, times?: ", "— Says a message back. [read-only]", "not asked: broken (failing: exit status 1)"}, not: []string{"Then more"}},
		{name: "search hides what is denied", in: `{"action":"search","query":"wipe all"}`, not: []string{"secret_wipe"}},
		{name: "search without query", in: `{"action":"search"}`, want: []string{"bad_request: query is missing"}, isError: true},
		{name: "repairs come first", in: `{"action":"find","query":"rows","limit":"3"}`, want: []string{"repaired: action: find → search"}},
		{name: "list", in: `{"action":"list"}`, want: []string{"main (c1) [ready] 11 tools", "echo(message: string", "broken (c3) [failing: exit status 1]"}, not: []string{"secret_wipe"}},
		{name: "list of resources", in: `{"action":"list","type":"resource"}`, want: []string{"mem://note", "mem://user/{name}"}},
		{name: "list pages", in: `{"action":"list","limit":2}`, want: []string{"next: offset 2"}},
		{name: "describe", in: `{"action":"describe","tool":"echo"}`, want: []string{"message", "Then more.", "example:", `"tool":"main/echo"`}},
		{name: "describe unknown", in: `{"action":"describe","tool":"ecco"}`, want: []string{"unknown_tool:"}, not: []string{"Not sent"}, isError: true},
		{name: "describe a server", in: `{"action":"describe","connection":"main"}`, want: []string{"main (c1) [ready]"}},
		{name: "status", in: `{"action":"status"}`, want: []string{"3 connections", "broken (failing: exit status 1)"}},
		{name: "help", in: `{"action":"help","topic":"$from"}`, want: []string{"replaced"}},
		{name: "help on nothing", in: `{"action":"help","topic":"opp"}`, want: []string{"not_found:", "op"}, isError: true},
		{name: "jq on a call", in: `{"action":"call","tool":"args","arguments":{"a":[1,2,3]},"jq":".a|add"}`, want: []string{"bytes", "\n6"}, sent: 1},
		{name: "bad jq before the call", in: `{"action":"call","tool":"echo","arguments":{"message":"x"},"jq":".["}`, want: []string{"bad_request:", "jq", "Not sent: safe to repeat."}, isError: true},
		{name: "jq that reaches outside", in: `{"action":"call","tool":"echo","arguments":{"message":"x"},"jq":"env"}`, want: []string{"bad_request:", "env is not available", "Not sent"}, isError: true},
		{name: "pattern beside the arguments", in: `{"action":"call","tool":"echo","arguments":{"message":"some text"},"pattern":"TEXT"}`, want: []string{"repaired: op: grep", "1 matches, 1 shown", "1: some text"}, sent: 1},
		{name: "jq on an error", in: `{"action":"call","tool":"fail","jq":".a.b"}`, want: []string{"Nothing was read from it; it is kept as r"}, isError: true, sent: 1},
		{name: "jq that fails on the data", in: `{"action":"call","tool":"args","arguments":{"a":1},"jq":".a.b"}`, want: []string{"The call succeeded", "jq:"}, isError: true, sent: 1},
		{name: "search with mini-a's words", in: `{"action":"search","query":"echo","includeInputSchema":true,"format":"json"}`, want: []string{`"inputSchema":`}},
		{name: "code where it is off", in: `{"action":"run","code":"1"}`, want: []string{"bad_request: action run is switched off", "Not sent"}, isError: true},
		{name: "unknown handle", in: `{"action":"readresult","resultFile":"../../etc/passwd"}`, isError: true},
		{name: "bad op before the call", in: `{"action":"call","tool":"echo","arguments":{"message":"x"},"op":"grepp"}`, want: []string{"bad_request:", "grep"}, isError: true},
		{name: "bad pattern before the call", in: `{"action":"call","tool":"echo","arguments":{"message":"x"},"op":"grep","pattern":"("}`, want: []string{"bad_request:", "Not sent"}, isError: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, h := newHouse(t, nil)
			r := ask(t, d, tc.in)
			text := said(r)
			for _, w := range tc.want {
				if !strings.Contains(text, w) {
					t.Errorf("got %q, want it to hold %q", text, w)
				}
			}
			for _, w := range tc.not {
				if strings.Contains(text, w) {
					t.Errorf("got %q, want it without %q", text, w)
				}
			}
			if got := r.Get("isError").Bool(); got != tc.isError {
				t.Errorf("got isError %v, want %v: %s", got, tc.isError, r.Raw)
			}
			if h.sent() != tc.sent {
				t.Errorf("got %d requests to servers, want %d", h.sent(), tc.sent)
			}
		})
	}
}

func TestInlineResultIsUnchanged(t *testing.T) {
	d, _ := newHouse(t, nil)
	got := ask(t, d, `{"action":"call","tool":"exact"}`).Raw
	for _, want := range []string{`"zed":1.10`, `{"type":"hologram","depth":9007199254740993,"x":{"b":1,"a":2}}`, `"caf\u00e9"`, `"big":9007199254740993`, `"isError":false`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want it to hold %s", got, want)
		}
	}
	meta := gjson.Get(got, `_meta.proxy-dispatch`)
	if meta.Get("connection").String() != "main" || meta.Get("tool").String() != "exact" || !meta.Get("byteSize").Exists() {
		t.Errorf("got _meta %s", meta.Raw)
	}
}

func TestSpillAndReadBack(t *testing.T) {
	d, _ := newHouse(t, nil)
	report := ask(t, d, `{"action":"call","tool":"rows","arguments":{"n":2000}}`)
	handle := report.Get(`_meta.proxy-dispatch.handle`).String()
	if handle == "" || len(report.Get("content").Array()) != 1 || !strings.Contains(said(report), handle) {
		t.Fatalf("got %s, want a report with a handle", report.Raw)
	}
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"stat", `{"action":"readresult","resultFile":"H"}`, []string{"records"}},
		{"head shows records", `{"action":"readresult","resultFile":"H","op":"head","lines":2}`, []string{`{"id":0,"name":"row 0","amount":0.50}`}},
		{"grep hits a record", `{"action":"readresult","resultFile":"H","pattern":"row 1234\""}`, []string{"1 matches, 1 shown", `"id":1234`}},
		{"path", `{"action":"readresult","resultFile":"H","op":"read","path":"1999.amount"}`, []string{"1999.50"}},
		{"from into a call", `{"action":"call","tool":"args","arguments":{"n":{"$from":"H","path":"7.amount"}}}`, []string{"7.50"}},
		{"from as text", `{"action":"call","tool":"args","arguments":{"text":{"$from":"H","path":"7"}}}`, []string{`{\"id\":7,\"name\":\"row 7\",\"amount\":7.50}`}},
		{"from written as a string", `{"action":"call","tool":"args","arguments":{"rows":"{\"$from\":\"H\",\"path\":\"#.id\"}"}}`, []string{"[0,1,2,3,"}},
		{"op on a call", `{"action":"call","tool":"rows","arguments":{"n":50},"op":"tail","lines":2}`, []string{`"row 49"`, "bytes"}},
		{"path on a call", `{"action":"call","tool":"rows","arguments":{"n":50},"path":"3.name"}`, []string{"row 3"}},
		{"nested read parameters", `{"action":"read","arguments":{"handle":"H","op":"head","lines":1}}`, []string{"repaired:"}},
		{"kept under a new handle", `{"action":"readresult","resultFile":"H","path":"#.name","resultToFile":true}`, []string{"row 0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(t, d, strings.NewReplacer(`"H"`, `"`+handle+`"`, `\"H\"`, `\"`+handle+`\"`).Replace(tc.in))
			if r.Get("isError").Bool() {
				t.Fatalf("got an error: %s", said(r))
			}
			for _, w := range tc.want {
				if text := said(r); !strings.Contains(text, w) {
					t.Errorf("got %q, want it to hold %q", text, w)
				}
			}
		})
	}
	t.Run("another session", func(t *testing.T) {
		raw := d.Handle(t.Context(), Input{Agent: Agent{Session: "s2"}, Arguments: []byte(`{"action":"readresult","resultFile":"` + handle + `"}`)}).Raw()
		if !gjson.GetBytes(raw, "isError").Bool() || !strings.Contains(string(raw), "not_found") {
			t.Errorf("got %s, want not_found", raw)
		}
	})
}

func TestMedia(t *testing.T) {
	d, _ := newHouse(t, func(o *Options) { o.MediaThreshold = 1000 })
	small := ask(t, d, `{"action":"call","tool":"picture","arguments":{"n":800}}`)
	if small.Get("content.0.type").String() != "image" || small.Get("content.#").Int() != 2 {
		t.Errorf("got %s, want the picture inline", small.Raw)
	}
	large := ask(t, d, `{"action":"call","tool":"picture","arguments":{"n":8000}}`)
	if large.Get(`content.#(type=="image")`).Exists() || !strings.Contains(said(large), "a picture") || large.Get(`_meta.proxy-dispatch.handle`).String() == "" {
		t.Errorf("got %s, want the picture spilled and the words inline", large.Raw)
	}
}

func TestBatch(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
		isError  bool
	}{
		{name: "two calls", in: `{"action":"batch","calls":[{"tool":"echo","arguments":{"message":"a"}},{"id":"b","tool":"echo","arguments":{"message":"c"}}]}`,
			want: []string{"[0] main/echo ok\na", "[b] main/echo ok\nc"}},
		{name: "one needs the other", in: `{"action":"batch","calls":[{"id":"use","tool":"args","arguments":{"rows":{"$from":"make","path":"#.id"}}},{"id":"make","tool":"rows","arguments":{"n":3}}]}`,
			want: []string{`[use] main/args ok` + "\n" + `{"rows":[0,1,2]}`}},
		{name: "a failure fails its dependants only", in: `{"action":"batch","calls":[{"id":"x","tool":"fail"},{"id":"y","tool":"args","arguments":{"text":{"$from":"x"}}},{"id":"z","tool":"echo","arguments":{"message":"ok"}}]}`,
			want: []string{"[x] main/fail error\ndisk on fire", "[y] main/args error\ndependency_failed:", "[z] main/echo ok"}},
		{name: "circle", in: `{"action":"batch","calls":[{"id":"a","tool":"echo","arguments":{"message":{"$from":"b"}}},{"id":"b","tool":"echo","arguments":{"message":{"$from":"a"}}}]}`,
			want: []string{"bad_request:", "circle"}, isError: true},
		{name: "same id", in: `{"action":"batch","calls":[{"id":"a","tool":"echo"},{"id":"a","tool":"echo"}]}`, want: []string{"bad_request:"}, isError: true},
		{name: "no calls", in: `{"action":"batch"}`, want: []string{"bad_request:"}, isError: true},
		{name: "a bad call fails alone", in: `{"action":"batch","calls":[7,{"tool":"echo","arguments":{"message":"fine"}}]}`, want: []string{"[0]  error\nbad_request:", "fine"}},
		{name: "the sum keeps the budget", in: `{"action":"batch","calls":[{"tool":"rows","arguments":{"n":250}},{"tool":"rows","arguments":{"n":200}},{"tool":"echo","arguments":{"message":"small"}}]}`,
			want: []string{"small", `"id":199`}},
		{name: "to file", in: `{"action":"batch","resultToFile":true,"calls":[{"tool":"echo","arguments":{"message":"a"}}]}`, want: []string{"[0] main/echo ok"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, _ := newHouse(t, nil)
			r := ask(t, d, tc.in)
			for _, w := range tc.want {
				if text := said(r); !strings.Contains(text, w) {
					t.Errorf("got %q, want it to hold %q", clip(text, 2000), w)
				}
			}
			if got := r.Get("isError").Bool(); got != tc.isError {
				t.Errorf("got isError %v, want %v", got, tc.isError)
			}
			if n := len(said(r)); n > defaultBudget+2000 {
				t.Errorf("got %d bytes, over the budget", n)
			}
		})
	}
}

// TestWordsAreNoReferences: an object counts as a reference only if what it names may be one.
func TestWordsAreNoReferences(t *testing.T) {
	d, _ := newHouse(t, nil)
	cases := []struct{ name, value, want string }{
		{"a word", `{"$from":"orders"}`, `{"$from":"orders"}`},
		{"a date", `{"$from":"2024-01-01"}`, `{"$from":"2024-01-01"}`},
		{"words with spaces", `{"$from":"user table"}`, `{"$from":"user table"}`},
		{"a number", `{"$from":5}`, `{"$from":5}`},
		{"another key", `{"$from":"r1aa","$to":"x"}`, `{"$from":"r1aa","$to":"x"}`},
		{"a handle that is gone", `{"$from":"r9zz"}`, "not_found"},
		{"a part of one", `{"$from":"r9zz#1"}`, "not_found"},
		{"an address", `{"$from":"spill://x"}`, "not_found"},
		{"a path", `{"$from":"/etc/hostname"}`, "denied"},
		{"a word that is to be narrowed", `{"$from":"orders","path":"a"}`, "not_found"},
		{"several", `{"$from":["orders","r9zz"]}`, "not_found"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			raw := d.Handle(t.Context(), Input{Agent: testAgent, Arguments: json.RawMessage(`{"action":"call","tool":"main/args","arguments":{"deep":` + c.value + `}}`)}).Raw()
			if got := said(gjson.ParseBytes(raw)); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
