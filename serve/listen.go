package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// maxSubscribed bounds the resources of one subscription.
const maxSubscribed = 1000

// subscription is a modern agent that listens: the Peer of subscriptions/listen.
type subscription struct {
	agent dispatch.Agent
	era   era
	info  json.RawMessage
	id    json.RawMessage // of the request, as spelled
	kinds []string        // the notifications it gets
	uris  []string        // of resources/updated
	mouth *mouth
}

// Agent is who listens; its session is that of the subscription.
func (s *subscription) Agent() dispatch.Agent { return s.agent }

// ClientInfo is what the agent said of itself.
func (s *subscription) ClientInfo() json.RawMessage { return s.info }

// Capabilities is what the agent said it can do.
func (s *subscription) Capabilities() json.RawMessage { return s.era.capabilities }

// Ask refuses: modern agents are asked only within their requests.
func (s *subscription) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, serverFault(mcp.METHOD_NOT_FOUND, "an agent of this protocol version can be asked only during its requests")
}

// Notify tells the agent what it subscribed to.
func (s *subscription) Notify(method string, params json.RawMessage) {
	if !slices.Contains(s.kinds, method) {
		return
	}
	if method == "notifications/resources/updated" && !slices.Contains(s.uris, rawjson.Unquote(rawjson.Member(params, "uri"))) {
		return
	}
	s.mouth.say(notification(method, s.marked(params)))
}

// marked puts the subscription's id into the `_meta` of params, which are an object or nil.
func (s *subscription) marked(params json.RawMessage) json.RawMessage {
	mark := append([]byte(`"`+mcp.MetaKeySubscriptionID+`":`), s.id...)
	meta, rest := [][]byte{mark}, [][]byte{}
	rawjson.Object(params, func(key, value []byte) {
		if rawjson.Unquote(key) != "_meta" {
			rest = append(rest, append(append(bytes.Clone(key), ':'), value...))
			return
		}
		rawjson.Object(value, func(key, value []byte) {
			if rawjson.Unquote(key) != mcp.MetaKeySubscriptionID {
				meta = append(meta, append(append(bytes.Clone(key), ':'), value...))
			}
		})
	})
	line := append(append([]byte(`{"_meta":{`), bytes.Join(meta, []byte{','})...), '}')
	for _, member := range rest {
		line = append(append(line, ','), member...)
	}
	return append(line, '}')
}

// listen serves subscriptions/listen until ctx ends, we do, or nothing is left to wait for.
func (e *endpoint) listen(ctx context.Context, m message, x *exchange) (parts, *Fault) {
	meta := rawjson.Member(m.params, "_meta")
	s := &subscription{agent: x.agent, era: x.era, id: m.id, info: rawjson.Member(meta, mcp.MetaKeyClientInfo), mouth: &mouth{write: x.write}}
	if x.write == nil {
		return nil, faultf(mcp.INVALID_REQUEST, "the request takes no events: accept text/event-stream")
	}
	defer s.mouth.close()
	if s.agent.Session == "" {
		s.agent.Session = "listen-" + rand.Text()
	}
	honored := e.honor(ctx, s, rawjson.Member(m.params, "notifications"))
	defer e.unsubscribe(s)
	s.mouth.say(notification("notifications/subscriptions/acknowledged", s.marked(append(append([]byte(`{"notifications":`), honored...), '}'))))
	if len(s.kinds) > 0 {
		detach := e.face.Attach(s)
		if detach != nil {
			defer detach()
		}
		select {
		case <-ctx.Done():
		case <-e.quiet.Done():
		}
	}
	return dressing{info: e.info}.dress(s.marked(nil)), nil
}

// changes are the kinds of notifications an agent can subscribe to, with what of the face promises them.
var changes = []struct{ field, capability, method string }{
	{"toolsListChanged", "tools", "notifications/tools/list_changed"},
	{"promptsListChanged", "prompts", "notifications/prompts/list_changed"},
	{"resourcesListChanged", "resources", "notifications/resources/list_changed"},
}

// honor takes of the wanted notifications those the face can send, and writes which.
func (e *endpoint) honor(ctx context.Context, s *subscription, wanted json.RawMessage) []byte {
	var honored [][]byte
	for _, c := range changes {
		if string(rawjson.Member(wanted, c.field)) == "true" && e.has(s.agent, c.capability, "listChanged") {
			s.kinds = append(s.kinds, c.method)
			honored = append(honored, []byte(`"`+c.field+`":true`))
		}
	}
	var uris [][]byte
	if e.has(s.agent, "resources", "subscribe") {
		for uri := range rawjson.Elements(rawjson.Member(wanted, "resourceSubscriptions")) {
			if len(s.uris) < maxSubscribed && e.subscribe(ctx, s.agent, "resources/subscribe", uri) {
				s.uris = append(s.uris, rawjson.Unquote(uri))
				uris = append(uris, uri)
			}
		}
	}
	if len(uris) > 0 {
		s.kinds = append(s.kinds, "notifications/resources/updated")
		honored = append(honored, append(append([]byte(`"resourceSubscriptions":[`), bytes.Join(uris, []byte{','})...), ']'))
	}
	return append(append([]byte{'{'}, bytes.Join(honored, []byte{','})...), '}')
}

// subscribe asks the face as agents of the handshake eras do.
func (e *endpoint) subscribe(ctx context.Context, a dispatch.Agent, method string, uri json.RawMessage) bool {
	if len(uri) == 0 || uri[0] != '"' {
		return false
	}
	params := append(append([]byte(`{"uri":`), uri...), '}')
	_, err := e.doFace(ctx, &task{method: method, params: params}, a, dispatch.Contact{})
	return err == nil
}

func (e *endpoint) unsubscribe(s *subscription) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.life), farewell)
	defer cancel()
	for _, uri := range s.uris {
		e.subscribe(ctx, s.agent, "resources/unsubscribe", rawjson.Quote(uri))
	}
}
