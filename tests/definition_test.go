package tests

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

func countTokens(t *testing.T, text string) int {
	t.Helper()
	c, err := tokens.New("")
	if err != nil {
		t.Fatal(err)
	}
	return c.Count(text)
}

// definition is the raw entry of the one tool.
func definition(s *session) json.RawMessage {
	s.t.Helper()
	raw, err := s.Request(s.ctx, "tools/list", `{}`)
	if err != nil {
		s.t.Fatalf("tools/list: %v", err)
	}
	var r struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Tools) != 1 {
		s.t.Fatalf("tools/list: got %d tools (%v), want exactly one: %s", len(r.Tools), err, clip(string(raw), 500))
	}
	return r.Tools[0]
}

func manyServers(n int) []server {
	var list []server
	for i := range n {
		list = append(list, fixWith(fmt.Sprintf("a-rather-long-connection-name-%02d", i), `"lazy":true`, "--only-echo"))
	}
	return list
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	cases := map[string][]server{
		"no server":    nil,
		"one server":   {fix("fixture")},
		"many servers": manyServers(30),
	}
	for name, servers := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, config("", servers...))
			raw := definition(s)
			if n := countTokens(t, string(raw)); n > 500 {
				t.Errorf("the definition costs %d tokens, want at most 500", n)
			}
			var d struct {
				Name, Description string
				InputSchema       json.RawMessage
				Meta              map[string]any `json:"_meta"`
			}
			if err := json.Unmarshal(raw, &d); err != nil {
				t.Fatal(err)
			}
			if d.Name != "proxy-dispatch" {
				t.Errorf("got tool %q", d.Name)
			}
			if len(d.Description) >= 1500 {
				t.Errorf("description has %d characters, want fewer than 1500", len(d.Description))
			}
			if d.Meta["anthropic/maxResultSizeChars"] == nil {
				t.Errorf("no anthropic/maxResultSizeChars in %v", d.Meta)
			}
			plainSchema(t, d.InputSchema)
		})
	}
}

// plainSchema fails on keywords that hosts choke on, and on parameters that are missing.
func plainSchema(t *testing.T, raw json.RawMessage) {
	t.Helper()
	var top struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields("action query limit offset type connection format refresh tool arguments argumentsFile path op resultToFile resultSizeThreshold timeoutMs meta dryRun calls resultFile topic lines fromLine toLine maxBytes pattern context invert") {
		if top.Properties[p] == nil {
			t.Errorf("the schema lacks parameter %s", p)
		}
	}
	if len(top.Required) != 1 || top.Required[0] != "action" {
		t.Errorf("required: got %v, want action alone", top.Required)
	}
	var check func(where string, raw json.RawMessage)
	check = func(where string, raw json.RawMessage) {
		var m map[string]json.RawMessage
		if json.Unmarshal(raw, &m) != nil {
			return
		}
		for k, v := range m {
			switch k {
			case "type", "enum", "description", "required":
			case "items":
				check(where+".items", v)
			case "properties":
				var props map[string]json.RawMessage
				_ = json.Unmarshal(v, &props)
				for name, p := range props {
					check(where+"."+name, p)
				}
			default:
				t.Errorf("schema%s uses %q", where, k)
			}
		}
	}
	check("", raw)
}

func TestDefinitionIsStable(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture"), fix("broken", "--mode", "crash-start"), fix("late", "--delay", "300ms")))
	first := definition(s)
	s.do(`{"action":"list","refresh":true}`)
	s.tool("fixture/grow", `{}`, "").ok()
	s.tool("late/echo", `{"message":"hi"}`, "").ok()
	if again := definition(s); string(again) != string(first) {
		t.Errorf("the definition changed:\n%s\n%s", first, again)
	}
	for _, n := range s.Notes() {
		if n.Method == "notifications/tools/list_changed" {
			t.Errorf("the agent was told that tools changed; its one tool did not")
		}
	}
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	h := newHome(t, config("", append([]server{fixWith("files", `"description":"Files of the project"`)}, manyServers(30)...)...))
	s := h.start(t)
	raw, err := s.Hello(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Instructions string
		ServerInfo   struct{ Name, Version string }
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	if n := countTokens(t, r.Instructions); n > 200 || n < 20 {
		t.Errorf("instructions cost %d tokens, want some and at most 200:\n%s", n, r.Instructions)
	}
	for _, w := range []string{"files", "more", "search"} {
		if !strings.Contains(strings.ToLower(r.Instructions), w) {
			t.Errorf("instructions lack %q:\n%s", w, r.Instructions)
		}
	}
	if r.ServerInfo.Name != "proxy-dispatch" || r.ServerInfo.Version == "" {
		t.Errorf("serverInfo: got %+v", r.ServerInfo)
	}
}
