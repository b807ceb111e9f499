package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/everything"
)

// everythingServer is the full server as a block of the configuration: a process, or at a URL of its own.
func everythingServer(t *testing.T, overHTTP bool, protocol string, args ...string) server {
	t.Helper()
	if overHTTP {
		addr := listen(t, everythingCommand(t, append([]string{"-http", "127.0.0.1:0"}, args...)...))
		return server{"everything", fmt.Sprintf(`{"url":"http://%s/mcp","protocol":%q}`, addr, protocol)}
	}
	list, _ := json.Marshal(append([]string{}, args...))
	return server{"everything", fmt.Sprintf(`{"command":%q,"args":%s,"env":{%q:"full-server-on"},"protocol":%q}`, self(t), list, everything.EnvKey, protocol)}
}

// faceOf is how a tool of the full server is called in a face.
type faceOf struct{ name, tool, arguments string }

var facesOf = []faceOf{
	{"dispatch", "proxy-dispatch", `{"action":"call","tool":"everything/%s","arguments":%s}`},
	{"proxy", "proxy", `{"action":"call","type":"tool","path":"everything_%s","args":%s}`},
	{"transparent", "", ""},
}

func (f faceOf) call(ctx context.Context, a *agent.Agent, tool, arguments, extra string) (string, error) {
	name, args := tool, arguments
	if f.tool != "" {
		name, args = f.tool, fmt.Sprintf(f.arguments, tool, arguments)
	}
	ctx, cancel := context.WithTimeout(ctx, patience/3)
	defer cancel()
	raw, err := a.Call(ctx, name, args, extra)
	if err != nil {
		return "", err
	}
	r, err := decode(raw)
	if err != nil {
		return "", err
	}
	var words []string
	for _, c := range r.Content {
		words = append(words, c.Text+c.Resource.Text)
	}
	if r.IsError {
		words = append(words, "[isError]")
	}
	return strings.Join(words, " "), nil
}

// able is an agent that can do everything; answer may be nil for the usual answers.
func able(a *agent.Agent, answer func(method string, params json.RawMessage) string) *agent.Agent {
	a.Capabilities = `{"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}`
	a.Answer = answer
	if answer == nil {
		a.Answer = usualAnswer
	}
	return a
}

func usualAnswer(method string, params json.RawMessage) string {
	switch method {
	case "elicitation/create":
		return `{"action":"accept","content":{"name":"Ada","username":"ada","email":"ada@example.com"}}`
	case "sampling/createMessage":
		return `{"role":"assistant","model":"test","content":{"type":"text","text":"Bern"},"stopReason":"endTurn"}`
	case "roots/list":
		return `{"roots":[{"uri":"file:///project","name":"project"}]}`
	}
	return `{}`
}

// road is how an agent gets to the full server.
type road struct {
	name          string
	agentOverHTTP bool
	server        server
}

func roads(t *testing.T) []road {
	t.Helper()
	return []road{
		{"stdio to stdio", false, everythingServer(t, false, "legacy", "-big-ids")},
		{"stdio to a modern process", false, everythingServer(t, false, modernVersion)},
		{"stdio to HTTP", false, everythingServer(t, true, "legacy")},
		{"HTTP to stdio", true, everythingServer(t, false, "auto")},
		{"HTTP to HTTP", true, everythingServer(t, true, "legacy", "-big-ids")},
		{"HTTP to modern HTTP", true, everythingServer(t, true, modernVersion)},
	}
}

// travel starts the proxy on a road and says hello.
func (r road) travel(t *testing.T, f faceOf, answer func(string, json.RawMessage) string) (*agent.Agent, context.Context) {
	t.Helper()
	more := ""
	if f.name == "transparent" {
		more = `"transparent":{"names":"plain"}`
	}
	h := newHome(t, config(more, r.server))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := func(more ...string) *exec.Cmd {
		return h.command(t, append([]string{"serve", "--config", h.file, "--expose", f.name}, more...)...)
	}
	var a *agent.Agent
	if r.agentOverHTTP {
		a = agent.Dial("http://"+listen(t, cmd("--http", "127.0.0.1:0"))+"/mcp", nil)
	} else {
		var err error
		if a, err = agent.Start(cmd()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = a.Close()
			if strings.Contains(a.Stderr(), "DATA RACE") {
				t.Errorf("the proxy has a data race:\n%s", a.Stderr())
			}
			if t.Failed() {
				t.Logf("stderr of the proxy:\n%s", clip(a.Stderr(), 4000))
			}
		})
	}
	if _, err := able(a, answer).Hello(ctx); err != nil {
		t.Fatal(err)
	}
	return a, ctx
}

// TestRelay has the full server ask, report, log and stop through every face, on every road.
func TestRelay(t *testing.T) {
	t.Parallel()
	calls := []struct{ tool, arguments, want string }{
		{"test_elicitation", `{"message":"Who?"}`, `"username":"ada"`},
		{"test_elicitation_url", `{}`, `"action":"accept"`},
		{"test_sampling", `{"prompt":"Where?"}`, "LLM response: Bern"},
		{"test_sampling_with_tools", `{}`, `"Bern"`},
		{"test_roots", `{}`, "file:///project"},
		{"test_input_required_result_multi_round", `{}`, "Ada likes"},
		{"test_input_required_result_multiple_inputs", `{}`, "all three"},
	}
	for _, f := range facesOf {
		for _, r := range roads(t) {
			t.Run(f.name+" "+r.name, func(t *testing.T) {
				t.Parallel()
				a, ctx := r.travel(t, f, nil)
				for _, c := range calls {
					if got, err := f.call(ctx, a, c.tool, c.arguments, ""); err != nil || !strings.Contains(got, c.want) {
						t.Errorf("%s: got %s, %v; want %s", c.tool, clip(got, 500), err, c.want)
					}
				}
				progress(ctx, t, a, f)
				cancelled(ctx, t, a, f)
			})
		}
	}
}

func progress(ctx context.Context, t *testing.T, a *agent.Agent, f faceOf) {
	t.Helper()
	before := len(a.Notes())
	if got, err := f.call(ctx, a, "test_tool_with_progress", `{}`, `"_meta":{"progressToken":"p1"}`); err != nil || got != "done" {
		t.Errorf("progress: got %s, %v", got, err)
	}
	var steps []string
	for _, n := range a.Notes()[before:] {
		var p struct {
			ProgressToken string
			Progress      json.Number
		}
		if n.Method == "notifications/progress" && json.Unmarshal(n.Params, &p) == nil && p.ProgressToken == "p1" {
			steps = append(steps, p.Progress.String())
		}
	}
	if got := strings.Join(steps, " "); got != "0 50 100" {
		t.Errorf("progress: got %s, want 0 50 100", got)
	}
}

// cancelled gives up a call once it runs, and sees that the server stops too.
func cancelled(ctx context.Context, t *testing.T, a *agent.Agent, f faceOf) {
	t.Helper()
	call, giveUp := context.WithCancel(ctx)
	defer giveUp()
	before := len(a.Notes())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = f.call(call, a, "relay_wait", `{}`, `"_meta":{"progressToken":"w1"}`)
	}()
	if _, err := a.Await(ctx, func(n agent.Note) bool {
		before--
		return before < 0 && n.Method == "notifications/progress"
	}); err != nil {
		t.Fatalf("await the call: %v", err)
	}
	giveUp()
	<-ended
	eventually(t, "the cancellation at the server", func() bool {
		got, err := f.call(ctx, a, "relay_cancelled", `{}`, "")
		return err == nil && got == "1"
	})
}

// TestNoNoteIsLost has notifications sent just before the result, a thousand times.
func TestNoNoteIsLost(t *testing.T) {
	t.Parallel()
	times := 1000
	if raceOn {
		times = 100
	}
	for _, f := range facesOf {
		for _, r := range roads(t) {
			t.Run(f.name+" "+r.name, func(t *testing.T) {
				t.Parallel()
				a, ctx := r.travel(t, f, nil)
				seen := 0
				for i := range times {
					if _, err := f.call(ctx, a, "relay_notes", `{"count":2}`, fmt.Sprintf(`"_meta":{"progressToken":%d}`, i)); err != nil {
						t.Fatal(err)
					}
					got := 0
					for _, n := range a.Notes()[seen:] {
						if n.Method == "notifications/progress" && strings.Contains(string(n.Params), fmt.Sprintf(`"progressToken":%d,`, i)) {
							got++
						}
					}
					seen = len(a.Notes())
					if got != 2 {
						t.Fatalf("call %d: got %d notifications of progress before the result, want 2", i, got)
					}
				}
				logged := 0
				for _, n := range a.Notes() {
					if n.Method == "notifications/message" {
						logged++
					}
				}
				if f.name == "transparent" && !strings.Contains(r.name, "modern") && logged != 2*times {
					t.Errorf("got %d log messages, want %d", logged, 2*times)
				}
			})
		}
	}
}

// TestQuestionsMeanwhile has fifty calls ask at once; nobody is answered before all have asked.
func TestQuestionsMeanwhile(t *testing.T) {
	t.Parallel()
	const many = 50
	for _, f := range facesOf {
		for _, r := range roads(t) {
			t.Run(f.name+" "+r.name, func(t *testing.T) {
				t.Parallel()
				var asked atomic.Int64
				all := make(chan struct{})
				a, ctx := r.travel(t, f, func(method string, params json.RawMessage) string {
					if asked.Add(1) == many {
						close(all)
					}
					<-all
					return usualAnswer(method, params)
				})
				var calls sync.WaitGroup
				for i := range many {
					calls.Go(func() {
						if got, err := f.call(ctx, a, "test_roots", `{}`, ""); err != nil || !strings.Contains(got, "file:///project") {
							t.Errorf("call %d: got %s, %v", i, clip(got, 300), err)
						}
					})
				}
				calls.Wait()
				// Over a pipe nothing tells whose a question is; one whose call seems to have ended is put again.
				if n := asked.Load(); n != many && !strings.HasSuffix(r.name, "to stdio") {
					t.Errorf("asked %d times, want %d", n, many)
				}
			})
		}
	}
}

// TestManyThrough makes five hundred calls at once, with ids of every kind.
func TestManyThrough(t *testing.T) {
	t.Parallel()
	for _, f := range facesOf {
		for _, r := range roads(t)[3:5] {
			t.Run(f.name+" "+r.name, func(t *testing.T) {
				t.Parallel()
				a, ctx := r.travel(t, f, nil)
				var calls sync.WaitGroup
				for i := range 500 {
					calls.Go(func() {
						id := fmt.Sprintf(`"call %d"`, i)
						if i%2 == 0 {
							id = fmt.Sprint(1<<53 + 1 + 2*i)
						}
						name, args := "relay_echo", fmt.Sprintf(`{"i":%d}`, i)
						if f.tool != "" {
							name, args = f.tool, fmt.Sprintf(f.arguments, "relay_echo", args)
						}
						got, err := a.RequestID(ctx, id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
						if want := fmt.Sprintf(`{\"i\":%d}`, i); err != nil || !strings.Contains(string(got.Result), want) {
							t.Errorf("call %s: got %s %s, %v", id, got.Result, got.Error, err)
						}
					})
				}
				calls.Wait()
			})
		}
	}
}

// TestHugeResult passes 150 MB on, whole.
func TestHugeResult(t *testing.T) {
	if testing.Short() || raceOn {
		t.Skip("takes memory, and minutes with the race detector")
	}
	const size = 150_000_000
	for _, r := range []road{roads(t)[0], roads(t)[5]} {
		t.Run(r.name, func(t *testing.T) {
			start := time.Now()
			a, ctx := r.travel(t, facesOf[2], nil)
			raw, err := a.Call(ctx, "relay_big", fmt.Sprintf(`{"bytes":%d}`, size), "")
			if err != nil || len(raw) < size {
				t.Fatalf("got %d bytes, %v", len(raw), err)
			}
			t.Logf("%d bytes in %v", len(raw), time.Since(start).Round(time.Millisecond))
		})
	}
}
