package tests

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
	"github.com/proxy-dispatch/proxy-dispatch/tests/conformance/everything"
)

// full is the full server of the conformance tests; args are its own.
func full(t *testing.T, name string, args ...string) server {
	t.Helper()
	list, err := json.Marshal(append([]string{}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return server{name, fmt.Sprintf(`{"command":%q,"args":%s,"env":{%q:"on"}}`, self(t), list, everything.EnvKey)}
}

// ask sends a request of the protocol and fails the test on an error.
func (s *session) ask(method, params string) json.RawMessage {
	s.t.Helper()
	raw, err := s.Request(s.ctx, method, params)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, clip(params, 300), err)
	}
	return raw
}

// names are one member of the entries of a list.
func (s *session) names(method, key, member string) (out []string) {
	s.t.Helper()
	var lists map[string]json.RawMessage
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(s.ask(method, `{}`), &lists); err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(lists[key], &entries); err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		var name string
		_ = json.Unmarshal(e[member], &name)
		out = append(out, name)
	}
	return out
}

func shownURI(server, uri string) string {
	return "proxy://resource/" + base64.RawURLEncoding.EncodeToString([]byte(`{"server":"`+server+`","uri":"`+uri+`"}`))
}

// talkative makes an agent one that can be asked everything, and notes what it was asked.
func talkative(a *agent.Agent, asked chan string) {
	a.Client = "host"
	a.Capabilities = `{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`
	a.Answer = func(method string, params json.RawMessage) string {
		select {
		case asked <- method + " " + string(params):
		default:
		}
		switch method {
		case "roots/list":
			return `{"roots":[{"uri":"file:///of/the/agent"}]}`
		case "elicitation/create":
			return `{"action":"accept","content":{"name":"Ada"}}`
		}
		return `{"role":"assistant","model":"m","content":{"type":"text","text":"forty-two"}}`
	}
}

// TestTransparent sees two full servers of the same names through the face transparent, on both transports.
func TestTransparent(t *testing.T) {
	t.Parallel()
	conf := config(`"transparent":{"wait":"30s"}`, full(t, "one"), full(t, "two", "-era", "modern"))
	ways := map[string]func(t *testing.T) (*session, chan string){
		"stdio": func(t *testing.T) (*session, chan string) {
			asked := make(chan string, 100)
			s := newHome(t, conf).start(t, "--expose", "transparent")
			talkative(s.Agent, asked)
			return s, asked
		},
		"http": func(t *testing.T) (*session, chan string) {
			asked := make(chan string, 100)
			s := &session{agent.Dial("http://"+httpProxy(t, conf)+"/mcp/transparent", nil), t, deadline(t), nil}
			talkative(s.Agent, asked)
			return s, asked
		},
	}
	for way, start := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s, asked := start(t)
			hello, err := s.Hello(s.ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`"prompts":{"listChanged":true}`, `"subscribe":true`, `"logging":{}`, `"completions":{}`} {
				if !strings.Contains(string(hello), want) {
					t.Errorf("initialize says %s, want %s", hello, want)
				}
			}
			if way == "http" {
				if err := s.Listen(s.ctx); err != nil {
					t.Fatal(err)
				}
			}
			seeLists(s)
			seeCalls(s)
			seeQuestions(s, asked)
			seeNotices(s)
			seeIdentity(s, way)
		})
	}
}

// seeIdentity holds what servers know of the agent, and that they reach it outside of its calls.
func seeIdentity(s *session, way string) {
	s.t.Helper()
	who := `\"name\":\"proxy-dispatch\"`
	if way == "stdio" {
		who = `\"name\":\"host-through-proxy\"`
	}
	for _, server := range []string{"one", "two"} {
		if got := string(s.ask("tools/call", `{"name":"`+server+`__relay_client"}`)); !strings.Contains(got, who) || !strings.Contains(got, `\"elicitation\"`) {
			s.t.Errorf("%s knows the agent as %s, want %s, who can be asked", server, got, who)
		}
	}
	if err := s.Notify(s.ctx, "notifications/roots/list_changed", `{}`); err != nil {
		s.t.Fatal(err)
	}
	s.await("notifications/message", `"data":"1 roots now"`)
}

// TestTransparentAgents holds that agents who share a server hear what is theirs.
func TestTransparentAgents(t *testing.T) {
	t.Parallel()
	addr := httpProxy(t, config(`"expose":["transparent"],"transparent":{"names":"plain","wait":"30s"}`, full(t, "one")))
	reader, other := &session{agent.Dial("http://"+addr+"/mcp", nil), t, deadline(t), nil}, &session{agent.Dial("http://"+addr+"/mcp", nil), t, deadline(t), nil}
	for _, s := range []*session{reader, other} {
		if _, err := s.Hello(s.ctx); err != nil {
			t.Fatal(err)
		}
		if err := s.Listen(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.ask("tools/list", `{}`)
	}
	const watched = "test://watched-resource"
	touch := func() { other.ask("tools/call", `{"name":"relay_touch","arguments":{"uri":"`+watched+`"}}`) }
	reader.ask("resources/subscribe", `{"uri":"`+watched+`"}`)
	touch()
	reader.await("notifications/resources/updated", watched)
	other.ask("resources/subscribe", `{"uri":"`+watched+`"}`)
	reader.ask("resources/unsubscribe", `{"uri":"`+watched+`"}`)
	touch() // the server still tells, because one still reads
	other.await("notifications/resources/updated", watched)
	other.ask("resources/unsubscribe", `{"uri":"`+watched+`"}`)
	touch()
	other.ask("tools/call", `{"name":"test_trigger_tool_change"}`)
	for _, s := range []*session{reader, other} {
		s.await("notifications/tools/list_changed", "")
		updates := 0
		for _, n := range s.Notes() {
			if n.Method == "notifications/resources/updated" {
				updates++
			}
		}
		if updates != 1 {
			t.Errorf("an agent heard of %d updates, want 1", updates)
		}
	}
}

func seeLists(s *session) {
	s.t.Helper()
	for method, want := range map[string][2]string{
		"tools/list tools name":                                  {"one__test_simple_text", "two__test_simple_text"},
		"prompts/list prompts name":                              {"one__test_simple_prompt", "two__test_simple_prompt"},
		"resources/list resources uri":                           {shownURI("one", "test://static-text"), shownURI("two", "test://static-text")},
		"resources/templates/list resourceTemplates uriTemplate": {"proxy://template/one/test://template/{id}/data", "proxy://template/two/test://template/{id}/data"},
	} {
		f := strings.Fields(method)
		names := strings.Join(s.names(f[0], f[1], f[2]), "\n")
		for _, w := range want {
			if !strings.Contains(names, w) {
				s.t.Errorf("%s: got %s, want %s", f[0], names, w)
			}
		}
	}
	var page struct {
		Tools      []json.RawMessage
		NextCursor string
	}
	if err := json.Unmarshal(s.ask("tools/list", `{"limit":3}`), &page); err != nil || len(page.Tools) != 3 || page.NextCursor == "" {
		s.t.Errorf("a page of 3: got %d tools, cursor %q, %v", len(page.Tools), page.NextCursor, err)
	}
}

func seeCalls(s *session) {
	s.t.Helper()
	for _, tc := range []struct{ name, method, params, want string }{
		{"call", "tools/call", `{"name":"two__relay_echo","arguments":{"n":9007199254740993,"x":1.10}}`, `{\"n\":9007199254740993,\"x\":1.10}`},
		{"plain name of both, with colons", "tools/call", `{"name":"one::test_simple_text"}`, `This is a simple text response`},
		{"link", "tools/call", `{"name":"one__test_resource_link"}`, `"uri":"` + shownURI("one", "test://static-text") + `"`},
		{"embedded", "tools/call", `{"name":"two__test_embedded_resource"}`, `"uri":"` + shownURI("two", "test://embedded-resource") + `"`},
		{"read", "resources/read", `{"uri":"` + shownURI("two", "test://static-text") + `"}`, `"uri":"` + shownURI("two", "test://static-text") + `"`},
		{"template", "resources/read", `{"uri":"proxy://template/one/test://template/7/data"}`, `Data for ID: 7`},
		{"prompt", "prompts/get", `{"name":"two__test_prompt_with_arguments","arguments":{"arg1":"x","arg2":"y"}}`, `"messages"`},
		{"completion", "completion/complete", `{"ref":{"type":"ref/prompt","name":"one__test_prompt_with_arguments"},"argument":{"name":"arg1","value":"p"}}`, `"completion"`},
	} {
		if got := string(s.ask(tc.method, tc.params)); !strings.Contains(got, tc.want) {
			s.t.Errorf("%s: got %s, want it to hold %s", tc.name, clip(got, 800), tc.want)
		}
	}
	for _, tc := range []struct{ name, method, params, want string }{
		{"the server's own error", "tools/call", `{"name":"one__relay_fault"}`, `{"code":-32042,"message":"quota used up","data":{"retryAfter":9007199254740993}}`},
		{"unknown tool", "tools/call", `{"name":"one__nope"}`, `"code":-32602`},
		{"ambiguous tool", "tools/call", `{"name":"test_simple_text"}`, `"code":-32602`},
		{"unknown resource", "resources/read", `{"uri":"nowhere://x"}`, `"code":-32002`},
		{"unknown method", "no/such", `{}`, `"code":-32601`},
	} {
		if _, err := s.Request(s.ctx, tc.method, tc.params); err == nil || !strings.Contains(err.Error(), tc.want) {
			s.t.Errorf("%s: got %v, want %s", tc.name, err, tc.want)
		}
	}
}

func seeQuestions(s *session, asked chan string) {
	s.t.Helper()
	for _, server := range []string{"one", "two"} {
		for tool, want := range map[string]string{
			`test_sampling","arguments":{"prompt":"x"}`:        "forty-two",
			`test_elicitation","arguments":{"message":"who?"}`: "accept",
			`test_roots`: "file:///of/the/agent",
		} {
			params := `{"name":"` + server + `__` + tool
			if !strings.HasSuffix(tool, "}") {
				params += `"`
			}
			if got := string(s.ask("tools/call", params+"}")); !strings.Contains(got, want) {
				s.t.Errorf("%s %s: got %s, want %s", server, tool, clip(got, 500), want)
			}
		}
	}
	if len(asked) < 6 {
		s.t.Errorf("the agent was asked %d times, want 6", len(asked))
	}
	for range len(asked) {
		if question := <-asked; !strings.Contains(question, `"proxy":{"server":"`) {
			s.t.Errorf("a question does not say whose it is: %s", question)
		}
	}
}

func seeNotices(s *session) {
	s.t.Helper()
	s.ask("logging/setLevel", `{"level":"info"}`)
	s.ask("tools/call", `{"name":"one__relay_notes","arguments":{"count":3},"_meta":{"progressToken":"p"}}`)
	progress, logs := 0, 0
	for _, n := range s.Notes() {
		switch n.Method {
		case "notifications/progress":
			progress++
		case "notifications/message":
			if logs++; !strings.Contains(string(n.Params), `"proxy":{"server":"one"}`) {
				s.t.Errorf("a log message lacks its server: %s", n.Params)
			}
		}
	}
	if progress < 3 || logs < 3 {
		s.t.Errorf("got %d reports of progress and %d log messages before the result, want 3 of each", progress, logs)
	}
	for _, server := range []string{"one", "two"} {
		uri := shownURI(server, "test://watched-resource")
		s.ask("resources/subscribe", `{"uri":"`+uri+`"}`)
		s.ask("tools/call", `{"name":"`+server+`__relay_touch"}`)
		s.await("notifications/resources/updated", uri)
		s.ask("resources/unsubscribe", `{"uri":"`+uri+`"}`)
		s.ask("tools/call", `{"name":"`+server+`__test_trigger_tool_change"}`)
		s.await("notifications/tools/list_changed", "")
		eventually(s.t, "the new tool of "+server, func() bool {
			return slices.Contains(s.names("tools/list", "tools", "name"), server+"__test_dynamic_tool")
		})
	}
}

// await waits for a notification that holds a word.
func (s *session) await(method, word string) {
	s.t.Helper()
	if _, err := s.Await(s.ctx, func(n agent.Note) bool { return n.Method == method && strings.Contains(string(n.Params), word) }); err != nil {
		s.t.Errorf("%s with %s: %v", method, word, err)
	}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
