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
	f.levels[r.Agent.Session] = level
	f.mu.Unlock()
	f.spread(ctx, r.Agent)
	return nil, serve.ErrNoMethod
}

// spread tells every running server that logs which level is wanted.
func (f *Face) spread(ctx context.Context, a dispatch.Agent) {
	var told sync.WaitGroup
	for _, s := range f.o.Dispatcher.Seen(a).Snapshot.Servers {
		if rawjson.Member(s.Capabilities, "logging") != nil && f.o.Servers.State(s.Name) == "ready" {
			told.Go(func() { f.tellLevel(ctx, a, s.Name) })
		}
	}
	told.Wait()
}

// tellLevel tells one server; that a server refuses is its affair.
func (f *Face) tellLevel(ctx context.Context, a dispatch.Agent, server string) {
	level := f.wantedLevel()
	if level == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	_, err := f.o.Dispatcher.Pass(ctx, a, dispatch.PassRequest{Method: "logging/setLevel", Ref: catalog.Ref{Server: server}, Params: json.RawMessage(`{"level":"` + level + `"}`)})
	if err != nil {
		f.o.Log.Debug("set the level of a server's log", "server", server, "error", err)
	}
}

// wantedLevel is the level of the agent that wants most; "" if none said.
func (f *Face) wantedLevel() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := len(logLevels)
	for _, level := range f.levels {
		most = min(most, level)
	}
	if most == len(logLevels) {
		return ""
	}
	return logLevels[most]
}

// Ready tells a server that has a new session what agents asked of the one before: the level of its log and the
// resources to tell of. It does not block.
func (f *Face) Ready(server string) {
	type want struct {
		ref   catalog.Ref
		agent dispatch.Agent
	}
	var all []want
	f.mu.Lock()
	for ref, s := range f.subjects {
		if ref.Server == server && len(s.readers) > 0 {
			all = append(all, want{ref, s.agent})
		}
	}
	levels := len(f.levels)
	f.mu.Unlock()
	if len(all) == 0 && levels == 0 {
		return
	}
	f.errand(func(ctx context.Context) {
		f.tellLevel(ctx, dispatch.Agent{}, server)
		for _, w := range all {
			if err := f.tell(ctx, w.agent, "resources/subscribe", w.ref); err != nil {
				f.o.Log.Warn("subscribe again", "resource", w.ref.String(), "error", err)
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
