package transparent

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// logLevels from the one that says most to the one that says least.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// wish is the level an agent set.
type wish struct {
	level int
	agent dispatch.Agent
}

// soon bounds what is told servers on the side.
const soon = 5 * time.Second

// setLevel is logging/setLevel: every server that logs is told the level of the agent that wants most. What each
// agent then gets is up to its session, which also answers.
func (f *Face) setLevel(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	level := slices.Index(logLevels, rawjson.Unquote(rawjson.Member(r.Params, "level")))
	if level < 0 {
		return nil, wrongParams("params.level must be one of %v", logLevels)
	}
	f.mu.Lock()
	f.levels[r.Agent.Session] = wish{level, r.Agent}
	f.mu.Unlock()
	f.spread(ctx, r.Agent)
	return nil, serve.ErrNoMethod
}

// spread tells every running server that logs which level is wanted.
func (f *Face) spread(ctx context.Context, a dispatch.Agent) {
	var told sync.WaitGroup
	for _, s := range f.o.Dispatcher.Seen(a).Snapshot.Servers {
		if logs(s) && f.o.Servers.State(s.Name) == "ready" {
			told.Go(func() { f.tellLevel(ctx, s.Name, f.sessionWith(a, s.Name)) })
		}
	}
	told.Wait()
}

// logs reports whether a server may be told a level. Since 2026-07-28 servers don't declare it.
func logs(s *catalog.Server) bool {
	return rawjson.Member(s.Capabilities, "logging") != nil || s.ProtocolVersion >= "2026"
}

// tellLevel tells one server, in the session with one agent or (session "") with all, in the name of the agent that
// wants most; that a server refuses is its affair.
func (f *Face) tellLevel(ctx context.Context, server, session string) {
	most, wanted := f.wantsMost(session)
	if !wanted {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	_, err := f.o.Dispatcher.Pass(ctx, most.agent, dispatch.PassRequest{Method: "logging/setLevel", Ref: catalog.Ref{Server: server},
		Params: json.RawMessage(`{"level":"` + logLevels[most.level] + `"}`), Contact: dispatch.Contact{Asker: most.agent.Session}})
	if err != nil {
		f.o.Log.Debug("set the level of a server's log", "server", server, "error", err)
	}
}

// wantsMost is the wish of the agent that wants most to hear, of one session or of all; false if none said.
func (f *Face) wantsMost(session string) (most wish, wanted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for one, w := range f.levels {
		if (session == "" || one == session) && (!wanted || w.level < most.level) {
			most, wanted = w, true
		}
	}
	return most, wanted
}

// Ready tells a server that has a new session, with one agent or (session "") with all, what was asked of the one before:
// the level of its log and the resources to tell of. It does not block.
func (f *Face) Ready(server, session string) {
	wanted := map[catalog.Ref]dispatch.Agent{}
	f.mu.Lock()
	for key, s := range f.subjects {
		if key.Server == server && key.session == session && len(s.readers) > 0 {
			wanted[key.Ref] = s.agent
		}
	}
	levels := len(f.levels)
	f.mu.Unlock()
	if len(wanted) == 0 && levels == 0 {
		return
	}
	f.errand(func(ctx context.Context) {
		f.tellLevel(ctx, server, session)
		for ref, agent := range wanted {
			if err := f.tell(ctx, agent, "resources/subscribe", ref); err != nil {
				f.o.Log.Warn("subscribe again", "resource", ref.String(), "error", err)
			}
		}
	})
}

// errand runs what concerns no request; Close waits for it.
func (f *Face) errand(run func(ctx context.Context)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.life.Err() == nil {
		f.errands.Go(func() { run(f.life) })
	}
}

// Close ends what the face does on the side and waits for it.
func (f *Face) Close() {
	f.mu.Lock()
	f.end()
	f.mu.Unlock()
	f.errands.Wait()
}
