package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// Bounds of what is kept for the lenses of different agents; the least recently used goes first.
const (
	maxLenses  = 256
	maxIndexes = 8
	maxGiven   = 4 * maxLenses // definitions that outlive a change of the rules
)

// lens is what one kind of agent sees, with all that is derived from it. Everything that looks something up
// for an agent goes through its lens, so nothing derived from what others see can reach it.
type lens struct {
	rules      *view.Lens
	definition json.RawMessage // of the one tool
	greeting   string
	used       uint64 // guarded by the lenses' lock

	mu     sync.Mutex
	seen   *view.View   // of the newest snapshot
	checks *schemaCache // compiled input schemas of the newest snapshot
	native nativeTokens // what the tools would cost without us

	indexing sync.Mutex              // held while an index is chosen or built
	index    atomic.Pointer[indexed] // of the newest view that was searched; nil: none was, or it had to make room
}

// lenses gives each agent its lens: the global rules, narrowed by its view and by its principal's rights.
type lenses struct {
	policy          *view.Policy
	views           map[string]view.Definition
	rights          func(Agent) (view.Rules, bool)
	start           *catalog.Snapshot // whose connections the definitions tell of
	stringArguments bool
	made            madeTools
	code            bool  // can be run
	plain           *lens // without a view and rights: nearly every agent's

	mu      sync.Mutex
	all     map[lensKey]*lens
	given   map[lensKey]json.RawMessage // definitions that agents have from before the rules changed
	clock   uint64
	indexed []*lens // those with an index, the last used one last
}

// lensKey is what lenses differ by; agents with equal keys see the same.
type lensKey struct{ view, rights string }

func newLenses(o Options, made madeTools, start *catalog.Snapshot) (*lenses, error) {
	policy, err := view.Compile(o.Rules)
	if err != nil {
		return nil, fmt.Errorf("compile rules: %w", err)
	}
	l := &lenses{policy: policy, views: o.Views, rights: o.Rights, start: start, made: made, code: o.Scripts != nil, stringArguments: o.StringArguments, all: map[lensKey]*lens{}}
	for name, def := range o.Views {
		if _, err := view.NewLens(policy, nil, &def); err != nil {
			return nil, fmt.Errorf("view %q: %w", name, err)
		}
	}
	rules, err := view.NewLens(policy, nil, nil)
	if err != nil {
		return nil, err
	}
	l.plain = l.newLens(rules.With(made.entries("")))
	return l, nil
}

func (l *lenses) newLens(rules *view.Lens) *lens {
	return &lens{rules: rules, definition: define(l.start, rules.Reaches, l.stringArguments, l.code), greeting: greet(l.start, rules)}
}

// of returns the lens of an agent. A view that is not configured, or that the principal may not use, shows nothing.
func (l *lenses) of(a Agent) *lens {
	var rights *view.Rules
	if l.rights != nil {
		if r, ok := l.rights(a); ok {
			rights = &r
		}
	}
	if a.View == "" && rights == nil {
		return l.plain
	}
	key := lensKey{view: a.View}
	if rights != nil {
		key.rights = string(mustJSON(rights))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	found := l.all[key]
	if found == nil {
		found = l.newLens(l.rulesFor(a.View, rights))
		if d := l.given[key]; d != nil {
			found.definition = d
		}
		l.all[key] = found
	}
	found.used = l.clock
	l.forget()
	return found
}

// rulesFor compiles what an agent may see; what can't be compiled shows nothing.
func (l *lenses) rulesFor(name string, rights *view.Rules) *view.Lens {
	var def *view.Definition
	if name != "" && name != behind {
		d, ok := l.views[name]
		if !ok {
			return view.Blind()
		}
		def = &d
	}
	rules, err := view.NewLens(l.policy, rights, def)
	if err != nil || name != behind && !rules.Uses(name) {
		return view.Blind()
	}
	return rules.With(l.made.entries(name))
}

// forget drops the lens that was not used for the longest time, when there are too many.
func (l *lenses) forget() {
	if len(l.all) <= maxLenses {
		return
	}
	var oldest lensKey
	for k, v := range l.all {
		if o := l.all[oldest]; o == nil || v.used < o.used {
			oldest = k
		}
	}
	delete(l.all, oldest) // its index, if it has one, makes room in its turn
}

// searched notes that a lens's index is in use, and closes those that are too many.
func (l *lenses) searched(used *lens) error {
	l.mu.Lock()
	l.indexed = append(slices.DeleteFunc(l.indexed, func(x *lens) bool { return x == used }), used)
	var gone []*lens
	if n := len(l.indexed) - maxIndexes; n > 0 {
		gone = slices.Clone(l.indexed[:n])
		l.indexed = slices.Delete(l.indexed, 0, n)
	}
	l.mu.Unlock()
	return closeIndexes(gone)
}

// inherit keeps the definitions that agents were given.
func (l *lenses) inherit(old *lenses) {
	l.plain.definition = old.plain.definition
	old.mu.Lock()
	defer old.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given = map[lensKey]json.RawMessage{}
	if len(old.given) < maxGiven {
		maps.Copy(l.given, old.given)
	}
	for key, lens := range old.all {
		l.given[key] = lens.definition
	}
}

// close frees all indexes; it waits for the searches that use them.
func (l *lenses) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return closeIndexes(l.indexed)
}

func closeIndexes(of []*lens) (err error) {
	for _, x := range of {
		if ix := x.index.Swap(nil); ix != nil {
			err = errors.Join(err, ix.close())
		}
	}
	return err
}

// Seen returns what an agent sees of the newest snapshot. It is the only way to what can be looked up.
func (d *Dispatcher) Seen(a Agent) *view.View { return d.lens(a).over(d.o.Catalog.Snapshot()) }

// lens returns the lens of an agent.
func (d *Dispatcher) lens(a Agent) *lens { return d.book.Load().lenses.of(a) }

// over returns what is seen of a snapshot.
func (l *lens) over(s *catalog.Snapshot) *view.View {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil || !l.seen.Of(s) {
		l.seen = l.rules.Over(s)
		l.checks = newSchemaCache()
	}
	return l.seen
}

// firstAnswer bounds how long search and list wait for servers nobody knows yet.
const firstAnswer = 2 * time.Second

// fresh returns what an agent sees after asking the servers again (refresh), or after waiting shortly for those
// that have never been heard of.
func (d *Dispatcher) fresh(ctx context.Context, a Agent, refresh bool, connection string) (*view.View, error) {
	if connection != "" {
		srv, err := d.server(a, connection)
		if err != nil {
			return nil, err
		}
		connection = srv.Name
	}
	if refresh {
		d.refresh(ctx, a, connection)
		return d.Seen(a), nil
	}
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	return d.awaited(ctx, a), nil
}

// refresh asks one of the servers an agent sees again, or all of them; each server's own error stands in the snapshot.
func (d *Dispatcher) refresh(ctx context.Context, a Agent, connection string) {
	names := []string{connection}
	if connection == "" {
		names = nil
		for _, s := range d.Seen(a).Snapshot.Servers {
			if s.Name != view.Own {
				names = append(names, s.Name)
			}
		}
	}
	if len(names) == 0 || connection == view.Own {
		return
	}
	if err := d.o.Catalog.Refresh(ctx, names...); err != nil {
		d.o.Log.Debug("refresh", "error", err)
	}
}

// awaited returns what an agent sees once all its servers have been heard of or have failed, or when ctx ends. What it
// does not see it does not wait for.
func (d *Dispatcher) awaited(ctx context.Context, a Agent) *view.View {
	for {
		v := d.Seen(a)
		if ctx.Err() != nil || !d.anyStarting(v) {
			return v
		}
		pause, cancel := context.WithTimeout(ctx, lookAgainAfter)
		d.o.Catalog.Wait(pause)
		settled := pause.Err() == nil
		cancel()
		if settled {
			return d.Seen(a)
		}
	}
}

// lookAgainAfter is how often a wait looks whether what it waits for is there.
const lookAgainAfter = 50 * time.Millisecond

// server returns the connection of that name or alias.
func (d *Dispatcher) server(a Agent, name string) (*catalog.Server, error) {
	s := d.Seen(a).Snapshot
	if srv := s.Server(name); srv != nil {
		return srv, nil
	}
	return nil, unknownConnection(s, name)
}
