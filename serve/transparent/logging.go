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
	if len(f.listening(func(a dispatch.Agent) bool { return a.Session == r.Agent.Session })) > 0 { // else nobody would take it back
		f.wishes.mu.Lock()
		f.wishes.levels[r.Agent.Session] = wish{level, r.Agent}
		f.wishes.mu.Unlock()
		f.wishes.spread(ctx, r.Agent)
	}
	return nil, serve.ErrNoMethod
}

// spread tells every running server that logs which level is wanted.
func (w *Wishes) spread(ctx context.Context, a dispatch.Agent) {
	var told sync.WaitGroup
	for _, s := range w.dispatcher.Seen(a).Snapshot.Servers {
		if logs(s) && w.servers.State(s.Name) == "ready" {
			told.Go(func() { w.tellLevel(ctx, s.Name, w.sessionWith(a, s.Name)) })
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
func (w *Wishes) tellLevel(ctx context.Context, server, session string) {
	most, wanted := w.wantsMost(session)
	if !wanted {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	_, err := w.dispatcher.Pass(ctx, most.agent, dispatch.PassRequest{Method: "logging/setLevel", Ref: catalog.Ref{Server: server},
		Params: json.RawMessage(`{"level":"` + logLevels[most.level] + `"}`), Contact: dispatch.Contact{Asker: most.agent.Session}})
	if err != nil {
		w.log.Debug("set the level of a server's log", "server", server, "error", err)
	}
}

// wantsMost is the wish of the agent that wants most to hear, of one session or of all; false if none said.
func (w *Wishes) wantsMost(session string) (most wish, wanted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one, own := range w.levels {
		if (session == "" || one == session) && (!wanted || own.level < most.level) {
			most, wanted = own, true
		}
	}
	return most, wanted
}
