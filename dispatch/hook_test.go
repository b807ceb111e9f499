package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// shaped is a house with a view that renames and binds.
func shaped(o *Options) {
	o.Views = map[string]view.Definition{"v": {Tools: []view.ServerTools{{Server: "main", Tools: []view.Tool{
		{Match: "args", Name: "give", Parameters: []view.Parameter{{Match: "text", Rename: "words"}, {Match: "n", Value: json.RawMessage("7")}, {Match: "deep", Hide: true}}},
		{Match: "rows", Parameters: []view.Parameter{{Match: "n", Default: json.RawMessage("2")}}},
		{Match: "paged", Parameters: []view.Parameter{{Match: "cursor", Rename: "at"}}},
		{Match: "find", Parameters: []view.Parameter{{Match: "pattern", Hide: true}}},
	}}}}}
}

func TestShapedCalls(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
		not      []string
		sent     string // the server's arguments
	}{
		{name: "mapped back", in: `{"action":"call","tool":"give","arguments":{"words":"hi","list":["a"]}}`, sent: `{"text":"hi","list":["a"],"n":7}`},
		{name: "repaired in the view's words", in: `{"action":"call","tool":"give","words":"hi","arguments":{}}`, sent: `{"text":"hi","n":7}`},
		{name: "hidden is dropped", in: `{"action":"call","tool":"main/give","arguments":{"n":1,"text":"x","Deep":{}}}`, sent: `{"n":7}`},
		{name: "default", in: `{"action":"call","tool":"rows"}`, sent: `{"n":2}`},
		{name: "default given", in: `{"action":"call","tool":"rows","arguments":{"n":1}}`, sent: `{"n":1}`},
		{name: "its own name is unknown", in: `{"action":"call","tool":"args"}`, want: []string{"unknown_tool"}},
		{name: "errors speak in the view's words", in: `{"action":"call","tool":"give","arguments":{"words":{}}}`, want: []string{"invalid_arguments", "words", "main/give("}, not: []string{"text", "deep", "args"}},
		{name: "describe", in: `{"action":"describe","tool":"give"}`, want: []string{"words?: string", `"tool":"main/give"`}, not: []string{"text?", "deep", "n?:"}},
		{name: "dry run tells no binding", in: `{"action":"call","tool":"give","arguments":{"words":"x"},"dryRun":true}`, want: []string{`"words":"x"`, `"name":"give"`}, not: []string{"7", "args"}},
		{name: "pages", in: `{"action":"call","tool":"paged","pages":{"send":"at","next":".next","items":".items[]"}}`, want: []string{`{"n":4.50}`}},
		{name: "a required one that is hidden", in: `{"action":"call","tool":"find"}`, want: []string{"invalid_arguments: what the configuration makes of the arguments of main/find", "Not sent"}, not: []string{"pattern"}},
		{name: "the answer names it", in: `{"action":"call","tool":"give","arguments":{"words":"x"},"format":"json"}`, want: []string{`"tool":"give"`, `"arguments":{"words":"x"}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, h := newHouse(t, shaped)
			got := askAs(t, d, Agent{View: "v"}, tc.in)
			for _, w := range tc.want {
				if !strings.Contains(said(got), w) {
					t.Errorf("got %q, want it to hold %q", said(got), w)
				}
			}
			for _, w := range tc.not {
				if strings.Contains(said(got), w) {
					t.Errorf("got %q, want it without %q", said(got), w)
				}
			}
			if tc.sent == "" {
				return
			}
			if h.sent() != 1 || gjson.GetBytes(h.calls[0].Params, "arguments").Raw != tc.sent {
				t.Errorf("got %v, want one request with %s: %s", h.calls, tc.sent, got.Raw)
			}
		})
	}
}

func TestPassIsShaped(t *testing.T) {
	d, h := newHouse(t, shaped)
	raw, err := d.Pass(t.Context(), Agent{View: "v"}, PassRequest{Method: "tools/call", Ref: catalog.Ref{Server: "main", Kind: catalog.Tool, Name: "give"},
		Params: json.RawMessage(`{"task":{"ttl":1},"name":"give","arguments":{"words":"hi","n":3}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(h.calls[0].Params), `{"task":{"ttl":1},"name":"args","arguments":{"text":"hi","n":7}}`; got != want {
		t.Errorf("got %s, want %s (%s)", got, want, raw)
	}
	for _, ref := range []catalog.Ref{{Server: "main", Kind: catalog.Tool, Name: "args"}, {Server: "main", Kind: catalog.Tool, Name: "echo"}, {Server: "main", Kind: catalog.Resource, Name: "mem://note"}} {
		if _, err := d.Pass(t.Context(), Agent{View: "v"}, PassRequest{Method: "tools/call", Ref: ref, Params: json.RawMessage(`{}`)}); asError(err).Code != UnknownTool {
			t.Errorf("%s: got %v, want unknown_tool", ref, err)
		}
	}
}

func verdict(v Verdict, err error) HookFunc {
	return func(context.Context, HookCall) (Verdict, error) { return v, err }
}

func TestHooks(t *testing.T) {
	secret := errors.New("a detail for the log")
	for _, tc := range []struct {
		name  string
		rules []HookRule
		in    string
		want  []string
		not   []string
		sent  int
	}{
		{name: "arguments", rules: []HookRule{{Hook: verdict(Verdict{Arguments: json.RawMessage(`{"message":"changed"}`)}, nil)}}, want: []string{"changed"}, sent: 1},
		{name: "arguments that do not fit", rules: []HookRule{{Hook: verdict(Verdict{Arguments: json.RawMessage(`{"message":1}`)}, nil)}}, want: []string{"invalid_arguments", "Not sent"}},
		{name: "arguments that are none", rules: []HookRule{{Name: "h", Hook: verdict(Verdict{Arguments: json.RawMessage(`[1]`)}, nil)}}, want: []string{"internal: the hook h failed", "Not sent"}},
		{name: "abort", rules: []HookRule{{Hook: verdict(Verdict{Abort: "not on Sundays"}, nil)}}, want: []string{"denied: not on Sundays. Not sent: safe to repeat."}},
		{name: "abort with a code", rules: []HookRule{{Hook: verdict(Verdict{Abort: "log in", Code: AuthRequired, Retryable: true}, nil)}}, want: []string{"auth_required: log in. Waiting may help. Not sent"}},
		{name: "a failing hook lets nothing pass", rules: []HookRule{{Name: "h", Hook: verdict(Verdict{}, secret)}}, want: []string{"internal: the hook h failed", "Not sent"}, not: []string{"detail"}},
		{name: "answer", rules: []HookRule{{Hook: verdict(Verdict{Result: json.RawMessage(`{"content":[{"type":"text","text":"from the hook"}]}`)}, nil)}}, want: []string{"from the hook"}},
		{name: "in order", rules: []HookRule{
			{Hook: HookFunc(func(_ context.Context, c HookCall) (Verdict, error) {
				return Verdict{Arguments: json.RawMessage(`{"message":"one ` + gjson.GetBytes(c.Arguments, "message").String() + `"}`)}, nil
			})},
			{Hook: HookFunc(func(_ context.Context, c HookCall) (Verdict, error) {
				return Verdict{Arguments: json.RawMessage(`{"message":"two ` + gjson.GetBytes(c.Arguments, "message").String() + `"}`)}, nil
			})}}, want: []string{"two one hi"}, sent: 1},
		{name: "result", rules: []HookRule{{After: true, Hook: verdict(Verdict{Result: json.RawMessage(`{"content":[{"type":"text","text":"new"}]}`)}, nil)}}, want: []string{"new"}, not: []string{"hi"}, sent: 1},
		{name: "result withheld", rules: []HookRule{{After: true, Hook: verdict(Verdict{Abort: "secret"}, nil)}}, want: []string{"denied: secret. Ran and failed."}, not: []string{"hi"}, sent: 1},
		{name: "a failing look at a result", rules: []HookRule{{After: true, Name: "h", Hook: verdict(Verdict{}, secret)}}, want: []string{"internal: the hook h failed", "Ran and failed"}, not: []string{`"hi"`}, sent: 1},
		{name: "meta", rules: []HookRule{{Hook: verdict(Verdict{Meta: json.RawMessage(`{"team":"red"}`)}, nil)}, {After: true, Hook: verdict(Verdict{Meta: json.RawMessage(`{"seen":true}`)}, nil)}},
			want: []string{`"_meta":{"team":"red","seen":true,"proxy-dispatch":`}, sent: 1},
		{name: "other server", rules: []HookRule{{Servers: []string{"oth*"}, Hook: verdict(Verdict{Abort: "no"}, nil)}}, want: []string{"hi"}, sent: 1},
		{name: "this tool", rules: []HookRule{{Tools: []string{"main/e*"}, Hook: verdict(Verdict{Abort: "no"}, nil)}}, want: []string{"denied"}},
		{name: "another view", rules: []HookRule{{Views: []string{"v"}, Hook: verdict(Verdict{Abort: "no"}, nil)}}, want: []string{"hi"}, sent: 1},
		{name: "calls without a view", rules: []HookRule{{Views: []string{""}, Hook: verdict(Verdict{Abort: "no"}, nil)}}, want: []string{"denied"}},
		{name: "a batch", rules: []HookRule{{Hook: verdict(Verdict{Abort: "no"}, nil)}}, in: `{"action":"batch","calls":[{"tool":"echo","arguments":{"message":"hi"}}]}`, want: []string{"denied: no"}},
		{name: "a resource", rules: []HookRule{{After: true, Hook: verdict(Verdict{Abort: "no"}, nil)}}, in: `{"action":"call","type":"resource","tool":"mem://note"}`, want: []string{"denied: no"}, sent: 1},
		{name: "a page", rules: []HookRule{{After: true, Hook: verdict(Verdict{Abort: "no"}, nil)}}, in: `{"action":"call","tool":"paged","pages":{"send":"cursor","next":".next","items":".items[]"}}`, want: []string{"denied: no"}, sent: 1},
		{name: "no dry run", rules: []HookRule{{Hook: verdict(Verdict{Abort: "no"}, nil)}}, in: `{"action":"call","tool":"echo","arguments":{"message":"hi"},"dryRun":true}`, want: []string{"dry run"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, h := newHouse(t, func(o *Options) { o.Hooks = tc.rules })
			in := tc.in
			if in == "" {
				in = `{"action":"call","tool":"echo","arguments":{"message":"hi"}}`
			}
			got := ask(t, d, in)
			for _, w := range tc.want {
				if !strings.Contains(said(got), w) && !strings.Contains(got.Raw, w) {
					t.Errorf("got %s, want it to hold %s", got.Raw, w)
				}
			}
			for _, w := range tc.not {
				if strings.Contains(got.Raw, w) {
					t.Errorf("got %s, want it without %s", got.Raw, w)
				}
			}
			if h.sent() != tc.sent {
				t.Errorf("got %d requests, want %d", h.sent(), tc.sent)
			}
		})
	}
}

func TestHooksSeeTheServersWords(t *testing.T) {
	var got []HookCall
	note := HookFunc(func(_ context.Context, c HookCall) (Verdict, error) {
		got = append(got, c)
		return Verdict{Done: func(r json.RawMessage, err error) { got = append(got, HookCall{Result: r}) }}, nil
	})
	d, _ := newHouse(t, func(o *Options) {
		shaped(o)
		o.Hooks = []HookRule{{Views: []string{"v"}, Hook: note}, {After: true, Tools: []string{"args"}, Hook: note}}
	})
	askAs(t, d, Agent{View: "v", Principal: "ann"}, `{"action":"call","tool":"give","arguments":{"words":"hi"}}`)
	if len(got) != 3 {
		t.Fatalf("got %d looks, want 3", len(got))
	}
	for i, want := range []string{`{"text":"hi","n":7}`, "", `{"text":"hi","n":7}`} {
		if string(got[i].Arguments) != want {
			t.Errorf("look %d: got %s, want %s", i, got[i].Arguments, want)
		}
	}
	if c := got[0]; c.Ref.Name != "args" || c.Shown != "give" || c.Agent.Principal != "ann" || c.Agent.View != "v" {
		t.Errorf("got %+v", c)
	}
	if string(got[1].Result) != string(got[2].Result) || got[1].Result == nil {
		t.Errorf("got %s and %s, want the server's result twice", got[1].Result, got[2].Result)
	}
}

// madeOf is a Made tool that is one function.
type madeOf struct {
	definition string
	run        func(ctx context.Context, in Inside, args json.RawMessage) (json.RawMessage, error)
}

func (m madeOf) Definition() json.RawMessage { return json.RawMessage(m.definition) }
func (m madeOf) Run(ctx context.Context, in Inside, args json.RawMessage) (json.RawMessage, error) {
	return m.run(ctx, in, args)
}

func TestMadeTools(t *testing.T) {
	both := madeOf{`{"name":"both","description":"Says a thing twice.","inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}`,
		func(ctx context.Context, in Inside, args json.RawMessage) (json.RawMessage, error) {
			q := gjson.GetBytes(args, "q").Raw
			one, err := in.Call(ctx, "main.echo", json.RawMessage(`{"message":`+q+`}`))
			if err != nil {
				return nil, err
			}
			two, err := in.Call(ctx, "main/args", json.RawMessage(`{"deep":{"$from":"r1zz"}}`))
			return json.RawMessage(`{"one":` + string(one) + `,"two":` + string(two) + `}`), err
		}}
	fails := madeOf{`{"name":"fails","inputSchema":{"type":"object"}}`, func(ctx context.Context, in Inside, _ json.RawMessage) (json.RawMessage, error) {
		return in.Call(ctx, "fail", nil)
	}}
	secret := madeOf{`{"name":"secret","inputSchema":{"type":"object"}}`, func(ctx context.Context, in Inside, _ json.RawMessage) (json.RawMessage, error) {
		return in.Call(ctx, "other/secret_wipe", nil)
	}}
	change := func(o *Options) {
		o.Views = map[string]view.Definition{"v": {}}
		o.Made = map[string][]Made{"v": {both, fails, secret}}
		o.Rights = func(a Agent) (view.Rules, bool) {
			return view.Rules{Views: []string{"v"}, Only: []string{"main"}}, a.Principal == "ann"
		}
		o.Hooks = []HookRule{{Tools: []string{"own/both"}, After: true, Hook: verdict(Verdict{Meta: json.RawMessage(`{"hooked":1}`)}, nil)}}
	}
	for _, tc := range []struct {
		name, in string
		agent    Agent
		want     []string
	}{
		{"call", `{"action":"call","tool":"both","arguments":{"q":"hi"}}`, Agent{View: "v"}, []string{`"structuredContent":{"one":"hi","two":{"deep":{"$from":"r1zz"}}}`, `"hooked":1`}},
		{"with rights", `{"action":"call","tool":"own/both","arguments":{"q":"hi"}}`, Agent{View: "v", Principal: "ann"}, []string{`"one":"hi"`}},
		{"checked", `{"action":"call","tool":"own/both","arguments":{}}`, Agent{View: "v"}, []string{"invalid_arguments", "own/both(q: string)"}},
		{"found", `{"action":"search","query":"say a thing twice"}`, Agent{View: "v"}, []string{"own/both(q: string) — Says a thing twice."}},
		{"listed", `{"action":"list"}`, Agent{View: "v"}, []string{"own (c1) [ready] 3 tools"}},
		{"a failing step", `{"action":"call","tool":"fails"}`, Agent{View: "v"}, []string{"internal: main/fail said: disk on fire. Ran and failed."}},
		{"what the policy denies", `{"action":"call","tool":"secret"}`, Agent{View: "v"}, []string{"denied:"}},
		{"what the rights do not show", `{"action":"call","tool":"secret"}`, Agent{View: "v", Principal: "ann"}, []string{"unknown_tool:"}},
		{"not in other views", `{"action":"call","tool":"both","arguments":{"q":"hi"}}`, Agent{}, []string{"unknown_tool"}},
		{"what it calls is not shown", `{"action":"call","tool":"echo","arguments":{"message":"hi"}}`, Agent{View: "v"}, []string{"unknown_tool"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, _ := newHouse(t, change)
			got := askAs(t, d, tc.agent, tc.in)
			for _, w := range tc.want {
				if !strings.Contains(said(got), w) && !strings.Contains(got.Raw, w) {
					t.Errorf("got %s, want it to hold %s", got.Raw, w)
				}
			}
		})
	}
}
