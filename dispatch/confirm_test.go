package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

func TestConfirm(t *testing.T) {
	answering := func(action string) func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"action":"` + action + `"}`), nil
		}
	}
	refusing := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return nil, &ServerError{Code: -32601, Message: "no elicitation"}
	}
	const call = `{"action":"call","tool":"main/args","arguments":{"text":"x"}}`
	cases := []struct {
		name  string
		rules ConfirmRules
		input string
		ask   func(context.Context, string, json.RawMessage) (json.RawMessage, error)
		want  string // in the answer
		sent  bool
	}{
		{"no rule", ConfirmRules{}, call, nil, `{"text":"x"}`, true},
		{"allowed", ConfirmRules{Tools: []string{"main/args"}}, call, answering("accept"), `{"text":"x"}`, true},
		{"declined", ConfirmRules{Tools: []string{"ar*"}}, call, answering("decline"), "denied: the person did not allow the call of main/args", false},
		{"cancelled", ConfirmRules{Tools: []string{"ar*"}}, call, answering("cancel"), "denied: ", false},
		{"an answer that says nothing", ConfirmRules{Tools: []string{"ar*"}}, call, answering(""), "denied: ", false},
		{"nobody to ask", ConfirmRules{Tools: []string{WriteTools}}, call, nil, "confirmation_required: main/args runs only when a person agrees (tools.confirm)", false},
		{"a client that cannot", ConfirmRules{Tools: []string{DestructiveTools}}, call, refusing, "confirmation_required: ", false},
		{"of one server", ConfirmRules{Servers: map[string][]string{"main": {"args"}}}, call, nil, "confirmation_required", false},
		{"of another server", ConfirmRules{Servers: map[string][]string{"other": {"args"}}}, call, nil, `{"text":"x"}`, true},
		{"read-only", ConfirmRules{Tools: []string{WriteTools, DestructiveTools}}, `{"action":"call","tool":"echo","arguments":{"message":"m"}}`, nil, "m", true},
		{"read-only, by name", ConfirmRules{Tools: []string{"echo"}}, `{"action":"call","tool":"echo","arguments":{"message":"m"}}`, nil, "confirmation_required", false},
		{"page by page", ConfirmRules{Tools: []string{"paged"}}, `{"action":"call","tool":"paged","pages":{"send":"cursor","next":".next","items":".items"}}`, nil, "confirmation_required", false},
		{"in a batch", ConfirmRules{Tools: []string{"args"}}, `{"action":"batch","calls":[{"tool":"main/args"}]}`, nil, "confirmation_required", false},
		{"a dry run", ConfirmRules{Tools: []string{"args"}}, call[:len(call)-1] + `,"dryRun":true}`, nil, `\"text\":\"x\"`, false},
		{"a resource", ConfirmRules{Tools: []string{"*"}}, `{"action":"call","type":"resource","tool":"mem://note"}`, nil, "hello", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, h := newHouse(t, func(o *Options) { o.Confirm = c.rules })
			raw := d.Handle(t.Context(), Input{Agent: testAgent, Arguments: json.RawMessage(c.input), Contact: Contact{Ask: c.ask}}).Raw()
			got := string(raw)
			if !strings.Contains(got, c.want) && !strings.Contains(said(gjson.ParseBytes(raw)), c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if sent := h.sent() > 0; sent != c.sent {
				t.Errorf("reached the server: %v, want %v", sent, c.sent)
			}
			if refused := !c.sent && !strings.Contains(c.input, "dryRun"); refused && !strings.Contains(got, "Not sent: safe to repeat.") {
				t.Errorf("got %s\nwant what became of the call", got)
			}
		})
	}
}

func TestConfirmPass(t *testing.T) {
	d, h := newHouse(t, func(o *Options) { o.Confirm = ConfirmRules{Tools: []string{"args"}} })
	_, err := d.Pass(t.Context(), testAgent, PassRequest{Method: "tools/call", Ref: catalog.Ref{Server: "main", Kind: catalog.Tool, Name: "args"},
		Params: json.RawMessage(`{"name":"args","arguments":{}}`)})
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != ConfirmationRequired || h.sent() != 0 {
		t.Errorf("got %v, %d sent, want confirmation_required and nothing sent", err, h.sent())
	}
}

func TestConfirmShowsWhatIsSent(t *testing.T) {
	d, _ := newHouse(t, func(o *Options) { o.Confirm = ConfirmRules{Tools: []string{"args"}} })
	var asked string
	ask := func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		asked = method + " " + gjson.GetBytes(params, "message").String()
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	input := `{"action":"call","tool":"args","arguments":{"text":"a` + "\u202e\u200b" + `b","n":"7"},"list":"one"}`
	d.Handle(t.Context(), Input{Agent: testAgent, Arguments: json.RawMessage(input), Contact: Contact{Ask: ask}})
	const want = "elicitation/create Allow the call of the tool main/args?\nArguments: {\"text\":\"ab\",\"n\":7,\"list\":[\"one\"]}"
	if asked != want {
		t.Errorf("got %q\nwant %q", asked, want)
	}
}

func TestConfirmRulesAreChecked(t *testing.T) {
	for _, r := range []ConfirmRules{{Tools: []string{"["}}, {Servers: map[string][]string{"a": {"["}}}} {
		if _, err := compileConfirm(r); err == nil {
			t.Errorf("%v: no error", r)
		}
	}
}
