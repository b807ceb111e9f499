package tests

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// inputNeeded is a result that asks for input.
type inputNeeded struct {
	ResultType    string
	InputRequests map[string]struct {
		Method string
		Params json.RawMessage
	}
	RequestState string
}

// TestRequestState has a modern agent come back with states that are not what it was given.
func TestRequestState(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"legacy", modernVersion} {
		for _, f := range facesOf {
			t.Run(f.name+" with a server of "+protocol, func(t *testing.T) {
				t.Parallel()
				more := ""
				if f.name == "transparent" {
					more = `"transparent":{"names":"plain"}`
				}
				h := newHome(t, config(more, everythingServer(t, true, protocol)))
				url := "http://" + listen(t, h.command(t, "serve", "--config", h.file, "--expose", f.name, "--http", "127.0.0.1:0")) + "/mcp"
				w := &wanderer{t: t, url: url, f: f}
				w.refused("tampered", func(state string) string { return state + "A" })
				w.refused("cut", func(state string) string { return state[:len(state)/2] })
				w.refused("made up", func(string) string { return "bm90aGluZw" })
				w.refused("somebody's long one", func(string) string { return strings.Repeat("A", 1<<16) })
				w.otherRequest()
				w.replayed()
			})
		}
	}
}

// wanderer is a modern agent that calls tools which ask.
type wanderer struct {
	t   *testing.T
	url string
	f   faceOf
}

func (w *wanderer) call(tool, arguments, more string) posted {
	w.t.Helper()
	name, args := tool, arguments
	if w.f.tool != "" {
		name, args = w.f.tool, fmt.Sprintf(w.f.arguments, tool, arguments)
	}
	return modernPost(w.t, w.url, "tools/call", name, fmt.Sprintf(`"name":%q,"arguments":%s%s`, name, args, more))
}

// asked calls a tool that asks for confirmation, and returns the question's key and the state.
func (w *wanderer) asked(tool, arguments string) (key, state string) {
	w.t.Helper()
	p := w.call(tool, arguments, "")
	var n inputNeeded
	if err := json.Unmarshal(p.Result, &n); err != nil || n.ResultType != "input_required" || len(n.InputRequests) != 1 {
		w.t.Fatalf("%s: got %s, want one question", tool, clip(p.raw, 500))
	}
	for key := range n.InputRequests {
		return key, n.RequestState
	}
	return "", ""
}

func answered(key, state string) string {
	return fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":{"ok":true,"name":"Ada","username":"ada","email":"a@b.example"}}},"requestState":%q`, key, state)
}

// refused comes back with a changed state; it must be an error, and the true one must still be good.
func (w *wanderer) refused(how string, change func(state string) string) {
	w.t.Helper()
	key, state := w.asked("test_input_required_result_tampered_state", `{}`)
	if p := w.call("test_input_required_result_tampered_state", `{}`, answered(key, change(state))); p.Error.Code != -32602 {
		w.t.Errorf("%s: got %d %s, want error -32602", how, p.status, clip(p.raw, 500))
	}
	if p := w.call("test_input_required_result_tampered_state", `{}`, answered(key, state)); !strings.Contains(string(p.Result), "state-ok") {
		w.t.Errorf("the true state after the %s one: got %d %s", how, p.status, clip(p.raw, 500))
	}
}

// otherRequest uses a state for a request it was not made for.
func (w *wanderer) otherRequest() {
	w.t.Helper()
	key, state := w.asked("test_elicitation", `{"message":"one"}`)
	if p := w.call("test_elicitation", `{"message":"two"}`, answered(key, state)); p.Error.Code != -32602 {
		w.t.Errorf("a state of other arguments: got %d %s, want error -32602", p.status, clip(p.raw, 500))
	}
}

// replayed uses a state twice: where a call was waiting for it, it waits no more.
func (w *wanderer) replayed() {
	w.t.Helper()
	key, state := w.asked("test_elicitation", `{"message":"once"}`)
	if p := w.call("test_elicitation", `{"message":"once"}`, answered(key, state)); !strings.Contains(string(p.Result), `\"username\":\"ada\"`) {
		w.t.Errorf("the answer: got %d %s", p.status, clip(p.raw, 500))
	}
	if p := w.call("test_elicitation", `{"message":"once"}`, answered(key, state)); p.Error.Code != -32602 && state != "" {
		w.t.Errorf("the same state again: got %d %s, want error -32602", p.status, clip(p.raw, 500))
	}
}
