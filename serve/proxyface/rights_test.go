package proxyface

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/tests/house"
	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

// TestRights holds that what an agent may not see is not there for it, by whatever name, and is not hinted at; what the
// configuration keeps from everybody is denied.
func TestRights(t *testing.T) {
	h, err := house.New(func(o *dispatch.Options) {
		o.Rules = view.Rules{Deny: []string{"notes/fail"}}
		o.Rights = func(a dispatch.Agent) (view.Rules, bool) {
			return view.Rules{Only: []string{"a"}}, a.Principal == "guest"
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	f, err := New(Options{Dispatcher: h.Dispatcher})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(principal, in string) string {
		said, err := f.Call(t.Context(), serve.Call{Agent: dispatch.Agent{Principal: principal, Session: principal}, Name: "proxy", Arguments: json.RawMessage(in)})
		if err != nil {
			t.Fatal(err)
		}
		return string(said.Raw())
	}
	for _, in := range []string{`{"action":"list","type":"tool"}`, `{"action":"list","type":"resource"}`, `{"action":"list","type":"prompt"}`} {
		for _, word := range []string{"notes", "later"} {
			if got := ask("guest", in); strings.Contains(got, word) {
				t.Errorf("%s: a guest sees %s in %s", in, word, got)
			}
		}
	}
	// The name that two servers have for others is one server's for this agent.
	if got := ask("guest", `{"action":"call","type":"tool","path":"a_b_c"}`); !strings.Contains(got, "a has called b_c") {
		t.Errorf("the only one of that name: got %s", got)
	}
	for _, in := range []string{
		`{"action":"call","type":"tool","path":"notes_echo","args":{"message":"x"}}`, `{"action":"info","type":"tool","path":"notes_echo"}`,
		`{"action":"call","type":"tool","path":"notes/echo","args":{"message":"x"}}`, `{"action":"call","type":"tool","path":"echo","args":{"message":"x"}}`,
		`{"action":"call","type":"tool","path":"later_late"}`, `{"action":"call","type":"tool","path":"notes_fail"}`, `{"action":"info","type":"tool","path":"a_b/c"}`,
		`{"action":"call","type":"resource","path":"note://1"}`, `{"action":"info","type":"resource","path":"proxy:resource/notes/note://1"}`,
		`{"action":"call","type":"prompt","path":"notes_greet","args":{"who":"x"}}`,
		`{"action":"batch","type":"tool","operations":[{"action":"call","path":"notes_echo","args":{"message":"x"}}]}`,
	} {
		got := ask("guest", in)
		if !strings.Contains(got, "unknown_tool:") && !strings.Contains(got, "not_found:") {
			t.Errorf("%s: got %s", in, got)
		}
		for _, r := range h.Requests() {
			if r.Server != "a" {
				t.Fatalf("%s reached %s", in, r.Server)
			}
		}
	}
	for _, in := range []string{`{"action":"call","type":"tool","path":"notes_fail"}`, `{"action":"info","type":"tool","path":"notes_fail"}`} {
		if got := ask("", in); !strings.Contains(got, "denied:") {
			t.Errorf("%s: got %s", in, got)
		}
	}
	if got := ask("", `{"action":"list","type":"tool"}`); strings.Contains(got, "notes_fail") || !strings.Contains(got, "notes_echo") {
		t.Errorf("list: got %s", got)
	}
}

func TestDefinitionIsSmall(t *testing.T) {
	counter, err := tokens.New("")
	if err != nil {
		t.Fatal(err)
	}
	if n := counter.Count(string(define("proxy", false))); n > 500 {
		t.Errorf("the definition costs %d tokens, want at most 500", n)
	}
	if len(description) > 1500 {
		t.Errorf("the description has %d characters", len(description))
	}
}
