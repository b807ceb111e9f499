package everything

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// exchange is one request while it is answered.
type exchange struct {
	ctx     context.Context
	s       *state
	session *session // nil in the modern era
	id      json.RawMessage
	method  string
	p       params
	out     sink  // what belongs to this request goes here: notifications, questions
	job     *task // where the request goes on as a task
	hangUp  func()
}

// question is something the server wants to know from the agent.
type question struct{ key, method, params string }

// needed says that a request can't go on without answers; in the modern era it becomes an input_required result.
type needed struct {
	questions []question
	state     string // "" for none
}

func (n *needed) Error() string { return "input required" }

func (n *needed) raw() string {
	asked := map[string]string{}
	for _, q := range n.questions {
		asked[q.key] = `{"method":"` + q.method + `","params":` + q.params + `}`
	}
	state := ""
	if n.state != "" {
		state = `,"requestState":` + quote(n.state)
	}
	return `{"resultType":"input_required","inputRequests":` + object(asked) + state + `}`
}

// answer is the whole reply to a request and, in the modern era over HTTP, its status.
func (x *exchange) answer() (line []byte, status int) {
	raw, err := x.route()
	if n, ok := errors.AsType[*needed](err); ok {
		raw, err = n.raw(), nil
	}
	if err != nil {
		f, ok := errors.AsType[*fault](err)
		if !ok {
			f = &fault{code: -32603, message: err.Error()}
		}
		return failure(x.id, f), max(f.status, 200)
	}
	switch {
	case x.session != nil || strings.HasPrefix(raw, `{"resultType"`):
	case raw == `{}`:
		raw = `{"resultType":"complete"}`
	default:
		raw = `{"resultType":"complete",` + raw[1:]
	}
	return result(x.id, raw), 200
}

func (x *exchange) into(v any) error {
	if len(x.p.Arguments) == 0 {
		return nil
	}
	if err := json.Unmarshal(x.p.Arguments, v); err != nil {
		return invalid("arguments: %v", err)
	}
	return nil
}

// client is what the agent said it can do.
func (x *exchange) client() json.RawMessage {
	if x.session != nil {
		return x.session.capabilities
	}
	return x.p.Meta.Capabilities
}

func (x *exchange) clientInfo() json.RawMessage {
	if x.session != nil {
		return x.session.info
	}
	return x.p.Meta.ClientInfo
}

// demand is the fault for an agent that lacks a capability; path leads to it.
func (x *exchange) demand(path ...string) error {
	if has(x.client(), path...) {
		return nil
	}
	want := `{}`
	for _, name := range slices.Backward(path) {
		want = `{` + quote(name) + `:` + want + `}`
	}
	return &fault{code: -32021, message: "the client must declare " + strings.Join(path, "."), data: `{"requiredCapabilities":` + want + `}`, status: 400}
}

func (x *exchange) notify(method, params string) { x.out.send(notification(method, params)) }

func (x *exchange) progress(done, total int) {
	if x.p.Meta == nil || x.p.Meta.ProgressToken == nil {
		return
	}
	x.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d}`, x.p.Meta.ProgressToken, done, total))
}

var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// log sends a log message if the agent wants its level. A modern agent says so in each request, an older one in its session.
func (x *exchange) log(level, data string) {
	wanted := ""
	if x.session != nil {
		wanted = x.session.logLevel()
	} else if x.p.Meta != nil {
		wanted = x.p.Meta.LogLevel
	}
	if wanted == "" || slices.Index(levels, level) < slices.Index(levels, wanted) {
		return
	}
	x.notify("notifications/message", `{"level":"`+level+`","logger":"everything","data":`+data+`}`)
}

// ask gets the answers to questions: in an older session by requests of our own, one after the other; in the modern era
// from the retry's inputResponses, or it returns *needed.
func (x *exchange) ask(questions ...question) (map[string]json.RawMessage, error) {
	return x.askState("", questions...)
}

func (x *exchange) askState(state string, questions ...question) (map[string]json.RawMessage, error) {
	if x.job != nil {
		return x.s.tasks.ask(x.ctx, x.job, questions)
	}
	if x.session == nil {
		return x.given(state, questions)
	}
	got := map[string]json.RawMessage{}
	for _, q := range questions {
		r, err := x.session.ask(x.ctx, x.out, q.method, q.params)
		if err != nil {
			return nil, err
		}
		got[q.key] = r
	}
	return got, nil
}

func (x *exchange) given(state string, questions []question) (map[string]json.RawMessage, error) {
	var responses map[string]json.RawMessage
	if raw := x.p.InputResponses; raw != nil {
		if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) || json.Unmarshal(raw, &responses) != nil {
			return nil, invalid("inputResponses must be an object")
		}
	}
	for _, q := range questions {
		if !fits(q.method, responses[q.key]) {
			return nil, &needed{questions: questions, state: state}
		}
	}
	return responses, nil
}

// fits says whether raw is an answer of the kind that a method has.
func fits(method string, raw json.RawMessage) bool {
	switch method {
	case "elicitation/create":
		var a struct{ Action string }
		return json.Unmarshal(raw, &a) == nil && slices.Contains([]string{"accept", "decline", "cancel"}, a.Action)
	case "sampling/createMessage":
		return has(raw, "content")
	}
	return has(raw, "roots")
}
