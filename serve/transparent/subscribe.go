package transparent

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// maxSubscriptions bounds what one session may subscribe to.
const maxSubscriptions = 10_000

// about is one resource of one server; of a server that has a session with each agent, as one of them sees it.
type about struct {
	catalog.Ref
	session string
}

// subject is a resource that somebody wants to hear of. The server is told once, however many want it.
type subject struct {
	asking sync.Mutex // held while the server is told, so that what it hears last is what holds

	// Guarded by Face.mu.
	readers map[string]string // session → the URI it knows the resource by
	agent   dispatch.Agent    // who subscribed first, in whose name the server is told
	busy    int               // who is about to change it
}

// sessionWith is whose session with a server an agent uses: its own, or "", the one that all share.
func (f *Face) sessionWith(a dispatch.Agent, server string) string {
	if f.o.Servers.Own(server) {
		return a.Session
	}
	return ""
}

// hold finds or makes a subject for one who is about to change it; release gives it back.
func (f *Face) hold(a dispatch.Agent, ref catalog.Ref) (about, *subject) {
	key := about{ref, f.sessionWith(a, ref.Server)}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.subjects[key]
	if s == nil {
		s = &subject{readers: map[string]string{}}
		f.subjects[key] = s
	}
	s.busy++
	return key, s
}

func (f *Face) release(key about, s *subject) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.busy--; s.busy == 0 && len(s.readers) == 0 {
		delete(f.subjects, key)
	}
}

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
	if f.subscribed(r.Agent.Session) >= maxSubscriptions {
		return nil, wrongParams("more than %d subscriptions in one session", maxSubscriptions)
	}
	key, s := f.hold(r.Agent, ref)
	defer f.release(key, s)
	s.asking.Lock()
	defer s.asking.Unlock()
	if f.readers(s) == 0 {
		if err := f.tell(ctx, r.Agent, r.Method, ref); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(s.readers) == 0 {
		s.agent = r.Agent
	}
	s.readers[r.Agent.Session] = shown
	return empty(), nil
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
	return empty(), f.drop(ctx, r.Agent, ref)
}

// drop ends an agent's subscription; a server that runs is told when nobody is left.
func (f *Face) drop(ctx context.Context, a dispatch.Agent, ref catalog.Ref) error {
	key, s := f.hold(a, ref)
	defer f.release(key, s)
	s.asking.Lock()
	defer s.asking.Unlock()
	f.mu.Lock()
	_, had := s.readers[a.Session]
	delete(s.readers, a.Session)
	left := len(s.readers)
	f.mu.Unlock()
	if !had || left > 0 || f.o.Servers.State(ref.Server) != "ready" {
		return nil
	}
	return f.tell(ctx, a, "resources/unsubscribe", ref)
}

func (f *Face) tell(ctx context.Context, a dispatch.Agent, method string, ref catalog.Ref) error {
	_, err := f.o.Dispatcher.Pass(ctx, a, dispatch.PassRequest{Method: method, Ref: ref, Params: json.RawMessage(`{"uri":` + string(rawjson.Quote(ref.Name)) + `}`),
		Contact: dispatch.Contact{Asker: a.Session}})
	return err
}

func (f *Face) readers(s *subject) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(s.readers)
}

func (f *Face) subscribed(session string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subjects {
		if _, reads := s.readers[session]; reads {
			n++
		}
	}
	return n
}

// forget gives up what an agent that is gone wanted to hear.
func (f *Face) forget(a dispatch.Agent) {
	f.mu.Lock()
	for _, p := range f.peers {
		if p.Agent().Session == a.Session { // it still listens elsewhere
			f.mu.Unlock()
			return
		}
	}
	var left []catalog.Ref
	for key, s := range f.subjects {
		if _, reads := s.readers[a.Session]; reads {
			left = append(left, key.Ref)
		}
	}
	_, set := f.levels[a.Session]
	delete(f.levels, a.Session)
	f.mu.Unlock()
	if len(left) == 0 && !set {
		return
	}
	f.errand(func(ctx context.Context) {
		for _, ref := range left {
			if err := f.drop(ctx, a, ref); err != nil {
				f.o.Log.Debug("unsubscribe", "resource", ref.String(), "error", err)
			}
		}
		f.spread(ctx, a)
	})
}

// updated tells those who subscribed to a resource, or to one it is a part of, that it changed.
func (f *Face) updated(server, session string, params json.RawMessage) {
	uri := rawjson.Unquote(rawjson.Member(params, "uri"))
	known := map[string]string{} // session → URI
	f.mu.Lock()
	for key, s := range f.subjects {
		if key.Server != server || key.session != session || !strings.HasPrefix(uri, key.Name) {
			continue
		}
		for reader, shown := range s.readers {
			if key.Name == uri {
				known[reader] = shown
			} else if known[reader] == "" {
				known[reader] = f.partOf(server, uri)
			}
		}
	}
	f.mu.Unlock()
	for _, p := range f.listening(func(a dispatch.Agent) bool { return known[a.Session] != "" }) {
		p.Notify("notifications/resources/updated", tagged(server, withMember(params, "uri", rawjson.Quote(known[p.Agent().Session]))))
	}
}

// partOf is the URI of a resource nobody named.
func (f *Face) partOf(server, uri string) string {
	if f.o.Plain {
		return uri
	}
	return resourceURI(server, uri)
}

func empty() dispatch.Pieces { return dispatch.Pieces{[]byte(`{}`)} }
