package outside

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/script"
)

// TestMain makes the test binary a command that answers hooks as its argument says.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "hook" {
		play(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func play(how string) {
	switch how {
	case "once":
		q, _ := io.ReadAll(os.Stdin)
		var in struct{ Args json.RawMessage }
		_ = json.Unmarshal(q, &in)
		fmt.Printf(`{"args":{"was":%s}}`, in.Args)
	case "fail":
		fmt.Fprintln(os.Stderr, "no good")
		os.Exit(3)
	case "hang":
		select {}
	case "flood":
		for {
			fmt.Print(strings.Repeat("x", 1<<16))
		}
	case "pool":
		n := 0
		for s := bufio.NewScanner(os.Stdin); s.Scan(); {
			if n++; strings.Contains(s.Text(), "die") {
				os.Exit(1)
			}
			fmt.Printf("{\"meta\":{\"pid\":%d,\"n\":%d}}\n", os.Getpid(), n)
		}
	}
}

func call(args, result string) dispatch.HookCall {
	c := dispatch.HookCall{Agent: dispatch.Agent{Principal: "ann", View: "v"}, Ref: catalog.Ref{Server: "s", Kind: catalog.Tool, Name: "t"}, Shown: "shown", Arguments: json.RawMessage(args)}
	if result != "" {
		c.Result = json.RawMessage(result)
	}
	return c
}

func TestVerdict(t *testing.T) {
	const result = `{"content":[{"type":"image","data":"AA"},{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1},"isError":true}`
	for _, tc := range []struct{ name, raw, result, want string }{
		{"nothing", ``, "", `{"Arguments":null,"Result":null,"Abort":"","Code":"","Meta":null}`},
		{"null", `null`, "", `{"Arguments":null,"Result":null,"Abort":"","Code":"","Meta":null}`},
		{"args", `{"args":{"x":1.50}}`, "", `{"Arguments":{"x":1.50},"Result":null,"Abort":"","Code":"","Meta":null}`},
		{"args after the call do nothing", `{"args":{"x":1}}`, result, `{"Arguments":null,"Result":null,"Abort":"","Code":"","Meta":null}`},
		{"abort", `{"abort":true,"abort_reason":"no"}`, "", `{"Arguments":null,"Result":null,"Abort":"no","Code":"","Meta":null}`},
		{"abort without a reason", `{"abort":true}`, "", `{"Arguments":null,"Result":null,"Abort":"a hook refused the call","Code":"","Meta":null}`},
		{"a reason without abort", `{"abort":false,"abort_reason":"no"}`, "", `{"Arguments":null,"Result":null,"Abort":"","Code":"","Meta":null}`},
		{"login", `{"abort":"log in","code":"auth_required"}`, "", `{"Arguments":null,"Result":null,"Abort":"log in","Code":"auth_required","Meta":null}`},
		{"no other code", `{"abort":"x","code":"internal"}`, "", `{"Arguments":null,"Result":null,"Abort":"x","Code":"denied","Meta":null}`},
		{"data", `{"data":{"a":2}}`, result, `{"Arguments":null,"Result":{"content":[{"type":"text","text":"{\"a\":2}"},{"type":"image","data":"AA"}],"structuredContent":{"a":2},"isError":true},"Abort":"","Code":"","Meta":null}`},
		{"result and meta", `{"result":{"content":[]},"metadata":{"m":1}}`, result, `{"Arguments":null,"Result":{"content":[]},"Abort":"","Code":"","Meta":{"m":1}}`},
		{"an unknown key", `{"arg":{}}`, "", "error"},
		{"no object", `[]`, "", "error"},
		{"no JSON", `{`, "", "error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := verdict(call("{}", tc.result), []byte(tc.raw))
			got := "error"
			if err == nil {
				raw, _ := json.Marshal(struct {
					Arguments, Result json.RawMessage
					Abort, Code       string
					Meta              json.RawMessage
				}{v.Arguments, v.Result, v.Abort, string(v.Code), v.Meta})
				got = string(raw)
			}
			if got != tc.want {
				t.Errorf("got %s (%v), want %s", got, err, tc.want)
			}
		})
	}
}

func command(t *testing.T, how string, keep int, timeout time.Duration) *Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := NewCommand(CommandOptions{Command: []string{self, "hook", how}, Keep: keep, Timeout: timeout})
	t.Cleanup(func() { c.Close() })
	return c
}

func TestCommandOnce(t *testing.T) {
	for _, tc := range []struct {
		how, want, fails string
		timeout          time.Duration
	}{
		{"once", `{"was":{"q":"x"}}`, "", 0},
		{"fail", "", "no good", 0},
		{"hang", "", "no answer in time", 100 * time.Millisecond},
		{"flood", "", "more than", 20 * time.Second},
	} {
		t.Run(tc.how, func(t *testing.T) {
			v, err := command(t, tc.how, 0, tc.timeout).Run(t.Context(), call(`{"q":"x"}`, ""))
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("got %v, want an error with %q", err, tc.fails)
				}
				return
			}
			if err != nil || string(v.Arguments) != tc.want {
				t.Errorf("got %s, %v, want %s", v.Arguments, err, tc.want)
			}
		})
	}
}

func TestCommandPool(t *testing.T) {
	c := command(t, "pool", 2, 20*time.Second)
	pids := map[float64]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			v, err := c.Run(t.Context(), call(`{"q":"line\nbreak"}`, ""))
			var m struct{ PID float64 }
			if err != nil || json.Unmarshal(v.Meta, &m) != nil {
				t.Errorf("got %s, %v", v.Meta, err)
			}
			mu.Lock()
			pids[m.PID] = true
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(pids) > 2 {
		t.Errorf("got %d processes, want at most 2", len(pids))
	}
	if _, err := c.Run(t.Context(), call(`{"q":"die"}`, "")); err == nil {
		t.Error("a process that ends: got no error")
	}
	if _, err := c.Run(t.Context(), call(`{}`, "")); err != nil {
		t.Errorf("after that: got %v, want a new process", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for range 3 {
		if _, err := c.Run(t.Context(), call(`{}`, "")); err == nil {
			t.Error("after Close: got no error")
		}
	}
}

func TestURL(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Phase   string
			Context struct{ Tool, Server, View, Principal string }
			Args    json.RawMessage
		}
		raw, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &in)
		switch r.URL.Path {
		case "/ok":
			fmt.Fprintf(w, `{"meta":{"phase":%q,"who":%q,"key":%q}}`, in.Phase, in.Context.Server+"/"+in.Context.Tool+" "+in.Context.Principal+" "+in.Context.View, r.Header.Get("X-Key"))
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/away":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/hang":
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	for _, tc := range []struct{ path, meta, fails string }{
		{"/ok", `{"phase":"pre_call","who":"s/t ann v","key":"k"}`, ""},
		{"/none", "", ""},
		{"/away", "", "status 302"},
		{"/hang", "", "no answer within"},
	} {
		t.Run(tc.path, func(t *testing.T) {
			v, err := URL(URLOptions{URL: s.URL + tc.path, Headers: map[string]string{"X-Key": "k"}, Timeout: time.Second}).Run(t.Context(), call("{}", ""))
			if tc.fails == "" && err != nil || tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)) || string(v.Meta) != tc.meta {
				t.Errorf("got %s, %v, want %s %s", v.Meta, err, tc.meta, tc.fails)
			}
		})
	}
}

func TestModule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.js")
	err := os.WriteFile(file, []byte(`
let seen = 0;
export function pre_call(context, args) {
  if (!("user_id" in args)) args.user_id = context.principal;
  return { args, meta: { seen: ++seen, view: context.view_name, tool: context.tool_name, server: context.upstream_server } };
}
export async function post_call(context, args, result, data) {
  if (data && data.api_key) data.api_key = "***";
  return { data };
}
export function loop() { for (;;) {} }
export function touch() { fetch("http://x"); }
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	m, err := script.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	v, err := Module(m, "pre_call", 0).Run(t.Context(), call(`{"q":1}`, ""))
	if err != nil || string(v.Arguments) != `{"q":1,"user_id":"ann"}` || !strings.Contains(string(v.Meta), `"view":"v","tool":"t","server":"s"`) {
		t.Errorf("pre_call: got %s %s, %v", v.Arguments, v.Meta, err)
	}
	v, err = Module(m, "post_call", 0).Run(t.Context(), call(`{}`, `{"content":[{"type":"text","text":"{\"api_key\":\"k\"}"}]}`))
	if err != nil || !strings.Contains(string(v.Result), `"structuredContent":{"api_key":"***"}`) {
		t.Errorf("post_call: got %s, %v", v.Result, err)
	}
	for _, export := range []string{"loop", "touch", "none"} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if _, err := Module(m, export, 200*time.Millisecond).Run(ctx, call(`{}`, "")); err == nil {
			t.Errorf("%s: got no error", export)
		}
		cancel()
	}
}

// FuzzVerdict holds that no answer of a hook panics, and that what it changes is JSON.
func FuzzVerdict(f *testing.F) {
	f.Add(`{"args":{"a":1},"abort":"x","meta":{}}`)
	f.Add(`{"data":[1],"result":null}`)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, result := range []string{"", `{"content":[{"type":"text","text":"x"}]}`} {
			v, err := verdict(call("{}", result), []byte(raw))
			if err != nil {
				continue
			}
			for _, part := range []json.RawMessage{v.Arguments, v.Result, v.Meta} {
				if part != nil && !json.Valid(part) {
					t.Errorf("%q gives %s", raw, part)
				}
			}
		}
	})
}
