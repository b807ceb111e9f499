package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func callOf(name string) Request {
	return Request{Server: "s", Method: "tools/call", Params: json.RawMessage(`{"name":"` + name + `","arguments":{"n":1.0}}`)}
}

func TestServerWantsInput(t *testing.T) {
	ask := func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"to":"` + method + `","with":` + string(orNull(params)) + `}`), nil
	}
	const done = `{"content":[],"answers":{"who":{"to":"elicitation/create","with":{"n":1.10}},"roots":{"to":"roots/list","with":null}},"state":"s \u00fc/\"1"}`
	tests := []struct {
		name, call string
		change     func(r *Request)
		want       string
	}{
		{"asked", "asks", func(r *Request) { r.Ask = ask }, done},
		{"asked outside", "asks", nil, strings.ReplaceAll(strings.ReplaceAll(done, `{"to":"elicitation/create","with":{"n":1.10}}`, `"outside"`), `{"to":"roots/list","with":null}`, `"outside"`)},
		{"relayed", "asks", func(r *Request) { r.Relay = true }, `"requestState":"s \u00fc/\"1"`},
		{"relayed answers", "asks", func(r *Request) {
			r.Relay, r.Params = true, json.RawMessage(`{"name":"asks","inputResponses":{"a":1.0},"requestState":"x"}`)
		}, `{"content":[],"answers":{"a":1.0},"state":"x"}`},
		{"patience", "patience", nil, `{"content":[],"answers":null,"state":"try 3"}`},
		{"not asked", "plain", nil, `{"content":[],"answers":null,"state":null}`},
		{"refused", "asks", func(r *Request) { r.Ask = fails(&RPCError{Code: -1, Message: "the person left"}) }, "error: server s: the server asks for input, "},
		{"endless", "endless", nil, "error: server s: the server asks for input without end"},
		{"endless questions", "sampling endless", func(r *Request) { r.Ask = ask }, "error: server s: the server asks for input without end"},
		{"strange", "strange", func(r *Request) { r.Ask = ask }, `error: server s: the server asks for input, no input is of the kind "tools/call"`},
	}
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s", "modern")}, Asked: func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`"outside"`), nil
	}})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := callOf(tt.call)
			if tt.change != nil {
				tt.change(&r)
			}
			raw, err := f.Do(t.Context(), r)
			got := string(raw)
			if err != nil {
				got = "error: " + err.Error()
				if _, rpc := errors.AsType[*RPCError](err); rpc || fateOf(err) != Ran {
					t.Errorf("got %#v, want an error of ours that ran", err)
				}
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s", "modern")}})
		if _, err := f.Do(t.Context(), callOf("asks")); err == nil || !strings.Contains(err.Error(), "nobody can be asked") {
			t.Errorf("got %v", err)
		}
	})
}

// Each request says what the server may ask.
func TestCapabilitiesInMeta(t *testing.T) {
	const declared, own = `{"roots":{}}`, `{"sampling":{}}`
	tests := []struct {
		name   string
		change func(r *Request)
		want   string
	}{
		{"nobody to ask", func(*Request) {}, `{}`},
		{"asked", func(r *Request) { r.Ask = mirror }, declared},
		{"relayed", func(r *Request) { r.Relay = true }, declared},
		{"the agent's own", func(r *Request) {
			r.Relay, r.Meta = true, json.RawMessage(`{"io.modelcontextprotocol/clientCapabilities":`+own+`}`)
		}, own},
		{"the agent's own, but it can't be asked", func(r *Request) {
			r.Meta = json.RawMessage(`{"io.modelcontextprotocol/clientCapabilities":` + own + `}`)
		}, `{}`},
	}
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s", "modern")}, Capabilities: json.RawMessage(declared)})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Request{Server: "s", Method: "state"}
			tt.change(&r)
			raw, err := f.Do(t.Context(), r)
			if want := `"io.modelcontextprotocol/clientCapabilities":` + tt.want; err != nil || !strings.Contains(string(raw), want) {
				t.Errorf("got %s, %v; want %s", raw, err, want)
			}
		})
	}
}

// What was a method of its own in the old era is done with what the new one has.
func TestMethodsOfTheOldEra(t *testing.T) {
	heard := make(chan string, 100)
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s", "modern", "acks")}, OnEvent: func(e Event) {
		if e.Kind == Said {
			heard <- e.Method + string(e.Params)
		}
	}})
	do := func(method, params string) string {
		t.Helper()
		raw, err := f.Do(t.Context(), Request{Server: "s", Method: method, Params: json.RawMessage(params)})
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return string(raw)
	}
	if got := do("ping", ""); got != `{}` {
		t.Errorf("ping: got %s", got)
	}
	do("logging/setLevel", `{"level":"warning"}`)
	if got := do("state", ""); !strings.Contains(got, `"io.modelcontextprotocol/logLevel":"warning"`) {
		t.Errorf("level: got %s", got)
	}
	do("resources/subscribe", `{"uri":"file:///a"}`)
	do("resources/subscribe", `{"uri":"file:///b"}`)
	do("resources/unsubscribe", `{"uri":"file:///a"}`)
	var got []string
	for range 4 { // a; a and b; b
		got = append(got, strings.TrimPrefix(<-heard, "notifications/resources/updated"))
	}
	if want := []string{`{"uri":"file:///a"}`, `{"uri":"file:///a"}`, `{"uri":"file:///b"}`, `{"uri":"file:///b"}`}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
