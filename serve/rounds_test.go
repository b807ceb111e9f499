package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

// modernMeta is the `_meta` of an agent of 2026-07-28.
func modernMeta(capabilities string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"m","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
}

// modernCall is a tools/call of such an agent; more are further params.
func modernCall(id int, tool, arguments, capabilities string, more ...string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,%s%s}}`,
		id, tool, arguments, modernMeta(capabilities), strings.Join(append([]string{""}, more...), ","))
}

// give is what an agent adds to repeat its request.
func give(state, responses string) string {
	return fmt.Sprintf(`"requestState":%q,"inputResponses":%s`, state, responses)
}

const (
	askRoots   = `{"method":"roots/list"}`
	rootsGiven = `{"q1":{"roots":[]}}`
)

func TestRound(t *testing.T) {
	k := startStdio(t, Options{Face: newFakeFace()})
	k.send(modernCall(1, "ask", `{"method":"elicitation/create","params":{"message":"Who?"},"times":2}`, everything))
	var state string
	for i, want := range []string{"q1", "q2"} {
		got := k.read()
		if i == 0 && gjson.Get(got, "result.inputRequests").Raw != `{"q1":{"method":"elicitation/create","params":{"message":"Who?"}}}` {
			t.Errorf("first question: got %s", got)
		}
		if gjson.Get(got, "result.resultType").String() != "input_required" || !gjson.Get(got, "result.inputRequests."+want).Exists() || gjson.Get(got, "result.ttlMs").Exists() {
			t.Errorf("question %s: got %s", want, got)
		}
		next := gjson.Get(got, "result.requestState").String()
		if next == "" || next == state {
			t.Errorf("state: got %q after %q", next, state)
		}
		state = next
		k.send(modernCall(i+2, "ask", ` {"times":2, "params":{"message":"Who?"},"method":"elicitation/create"}`, everything, give(state, fmt.Sprintf(`{%q:{"action":"accept","n":%d}}`, want, i))))
	}
	if got := gjson.Get(k.read(), "result.answers").Raw; got != `[{"action":"accept","n":0},{"action":"accept","n":1}]` {
		t.Errorf("got %s", got)
	}
}

func TestRoundRefusals(t *testing.T) {
	cases := []struct {
		name  string
		again func(state string) string
		want  string
	}{
		{"tampered", func(s string) string { return modernCall(2, "ask", askRoots, everything, give(s+"AAAA", rootsGiven)) }, "not sealed by this proxy"},
		{"made up", func(string) string { return modernCall(2, "ask", askRoots, everything, give("x", rootsGiven)) }, "not sealed by this proxy"},
		{"no string", func(string) string { return modernCall(2, "ask", askRoots, everything, `"requestState":7`) }, "must be a string"},
		{"answers are no object", func(s string) string { return modernCall(2, "ask", askRoots, everything, give(s, `[1]`)) }, "must be an object"},
		{"other arguments", func(s string) string {
			return modernCall(2, "ask", `{"method":"roots/list","times":3}`, everything, give(s, rootsGiven))
		}, "another request"},
		{"other tool", func(s string) string { return modernCall(2, "echo", askRoots, everything, give(s, rootsGiven)) }, "another request"},
		{"other method", func(s string) string {
			return strings.Replace(modernCall(2, "ask", askRoots, everything, give(s, rootsGiven)), "tools/call", "prompts/get", 1)
		}, "another request"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := startStdio(t, Options{Face: newFakeFace()})
			k.send(modernCall(1, "ask", askRoots, everything))
			state := gjson.Get(k.read(), "result.requestState").String()
			k.send(c.again(state))
			if got := k.read(); gjson.Get(got, "error.code").Int() != -32602 || !strings.Contains(got, c.want) {
				t.Errorf("got %s, want -32602 and %q", got, c.want)
			}
			k.send(modernCall(3, "ask", askRoots, everything, give(state, rootsGiven))) // the call itself is unharmed
			if got := gjson.Get(k.read(), "result.answers").Raw; got != `[{"roots":[]}]` {
				t.Errorf("after it: got %s", got)
			}
			k.send(modernCall(4, "ask", askRoots, everything, give(state, rootsGiven)))
			if got := k.read(); !strings.Contains(got, "used already") {
				t.Errorf("replayed: got %s", got)
			}
		})
	}
}

func TestRoundAnswersMissing(t *testing.T) {
	k := startStdio(t, Options{Face: newFakeFace()})
	k.send(modernCall(1, "askBoth", `{}`, everything))
	first := k.read()
	for try := 0; try < 100 && len(gjson.Get(first, "result.inputRequests").Map()) == 1; try++ { // the other comes later
		k.send(modernCall(2, "askBoth", `{}`, everything, give(gjson.Get(first, "result.requestState").String(), `{"unknown":{}}`)))
		first = k.read()
	}
	if n := len(gjson.Get(first, "result.inputRequests").Map()); n != 2 {
		t.Fatalf("got %s, want two questions", first)
	}
	k.send(modernCall(3, "askBoth", `{}`, everything, give(gjson.Get(first, "result.requestState").String(), `{"q2":{"b":2},"q1":"no object"}`)))
	second := k.read()
	if got := gjson.Get(second, "result.inputRequests").Map(); len(got) != 1 || !got["q1"].Exists() {
		t.Fatalf("got %s, want the first question again", second)
	}
	k.send(modernCall(4, "askBoth", `{}`, everything, give(gjson.Get(second, "result.requestState").String(), `{"q1":{"a":1}}`)))
	if got := k.read(); !strings.Contains(got, `{\"a\":1} \u003cnil\u003e`) || !strings.Contains(got, `{\"b\":2} \u003cnil\u003e`) {
		t.Errorf("got %s", got)
	}
}

func TestRoundEnds(t *testing.T) {
	cases := []struct {
		name string
		end  func(t *testing.T, k *talk, state string)
	}{
		{"abandoned", func(t *testing.T, k *talk, state string) {
			time.Sleep(61 * time.Second)
			k.send(modernCall(2, "ask", askRoots, everything, give(state, rootsGiven)))
			if got := k.read(); !strings.Contains(got, "expired") {
				t.Errorf("late: got %s", got)
			}
		}},
		{"agent gone", func(*testing.T, *talk, string) {}},
		{"resumed and cancelled", func(t *testing.T, k *talk, state string) {
			k.send(modernCall(2, "ask", `{"method":"roots/list"}`, everything, give(state, `{}`)))
			again := gjson.Get(k.read(), "result.requestState").String()
			k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`) // it is answered
			k.send(modernCall(3, "ask", `{"method":"roots/list"}`, everything, give(again, `{"q1":{}}`)))
			if got := k.read(); !strings.Contains(got, `"answers":[{}]`) {
				t.Errorf("got %s", got)
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeFace()
				k := startStdio(t, Options{Face: f, ParkTime: time.Minute})
				k.send(modernCall(1, "ask", askRoots, everything))
				c.end(t, k, gjson.Get(k.read(), "result.requestState").String())
				k.in.Close()
				if err := <-k.done; err != nil {
					t.Error(err)
				}
				if got := f.cancelled.Load(); c.name != "resumed and cancelled" && got != 1 {
					t.Errorf("questions given up: got %d, want 1", got)
				}
			})
		})
	}
}

func TestRoundsAreBounded(t *testing.T) {
	k := startStdio(t, Options{Face: newFakeFace(), MaxParked: 2, MaxCalls: 1})
	var states []string
	for i := range 2 { // each gives its slot to the next
		k.send(modernCall(i, "ask", askRoots, everything))
		states = append(states, gjson.Get(k.read(), "result.requestState").String())
	}
	k.send(modernCall(3, "ask", askRoots, everything))
	if got := k.read(); !strings.Contains(got, "too many calls wait for agents to answer") {
		t.Errorf("third: got %s", got)
	}
	for i, state := range states {
		k.send(modernCall(4+i, "ask", askRoots, everything, give(state, rootsGiven)))
		if got := k.read(); !strings.Contains(got, `"answers":[{"roots":[]}]`) {
			t.Errorf("resumed: got %s", got)
		}
	}
}

func TestRoundCapabilities(t *testing.T) {
	f := newFakeFace()
	k := startStdio(t, Options{Face: f})
	k.send(modernCall(1, "ask", askRoots, `{}`))
	if got := gjson.Get(k.read(), "result.answers").Raw; got != `[{"code":-32601,"message":"the agent does not support roots"}]` {
		t.Errorf("asked: got %s", got)
	}
	f.relayed = `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url"}}}}`
	k.send(modernCall(2, "relay", `{}`, `{"elicitation":{}}`))
	if got := gjson.Get(k.read(), "error").Raw; !strings.Contains(got, `-32021`) || !strings.Contains(got, `{"requiredCapabilities":{"elicitation":{"url":{}}}}`) {
		t.Errorf("relayed: got %s", got)
	}
}

func TestRelay(t *testing.T) {
	const asked = `{"a":{"method":"roots/list"}}`
	cases := []struct{ name, relayed, state string }{
		{"with a state", `{"resultType":"input_required","inputRequests":` + asked + `,"requestState":"theirs","x":1}`, `"theirs"`},
		{"without", `{"inputRequests":` + asked + `,"resultType":"input_required"}`, `null`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeFace()
			f.relayed = c.relayed
			k := startStdio(t, Options{Face: f})
			k.send(modernCall(1, "relay", `{}`, everything))
			got := k.read()
			state := gjson.Get(got, "result.requestState").String()
			if state == "" || strings.Contains(state, "theirs") || gjson.Get(got, "result.inputRequests").Raw != asked || gjson.Get(got, "result.x").Exists() != strings.Contains(c.relayed, `"x"`) {
				t.Errorf("question: got %s", got)
			}
			k.send(modernCall(2, "relay", `{}`, everything, give(state, `{"a":{"n":1.10}}`)))
			if got := k.read(); gjson.Get(got, "result.inputs").Raw != `{"a":{"n":1.10}}` || gjson.Get(got, "result.state").Raw != c.state {
				t.Errorf("repeated: got %s", got)
			}
		})
	}
}

func modernHeaders(method, name string) []string {
	head := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		head = append(head, "Mcp-Name", name)
	}
	return head
}

func TestRoundOverHTTP(t *testing.T) {
	s := startHTTP(t, HTTPOptions{Options: Options{Face: newFakeFace()}, Addr: "0.0.0.0:0", Auth: byName{}})
	ask := func(who, call string) (int, string) {
		status, _, body := post(t, s.URL+"/mcp", "", call, append(modernHeaders("tools/call", "ask"), "Authorization", "Bearer "+who)...)
		return status, body
	}
	_, first := ask("ann", modernCall(1, "ask", askRoots, everything))
	state := gjson.Get(first, "result.requestState").String()
	if status, got := ask("bob", modernCall(2, "ask", askRoots, everything, give(state, rootsGiven))); status != http.StatusBadRequest || !strings.Contains(got, "another caller") {
		t.Errorf("bob: got %d %s", status, got)
	}
	status, got := ask("ann", modernCall(3, "ask", askRoots, everything, give(state, rootsGiven)))
	if status != http.StatusOK || gjson.Get(got, "result.answers").Raw != `[{"roots":[]}]` {
		t.Errorf("ann: got %d %s", status, got)
	}
	if status, got := ask("ann", modernCall(4, "ask", askRoots, everything, give(state, rootsGiven))); status != http.StatusBadRequest || !strings.Contains(got, "used already") {
		t.Errorf("ann again: got %d %s", status, got)
	}
	read := fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"a://b",%s}}`, modernMeta(everything))
	_, _, body := post(t, s.URL+"/mcp", "", read, append(modernHeaders("resources/read", "a://b"), "Authorization", "Bearer ann")...)
	if gjson.Get(body, "result.resultType").String() != "input_required" {
		t.Errorf("resources/read: got %s", body)
	}
}

// TestDigest holds what of a request counts.
func TestDigest(t *testing.T) {
	of := func(method, params string) string {
		return (&task{method: method, params: json.RawMessage(params)}).digest()
	}
	base := of("tools/call", `{"name":"a","arguments":{"x":1.0,"y":[1,2]}}`)
	for _, c := range []struct {
		name, method, params string
		same                 bool
	}{
		{"order and space", "tools/call", `{ "arguments" : {"y":[1, 2],"x":1.0}, "name":"\u0061"}`, true},
		{"meta and answers", "tools/call", `{"name":"a","arguments":{"x":1.0,"y":[1,2]},"_meta":{},"inputResponses":{},"requestState":"x"}`, true},
		{"order in a list", "tools/call", `{"name":"a","arguments":{"x":1.0,"y":[2,1]}}`, false},
		{"number", "tools/call", `{"name":"a","arguments":{"x":1.5,"y":[1,2]}}`, false},
		{"method", "prompts/get", `{"name":"a","arguments":{"x":1.0,"y":[1,2]}}`, false},
		{"more", "tools/call", `{"name":"a","arguments":{"x":1.0,"y":[1,2]},"task":{}}`, false},
	} {
		if got := of(c.method, c.params) == base; got != c.same {
			t.Errorf("%s: same is %t, want %t", c.name, got, c.same)
		}
	}
}
