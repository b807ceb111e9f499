// Package transparent shows every server's tools, prompts and resources under their own protocol methods.
//
// Lists come from the catalog, whole entries under names that lead back; all else goes to the server it belongs to, and
// its answer comes back as it was sent, but for the URIs and task ids in it.
package transparent

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// Dispatcher is the way of a request to a server; *dispatch.Dispatcher is one. Its methods are safe for concurrent use.
type Dispatcher interface {
	// Seen returns what an agent sees of the newest snapshot, the same value until that changes.
	Seen(a dispatch.Agent) *view.View
	// Await is Seen once all servers have been heard of or have failed, or when ctx ends.
	Await(ctx context.Context, a dispatch.Agent) *view.View
	// Find returns the entry that a name means to an agent, waiting some seconds for servers nobody has heard of.
	Find(ctx context.Context, a dispatch.Agent, kind catalog.Kind, name string) (*catalog.Entry, error)
	// Pass sends one request to the server it names and gives the raw result.
	Pass(ctx context.Context, a dispatch.Agent, r dispatch.PassRequest) (json.RawMessage, error)
	// ReadResource reads a part of a kept result by its URI.
	ReadResource(ctx context.Context, a dispatch.Agent, uri string) (json.RawMessage, error)
}

// Servers is what the face does with servers beside requests. Its methods are safe for concurrent use.
type Servers interface {
	// State tells a server's state (ready, asleep, disabled, …).
	State(server string) string
	// Own tells whether each agent has a session of its own with a server.
	Own(server string) bool
	// Notify sends an agent's notification to a server that has a session; it does not block for long.
	Notify(a dispatch.Agent, server, method string, params json.RawMessage)
}

// Options are what a Face needs. Dispatcher and Servers are required.
type Options struct {
	Dispatcher Dispatcher
	Servers    Servers
	// Plain shows names and URIs as the servers gave them, as far as they do not clash; else all say whose they are.
	Plain bool
	// Patience bounds how long the lists wait, from the first on, for servers of which nothing is known, not even
	// from an earlier run; 0 means 3 s, negative never.
	Patience time.Duration
	// Spill keeps tools' results that are over an agent's inline budget and shows a report in their place, which names
	// the resource to read them by.
	Spill bool
	// Wishes are shared with the other faces in front of the same servers; nil makes some for this one alone.
	Wishes *Wishes
	// Log receives what has no other reader; nil discards.
	Log *slog.Logger
}

// Face is the face. It is safe for concurrent use.
type Face struct {
	o Options

	mu     sync.Mutex
	tables map[*view.View]*table
	told   map[string]bool // clashes that stand in the log
	until  time.Time       // lists wait no longer than this; zero before the first one

	peers  []*peer
	owners owners

	wishes *Wishes
}

var _ serve.Face = (*Face)(nil)

// New returns a face, which ends with its wishes.
func New(o Options) *Face {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Patience == 0 {
		o.Patience = 3 * time.Second
	}
	if o.Wishes == nil {
		o.Wishes = NewWishes(o.Dispatcher, o.Servers, o.Log)
	}
	return &Face{o: o, tables: map[*view.View]*table{}, told: map[string]bool{}, wishes: o.Wishes}
}

// Tools returns all tools that an agent sees. The slice must not be changed.
func (f *Face) Tools(a dispatch.Agent) []json.RawMessage {
	return slices.Clip(f.table(a).tools.render().raws)
}

// maxTables bounds the tables kept; agents of one view share one.
const maxTables = 256

// table is what an agent sees now, named.
func (f *Face) table(a dispatch.Agent) *table {
	v := f.o.Dispatcher.Seen(a)
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.tables[v]; t != nil {
		return t
	}
	for seen := range f.tables {
		if seen.Snapshot.Gen != v.Snapshot.Gen || len(f.tables) >= maxTables {
			delete(f.tables, seen)
		}
	}
	t := newTable(v, f.o.Plain)
	if f.o.Spill {
		t.templates.rows = append(t.templates.rows, row{shown: "spill://", raw: dispatch.KeptTemplate()})
	}
	f.tables[v] = t
	for _, clash := range t.clashes {
		if !f.told[clash] && len(f.told) < 1000 {
			f.told[clash] = true
			f.o.Log.Warn("names clash", "entry", clash)
		}
	}
	return t
}

// settle waits for servers of which nothing is known: within a time that begins with the first list, so that one which
// never answers is waited for once.
func (f *Face) settle(ctx context.Context, a dispatch.Agent) {
	f.mu.Lock()
	if f.until.IsZero() {
		f.until = time.Now().Add(f.o.Patience)
	}
	until := f.until
	f.mu.Unlock()
	if time.Now().Before(until) {
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		f.o.Dispatcher.Await(ctx, a)
	}
}
