package dispatch

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"
)

// curious is a server that wants to know a name before it answers.
type curious struct{ *house }

const wantsName = `{"resultType":"input_required","inputRequests":{"name":{"method":"elicitation/create","params":{"message":"Who?"}}},"requestState":"s1"}`

func (c curious) Forward(ctx context.Context, r Request) (json.RawMessage, error) {
	p := gjson.ParseBytes(r.Params)
	name := p.Get("inputResponses.name.content.name").String()
	if name == "" && r.Relay {
		return json.RawMessage(wantsName), nil
	}
	if name == "" && r.Ask != nil {
		raw, err := r.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"Who?"}`))
		if err != nil {
			return nil, err
		}
		name = gjson.GetBytes(raw, "content.name").String()
	}
	return contentResult([]json.RawMessage{textBlock("hello " + name + ", " + p.Get("requestState").String() + r.Asker + string(r.Capabilities))}, false), nil
}

func TestContactReachesServers(t *testing.T) {
	d, _ := newHouse(t, func(o *Options) { o.Forwarder = curious{o.Forwarder.(*house)} })
	asked := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"action":"accept","content":{"name":"Bo"}}`), nil
	}
	relay := Contact{Relay: true, Ask: asked, Asker: "a", Capabilities: json.RawMessage(`{}`)}
	retry := relay
	retry.Inputs, retry.State = json.RawMessage(`{"name":{"content":{"name":"Ann"}}}`), json.RawMessage(`"s1"`)
	const call, batch = `{"action":"call","tool":"main/echo","arguments":{"message":"x"}}`, `{"action":"batch","calls":[{"tool":"main/echo","arguments":{"message":"x"}}]}`
	cases := []struct {
		name, input string
		contact     Contact
		want        string
	}{
		{"relayed", call, relay, wantsName},
		{"relayed, as JSON", call[:len(call)-1] + `,"format":"json"}`, relay, wantsName},
		{"repeated with the answer", call, retry, "hello Ann, s1a{}"},
		{"asked", call, Contact{Ask: asked}, "hello Bo, "},
		{"nobody to ask", call, Contact{}, "hello , "},
		{"one of a batch is asked for itself", batch, retry, "[0] main/echo ok\nhello Bo, a{}"},
		{"pages are asked for", call[:len(call)-1] + `,"pages":{"items":"[.]","next":"null","send":"times"}}`, relay, `["hello Bo, a{}"]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			raw := d.Handle(t.Context(), Input{Agent: testAgent, Arguments: json.RawMessage(c.input), Contact: c.contact}).Raw()
			got := string(raw)
			if c.want != wantsName {
				got = said(gjson.ParseBytes(raw))
			}
			if got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}
