package transparent

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// peer is an agent that can be spoken to outside of requests.
type peer struct {
	serve.Peer
	seen map[string]*list // by method: what it was told of last, or saw when it asked or came; Face.mu guards it
}

// Attach keeps an agent until detach, which gives up what it subscribed to.
func (f *Face) Attach(p serve.Peer) (detach func()) {
	one := &peer{Peer: p, seen: f.table(p.Agent()).lists()}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.peers = append(f.peers, one)
	return func() {
		f.mu.Lock()
		f.peers = slices.DeleteFunc(f.peers, func(p *peer) bool { return p == one })
		elsewhere := slices.ContainsFunc(f.peers, func(p *peer) bool { return p.Agent().Session == one.Agent().Session })
		f.mu.Unlock()
		if !elsewhere {
			f.wishes.forget(one.Agent())
		}
	}
}

// listening are the agents that keep accepts, to be told outside of the lock.
func (f *Face) listening(keep func(a dispatch.Agent) bool) []*peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*peer
	for _, p := range f.peers {
		if keep(p.Agent()) {
			out = append(out, p)
		}
	}
	return out
}

func everybody(dispatch.Agent) bool { return true }

// changes are the notifications that tell of a list, by the method that gives it.
var changes = map[string]string{
	"tools/list":               "notifications/tools/list_changed",
	"prompts/list":             "notifications/prompts/list_changed",
	"resources/list":           "notifications/resources/list_changed",
	"resources/templates/list": "notifications/resources/list_changed",
}

// lists are the lists of a table by the method that gives them.
func (t *table) lists() map[string]*list {
	return map[string]*list{"tools/list": t.tools, "prompts/list": t.prompts, "resources/list": t.resources, "resources/templates/list": t.templates}
}

// saw notes what an agent got, so that it is not told of what it knows.
func (f *Face) saw(a dispatch.Agent, method string, l *list) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.peers {
		if a.Session != "" && p.Agent().Session == a.Session {
			p.seen[method] = l
		}
	}
}

// Changed tells every agent which of its lists are others now. It is to be called after the catalog changed, by one
// goroutine at a time.
func (f *Face) Changed(*catalog.Snapshot) {
	for _, p := range f.listening(everybody) {
		now := f.table(p.Agent()).lists()
		news := map[string]bool{}
		f.mu.Lock()
		for method, l := range now {
			if l != p.seen[method] && !l.same(p.seen[method]) {
				news[changes[method]] = true
			}
		}
		p.seen = now
		f.mu.Unlock()
		for _, notification := range slices.Sorted(maps.Keys(news)) {
			p.Notify(notification, nil)
		}
	}
}

// Said passes on what a server says outside of any request, with the server it comes from: to the agent whose own session
// it was said in, or (session "") to all. That its lists changed is told by Changed, once the catalog has them.
func (f *Face) Said(server, session, method string, params json.RawMessage) {
	switch method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
		"notifications/progress", "notifications/cancelled":
	case "notifications/resources/updated":
		f.updated(server, session, params)
	case "notifications/tasks/status", "notifications/tasks":
		f.taskSaid(server, method, params)
	default:
		for _, p := range f.listening(func(a dispatch.Agent) bool { return session == "" || a.Session == session }) {
			p.Notify(method, tagged(server, params))
		}
	}
}

// tagged are the params of a notification with the server it comes from.
func tagged(server string, params json.RawMessage) json.RawMessage {
	return withMember(params, proxyKey, json.RawMessage(`{"server":`+string(rawjson.Quote(server))+`}`))
}

// Signed are the params of a server's question with the server in their `_meta`, so that a person can be told who asks.
// A progress token in it names the server as well, so that the agent's reports lead back.
func Signed(server string, params json.RawMessage) json.RawMessage {
	meta := rawjson.Member(params, "_meta")
	if token := rawjson.Member(meta, "progressToken"); token != nil {
		meta = withMember(meta, "progressToken", rawjson.Quote(taskID(server, string(token))))
	}
	return withMember(params, "_meta", tagged(server, meta))
}

// Notified passes an agent's notification on: progress to the server that wants to know, all else to every server that
// has a session.
func (f *Face) Notified(a dispatch.Agent, method string, params json.RawMessage) {
	var servers []string
	for _, s := range f.o.Dispatcher.Seen(a).Snapshot.Servers {
		servers = append(servers, s.Name)
	}
	switch method {
	case "notifications/initialized": // each server had its own
		return
	case "notifications/progress":
		server, token, ok := ownTask(rawjson.Unquote(rawjson.Member(params, "progressToken")), servers)
		if !ok || !rawjson.Valid([]byte(token)) {
			return
		}
		servers, params = []string{server}, withMember(params, "progressToken", json.RawMessage(token))
	}
	for _, server := range servers {
		if f.o.Servers.State(server) == "ready" {
			f.o.Servers.Notify(a, server, method, params)
		}
	}
}

// contact is how a server reaches the agent while a request of it runs: what it says carries its name, and URIs and
// task ids in it are ours.
func (f *Face) contact(a dispatch.Agent, server string, c dispatch.Contact) dispatch.Contact {
	if told := c.Told; told != nil {
		c.Told = func(method string, params json.RawMessage) {
			switch method {
			case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
			case "notifications/resources/updated":
				f.updated(server, f.wishes.sessionWith(a, server), params)
			case "notifications/tasks/status", "notifications/tasks":
				told(method, tagged(server, f.rewriter(a, server, params).rewrite(task).Raw()))
			default:
				told(method, tagged(server, params))
			}
		}
	}
	return c
}
