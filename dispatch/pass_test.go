package dispatch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

func TestPass(t *testing.T) {
	tool := func(server, name string) catalog.Ref {
		return catalog.Ref{Server: server, Kind: catalog.Tool, Name: name}
	}
	for _, tc := range []struct {
		name    string
		request PassRequest
		want    string // the raw result
		code    Code
		fate    Fate
	}{
		{name: "result untouched", request: PassRequest{Method: "tools/call", Ref: tool("main", "exact"), Params: json.RawMessage(`{"name":"exact"}`)},
			want: `{"zed":1.10,"content":[{"type":"hologram","depth":9007199254740993,"x":{"b":1,"a":2}},{"type":"text","text":"caf\u00e9"}],"_meta":{"big":9007199254740993},"isError":false}`},
		{name: "arguments are not held against the schema", request: PassRequest{Method: "tools/call", Ref: tool("main", "echo"), Params: json.RawMessage(`{"name":"echo","arguments":{"wrong":1}}`)},
			want: `{"content":[{"type":"text","text":""}]}`},
		{name: "unknown tool", request: PassRequest{Method: "tools/call", Ref: tool("main", "ecco")}, code: UnknownTool, fate: NotSent},
		{name: "a qualified name is not the server's own", request: PassRequest{Method: "tools/call", Ref: tool("main", "main__echo")}, code: UnknownTool, fate: NotSent},
		{name: "tool of another server", request: PassRequest{Method: "tools/call", Ref: tool("other", "echo")}, code: UnknownTool, fate: NotSent},
		{name: "denied tool", request: PassRequest{Method: "tools/call", Ref: tool("other", "secret_wipe")}, code: Denied, fate: NotSent},
		{name: "unknown server", request: PassRequest{Method: "tools/call", Ref: tool("mian", "echo")}, code: NotFound, fate: NotSent},
		{name: "server that is down", request: PassRequest{Method: "tools/call", Ref: tool("broken", "echo")}, code: ServerUnavailable, fate: NotSent},
		{name: "the server's own error", request: PassRequest{Method: "tools/call", Ref: tool("main", "refuse"), Params: json.RawMessage(`{"name":"refuse"}`)}, code: InvalidArguments, fate: Ran},
		{name: "resource in no list", request: PassRequest{Method: "resources/read", Ref: catalog.Ref{Server: "main", Kind: catalog.Resource, Name: "mem://x"}, Params: json.RawMessage(`{"uri":"mem://x"}`)},
			code: ServerUnavailable, fate: NotSent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, _ := newHouse(t, nil)
			raw, err := d.Pass(t.Context(), testAgent, tc.request)
			if err == nil {
				if tc.code != "" || string(raw) != tc.want {
					t.Errorf("got %s, want %s %s", raw, tc.want, tc.code)
				}
				return
			}
			if e := asError(err); e.Code != tc.code || e.Fate != tc.fate {
				t.Errorf("got %v (%s, %v), want %s, %v", err, e.Code, e.Fate, tc.code, tc.fate)
			}
		})
	}
}

func TestPassSends(t *testing.T) {
	d, h := newHouse(t, nil)
	_, err := d.Pass(t.Context(), testAgent, PassRequest{Method: "tasks/get", Ref: catalog.Ref{Server: "main"}, Params: json.RawMessage(`{"taskId":"7","requestState":"sealed"}`),
		Meta: json.RawMessage(`{"x":1}`), Contact: Contact{Inputs: json.RawMessage(`{"a":{}}`), State: json.RawMessage(`"own"`)}})
	if err == nil {
		t.Fatal("the house has no tasks")
	}
	got := h.calls[0]
	want := Request{Server: "main", Method: "tasks/get", Params: json.RawMessage(`{"taskId":"7","requestState":"own","inputResponses":{"a":{}}}`), Idempotent: true, Meta: json.RawMessage(`{"x":1}`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request differs (-want +got):\n%s", diff)
	}
}

func TestPassSpills(t *testing.T) {
	d, _ := newHouse(t, nil)
	request := PassRequest{Method: "tools/call", Ref: catalog.Ref{Server: "main", Kind: catalog.Tool, Name: "rows"}, Params: json.RawMessage(`{"name":"rows","arguments":{"n":2000}}`)}
	whole, err := d.Pass(t.Context(), testAgent, request)
	if err != nil || len(whole) < 50_000 {
		t.Fatalf("got %d bytes, %v, want the whole result", len(whole), err)
	}
	request.Spill = true
	report, err := d.Pass(t.Context(), testAgent, request)
	if err != nil || len(report) > 4000 || !strings.Contains(string(report), "resources/read spill://") {
		t.Errorf("got %s, %v, want a report", report, err)
	}
	request.Params = json.RawMessage(`{"name":"rows","arguments":{"n":2}}`)
	if small, err := d.Pass(t.Context(), testAgent, request); err != nil || string(small) != string(rowsResult(2)) {
		t.Errorf("got %s, %v, want a small result untouched", small, err)
	}
}

func TestSaysError(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"content":[],"isError":true}`:                true,
		`{"isError":true,"content":[{"type":"text"}]}`: true,
		`{"content":[],"isError":false}`:               false,
		`{"content":[{"isError":true}]}`:               false,
		`{"structuredContent":{"isError":true}}`:       false,
	} {
		if got := saysError(json.RawMessage(raw)); got != want {
			t.Errorf("%s: got %v, want %v", raw, got, want)
		}
	}
}
