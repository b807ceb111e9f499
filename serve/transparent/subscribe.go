package transparent

import (
	"context"
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// subscribe is resources/subscribe.
func (f *Face) subscribe(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	shown, err := text(r.Params, "uri")
	if err != nil {
		return nil, err
	}
	if r.Agent.Session == "" {
		return nil, wrongParams("a subscription needs a session")
	}
	ref, err := f.resource(ctx, r, shown)
	if err != nil {
		return nil, err
	}
	return empty(), f.wishes.subscribe(ctx, r.Agent, ref, shown)
}

// unsubscribe is resources/unsubscribe.
func (f *Face) unsubscribe(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	shown, err := text(r.Params, "uri")
	if err != nil {
		return nil, err
	}
	ref, err := f.resource(ctx, r, shown)
	if err != nil {
		return nil, err
	}
	return empty(), f.wishes.drop(ctx, r.Agent, ref)
}

// updated tells those who subscribed to a resource, or to one it is a part of, that it changed.
func (f *Face) updated(server, session string, params json.RawMessage) {
	uri := rawjson.Unquote(rawjson.Member(params, "uri"))
	known := f.wishes.readersOf(server, session, uri)
	for _, p := range f.listening(func(a dispatch.Agent) bool { _, reads := known[a.Session]; return reads }) {
		shown := known[p.Agent().Session]
		if shown == "" {
			shown = f.table(p.Agent()).uri(server, uri)
		}
		p.Notify("notifications/resources/updated", tagged(server, withMember(params, "uri", rawjson.Quote(shown))))
	}
}

func empty() dispatch.Pieces { return dispatch.Pieces{[]byte(`{}`)} }
