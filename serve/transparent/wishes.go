package transparent

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Wishes are what agents want to hear of servers: changes of resources, and how much of the logs. All faces in front of
// the same servers share them, for they share the servers' sessions. They are safe for concurrent use.
type Wishes struct {
	dispatcher Dispatcher
	servers    Servers
	log        *slog.Logger

	mu       sync.Mutex
	subjects map[about]*subject
	levels   map[string]wish // session → the level of log messages it wants

	life    context.Context // of the errands
	end     context.CancelFunc
	errands sync.WaitGroup
}

// NewWishes returns none; Close ends them. A nil log discards.
func NewWishes(d Dispatcher, s Servers, log *slog.Logger) *Wishes {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	w := &Wishes{dispatcher: d, servers: s, log: log, subjects: map[about]*subject{}, levels: map[string]wish{}}
	w.life, w.end = context.WithCancel(context.Background())
	return w
}

// Ready tells a server that has a new session, with one agent or (session "") with all, what was asked of the one before:
// the level of its log and the resources to tell of. It does not block.
func (w *Wishes) Ready(server, session string) {
	wanted := map[catalog.Ref]dispatch.Agent{}
	w.mu.Lock()
	for key, s := range w.subjects {
		if key.Server == server && key.session == session && len(s.readers) > 0 {
			wanted[key.Ref] = s.agent
		}
	}
	levels := len(w.levels)
	w.mu.Unlock()
	if len(wanted) == 0 && levels == 0 {
		return
	}
	w.errand(func(ctx context.Context) {
		w.tellLevel(ctx, server, session)
		for ref, agent := range wanted {
			if err := w.tell(ctx, agent, "resources/subscribe", ref); err != nil {
				w.log.Warn("subscribe again", "resource", ref.String(), "error", err)
			}
		}
	})
}

// errand runs what concerns no request; Close waits for it.
func (w *Wishes) errand(run func(ctx context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life.Err() == nil {
		w.errands.Go(func() { run(w.life) })
	}
}

// Close ends what is done on the side and waits for it.
func (w *Wishes) Close() {
	w.mu.Lock()
	w.end()
	w.mu.Unlock()
	w.errands.Wait()
}

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

	// Guarded by Wishes.mu.
	readers map[string]string // session → the URI it knows the resource by
	agent   dispatch.Agent    // who subscribed first, in whose name the server is told
	busy    int               // who is about to change it
}

// sessionWith is whose session with a server an agent uses: its own, or "", the one that all share.
func (w *Wishes) sessionWith(a dispatch.Agent, server string) string {
	if w.servers.Own(server) {
		return a.Session
	}
	return ""
}

// hold finds or makes a subject for one who is about to change it; release gives it back.
func (w *Wishes) hold(a dispatch.Agent, ref catalog.Ref) (about, *subject) {
	key := about{ref, w.sessionWith(a, ref.Server)}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.subjects[key]
	if s == nil {
		s = &subject{readers: map[string]string{}}
		w.subjects[key] = s
	}
	s.busy++
	return key, s
}

func (w *Wishes) release(key about, s *subject) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.busy--; s.busy == 0 && len(s.readers) == 0 {
		delete(w.subjects, key)
	}
}

// subscribe notes that an agent wants to hear of a resource, which it knows by the URI shown.
func (w *Wishes) subscribe(ctx context.Context, a dispatch.Agent, ref catalog.Ref, shown string) error {
	if w.subscribed(a.Session) >= maxSubscriptions {
		return wrongParams("more than %d subscriptions in one session", maxSubscriptions)
	}
	key, s := w.hold(a, ref)
	defer w.release(key, s)
	s.asking.Lock()
	defer s.asking.Unlock()
	if w.readers(s) == 0 {
		if err := w.tell(ctx, a, "resources/subscribe", ref); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(s.readers) == 0 {
		s.agent = a
	}
	s.readers[a.Session] = shown
	return nil
}

// drop ends an agent's subscription; a server that runs is told when nobody is left.
func (w *Wishes) drop(ctx context.Context, a dispatch.Agent, ref catalog.Ref) error {
	key, s := w.hold(a, ref)
	defer w.release(key, s)
	s.asking.Lock()
	defer s.asking.Unlock()
	w.mu.Lock()
	_, had := s.readers[a.Session]
	delete(s.readers, a.Session)
	left := len(s.readers)
	w.mu.Unlock()
	if !had || left > 0 || w.servers.State(ref.Server) != "ready" {
		return nil
	}
	return w.tell(ctx, a, "resources/unsubscribe", ref)
}

func (w *Wishes) tell(ctx context.Context, a dispatch.Agent, method string, ref catalog.Ref) error {
	_, err := w.dispatcher.Pass(ctx, a, dispatch.PassRequest{Method: method, Ref: ref, Params: json.RawMessage(`{"uri":` + string(rawjson.Quote(ref.Name)) + `}`),
		Contact: dispatch.Contact{Asker: a.Session}})
	return err
}

func (w *Wishes) readers(s *subject) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(s.readers)
}

func (w *Wishes) subscribed(session string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.subjects {
		if _, reads := s.readers[session]; reads {
			n++
		}
	}
	return n
}

// forget gives up what an agent that is gone wanted to hear.
func (w *Wishes) forget(a dispatch.Agent) {
	w.mu.Lock()
	var left []catalog.Ref
	for key, s := range w.subjects {
		if _, reads := s.readers[a.Session]; reads {
			left = append(left, key.Ref)
		}
	}
	_, set := w.levels[a.Session]
	delete(w.levels, a.Session)
	w.mu.Unlock()
	if len(left) == 0 && !set {
		return
	}
	w.errand(func(ctx context.Context) {
		for _, ref := range left {
			if err := w.drop(ctx, a, ref); err != nil {
				w.log.Debug("unsubscribe", "resource", ref.String(), "error", err)
			}
		}
		w.spread(ctx, a)
	})
}

// readersOf are the sessions that want to hear of a resource, with the URI each knows it by; "" where it is a part of
// the one that was subscribed to.
func (w *Wishes) readersOf(server, session, uri string) map[string]string {
	known := map[string]string{}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, s := range w.subjects {
		if key.Server != server || key.session != session || !strings.HasPrefix(uri, key.Name) {
			continue
		}
		for reader, shown := range s.readers {
			if key.Name == uri {
				known[reader] = shown
			} else if known[reader] == "" {
				known[reader] = ""
			}
		}
	}
	return known
}
