package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/script"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// engine is the real room, with its errors as they come.
type engine struct {
	*script.Runner
	most int64
}

func (e engine) MaxValue() int64 { return e.most }

func (e engine) Run(ctx context.Context, code string, h ScriptHost) (json.RawMessage, error) {
	return e.Runner.Run(ctx, code, h)
}

func withCode(t testing.TB, change func(*Options)) func(*Options) {
	l := script.Limits{Timeout: 5 * time.Second}
	r := script.New(l)
	t.Cleanup(func() { _ = r.Close() })
	return func(o *Options) {
		o.Scripts = engine{r, l.MaxValue()}
		if change != nil {
			change(o)
		}
	}
}

func runJS(t testing.TB, d *Dispatcher, code, more string) string {
	t.Helper()
	return said(ask(t, d, fmt.Sprintf(`{"action":"run","code":%s%s}`, mustJSON(code), more)))
}

func TestRun(t *testing.T) {
	d, _ := newHouse(t, withCode(t, nil))
	for _, tt := range []struct {
		name, code, more string
		want, lacks      []string
	}{
		{name: "value", code: "return 6 * 7", want: []string{"42"}, lacks: []string{"called", "console"}},
		{name: "text is itself", code: "return 'a\\nb'", want: []string{"a\nb"}},
		{name: "nothing", code: "const x = 1", want: []string{"returned nothing", "`return`"}},
		{name: "tools", code: "return await tools.main.echo({message: 'hi'})", want: []string{"hi", "called main/echo"}},
		{name: "data is parsed", code: "return (await tools.main.rows({n: 3})).map((r) => r.amount)", want: []string{"[0.5,1.5,2.5]"}},
		{name: "by name alone", code: "return (await call('rows', {n: 2})).length", want: []string{"2"}},
		{name: "by alias", code: "return await call('c1/echo', {message: 'x'})", want: []string{"x"}},
		{name: "large integers", code: "return (await tools.main.args({n: 9007199254740993n})).n", want: []string{"9007199254740993"}},
		{name: "a result that says isError", code: "try { await tools.main.fail() } catch (e) { return [e.message, e.code, e.tool] }",
			want: []string{`["disk on fire","tool_error","main/fail"]`, "called main/fail", "error"}},
		{name: "arguments are checked", code: "try { await tools.main.echo({}) } catch (e) { return e.code + ': ' + e.message }", want: []string{"invalid_arguments", "message"}},
		{name: "unknown tool", code: "await tools.main.nope()", want: []string{"unknown_tool", "Ran and failed."}},
		{name: "denied tool", code: "await tools.other.secret_wipe()", want: []string{"denied"}},
		{name: "thrown", code: "\nthrow new TypeError('x')", want: []string{"TypeError: x (line 2)", "Not sent: safe to repeat."}},
		{name: "what was done before is told", code: "await tools.main.echo({message: 'a'}); console.log('so far'); boom()",
			want: []string{"boom", "called main/echo", "console: so far", "Ran and failed."}},
		{name: "calls of a tool in one line", code: "await Promise.all([1, 2, 3].map((n) => tools.main.rows({n})))", want: []string{"called main/rows ×3"}},
		{name: "console", code: "console.log('a', {b: 1}); console.error('c'); return 1", want: []string{"console:\na {\"b\":1}\nerror: c"}},
		{name: "console is bounded", code: "for (let i = 0; i < 1000; i++) console.log('x'.repeat(100)); return 1", want: []string{"more lines)"}},
		{name: "references are data", code: "return await tools.main.args({deep: {$from: 'r1aa'}})", want: []string{`{"deep":{"$from":"r1aa"}}`}},
		{name: "search", code: "return (await search('table rows'))[0].tool", want: []string{"rows"}},
		{name: "spilled", code: "return await tools.main.rows({n: 2000})", want: []string{"jq", "amount"}, lacks: []string{`"row 1500"`}},
		{name: "kept", code: "return [1]", more: `,"resultToFile":true`, want: []string{"bytes"}},
		{name: "timeout", code: "for (;;);", more: `,"timeoutMs":100`, want: []string{"timeout: the code ran longer than timeoutMs (100ms)"}},
		{name: "cancels its calls", code: "await tools.main.hang()", more: `,"timeoutMs":100`, want: []string{"timeout:"}},
		{name: "no code", code: " ", want: []string{"bad_request: code is missing"}},
		{name: "repairs", code: "return 1", more: `,"timeoutMs":"5000"`, want: []string{"timeoutMs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runJS(t, d, tt.code, tt.more)
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("got %s\nwant %q in it", clip(got, 1000), w)
				}
			}
			for _, w := range tt.lacks {
				if strings.Contains(got, w) {
					t.Errorf("got %s\nwant no %q", clip(got, 1000), w)
				}
			}
		})
	}
}

func TestRunAsJSON(t *testing.T) {
	d, _ := newHouse(t, withCode(t, nil))
	got := runJS(t, d, "console.log('x'); try { await tools.main.fail() } catch {} return {n: (await tools.main.rows({n: 2})).length}", `,"format":"json"`)
	var a struct {
		Action  string
		Value   struct{ N int }
		Console string
		Calls   []struct {
			Tool    string
			MS      *float64
			IsError *bool
		}
	}
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if a.Action != "run" || a.Value.N != 2 || a.Console != "x" || len(a.Calls) != 2 || a.Calls[0].Tool != "main/fail" || !*a.Calls[0].IsError || a.Calls[1].MS == nil || *a.Calls[1].IsError {
		t.Errorf("got %s", got)
	}
	got = runJS(t, d, "return 'x'.repeat(100000)", `,"format":"json"`)
	var kept struct {
		Value  json.RawMessage
		Handle string
	}
	if err := json.Unmarshal([]byte(got), &kept); err != nil || kept.Handle == "" || string(kept.Value) != "null" {
		t.Errorf("got %s (%v), want a handle in place of the value", clip(got, 300), err)
	}
}

// TestRunReads reads kept results from code.
func TestRunReads(t *testing.T) {
	d, _ := newHouse(t, withCode(t, nil))
	handle := ask(t, d, `{"action":"call","tool":"rows","arguments":{"n":50},"resultToFile":true}`).Get("_meta.proxy-dispatch.handle").String()
	for code, want := range map[string]string{
		"return (await read(H)).length":                     "50",
		"return await read(H, '.[3].name')":                 "row 3",
		"return await read(H, {jq: 'length'})":              "50",
		"return (await read(H, {path: '4.id'}))":            "4",
		"return await read(H, {op: 'grep', pattern: '49'})": "row 49",
		"return await read('r9zz')":                         "not_found",
		"return await read(H, {op: 'nope'})":                "bad_request",
	} {
		if got := runJS(t, d, strings.ReplaceAll(code, "H", string(mustJSON(handle))), ""); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s in it", code, got, want)
		}
	}
	if got := runJS(t, d, "return (await search('rows', {limit: 1})).length", ""); !strings.HasPrefix(got, "1") {
		t.Errorf("search with a limit: got %s", got)
	}
}

// TestRunTooLarge keeps a result that code can't hold, and says where.
func TestRunTooLarge(t *testing.T) {
	d, _ := newHouse(t, withCode(t, func(o *Options) { o.Scripts = engine{o.Scripts.(engine).Runner, 1000} }))
	got := runJS(t, d, `try { await tools.main.rows({n: 500}) } catch (e) { return [e.code, await read(e.handle, ".[400].id")] }`, "")
	if !strings.Contains(got, `["too_large",400]`) {
		t.Errorf("got %s", got)
	}
	if got := runJS(t, d, "return Object.keys(await tools.main.picture({n: 10}))", ""); !strings.Contains(got, "0") && !strings.Contains(got, "handle") {
		t.Errorf("picture: got %s", got)
	}
}

// TestRunKeepsTheView tries to reach through code what a view does not show.
func TestRunKeepsTheView(t *testing.T) {
	d, h := newHouse(t, withCode(t, func(o *Options) {
		o.Views = map[string]view.Definition{"small": {Tools: []view.ServerTools{{Server: "main", Tools: []view.Tool{{Match: "echo"}}}}}}
	}))
	a := Agent{Session: "s1", View: "small"}
	for _, code := range []string{
		"return await tools.main.rows({n: 1})", "return await call('rows', {n: 1})", "return await call('c1/rows', {n: 1})",
		"return await call('main__rows', {n: 1})", "return await tools.rows({n: 1})", "return await search('rows')",
	} {
		before := h.sent()
		_, err := d.Run(t.Context(), a, RunRequest{Code: code})
		if strings.Contains(code, "search") {
			v, err := d.Run(t.Context(), a, RunRequest{Code: code + ".then((l) => l.filter((r) => r.tool === 'rows'))"})
			if err != nil || string(v.Value) != "[]" {
				t.Errorf("%s: got %v, %v", code, v, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "unknown_tool") || h.sent() != before {
			t.Errorf("%s: got %v, want unknown_tool and nothing sent", code, err)
		}
	}
	if v, err := d.Run(t.Context(), a, RunRequest{Code: "return await tools.main.echo({message: 'yes'})"}); err != nil || string(v.Value) != `"yes"` {
		t.Errorf("echo: got %v, %v", v, err)
	}
}

// TestRunKeepsTheFlow takes data where it may not go, through code.
func TestRunKeepsTheFlow(t *testing.T) {
	d, h := newHouse(t, withCode(t, func(o *Options) { o.Flow = Flow{Deny: []FlowRule{{From: "main/rows", To: "main/args"}}} }))
	for _, code := range []string{
		"const rows = await tools.main.rows({n: 1}); return await tools.main.args({text: rows[0].name})",
		"const all = await read('HANDLE'); return await tools.main.args({n: all.length})",
		"const all = await read('HANDLE', {op: 'head'}); return await tools.main.args({n: all.length})",
	} {
		handle := ask(t, d, `{"action":"call","tool":"rows","arguments":{"n":50},"resultToFile":true}`).Get("_meta.proxy-dispatch.handle").String()
		before := h.sent()
		got := runJS(t, d, strings.ReplaceAll(code, "HANDLE", handle), "")
		if !strings.Contains(got, "denied") || !strings.Contains(got, "main/rows") || h.sent() > before+1 {
			t.Errorf("%s: got %s", code, got)
		}
	}
	v, err := d.Run(t.Context(), testAgent, RunRequest{Code: "return await tools.main.rows({n: 2})", ToFile: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(ask(t, d, fmt.Sprintf(`{"action":"call","tool":"args","arguments":{"rows":{"$from":%q}}}`, v.Handle))); !strings.Contains(got, "denied") {
		t.Errorf("a value that code made of main/rows went to main/args: %s", got)
	}
}

// TestRunIsCancelled holds that a run ends with its request.
func TestRunIsCancelled(t *testing.T) {
	d, _ := newHouse(t, withCode(t, nil))
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the agent has gone")
	done := make(chan error)
	go func() {
		_, err := d.Run(ctx, testAgent, RunRequest{Code: "for (;;) await tools.main.echo({message: 'x'})"})
		done <- err
	}()
	cancel(gone)
	select {
	case err := <-done:
		if err == nil {
			t.Error("got no error")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the run goes on")
	}
}
