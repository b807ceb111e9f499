package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Source asks servers. Implementations must be safe for concurrent use, honour ctx, and hand the returned bytes over:
// the catalog keeps parts of them. An error that says a method does not exist has, somewhere in its chain, a method
// RPCCode() int64 that returns -32601.
type Source interface {
	// Fetch sends one request and returns the raw result. It starts the server if needed.
	Fetch(ctx context.Context, server, method string, params json.RawMessage) (json.RawMessage, error)
	// Hello returns the raw initialize or discover result of the living session, starting the server if needed.
	Hello(ctx context.Context, server string) (json.RawMessage, error)
}

// ServerOptions describe one server of the configuration.
type ServerOptions struct {
	Name string // unique
	// ID changes with the server's configuration; the disk cache is kept under it. "" = not cached.
	ID          string
	Description string
	Lazy        bool // starts at first need: Wait asks it
	Disabled    bool // never asked, never known
}

// Options are what a Catalog needs. The zero value is a catalog of no servers.
type Options struct {
	Servers    []ServerOptions
	Source     Source
	CacheDir   string        // "" = no disk cache
	Log        *slog.Logger  // nil = silent
	Timeout    time.Duration // of one server's refresh; 0 = 30 s
	MaxPages   int           // of one list; 0 = 1,000
	MaxEntries int           // of one server; 0 = 100,000
	MaxBytes   int64         // of one server's lists and hello together, and of a cache file; 0 = 64 MiB
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MaxPages <= 0 {
		o.MaxPages = 1000
	}
	if o.MaxEntries <= 0 {
		o.MaxEntries = 100_000
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 64 << 20
	}
	return o
}

// Errors of Refresh.
var (
	ErrUnknownServer = errors.New("unknown server")
	ErrDisabled      = errors.New("server is disabled")
	ErrClosed        = errors.New("catalog is closed")
)

// Catalog keeps the current Snapshot and renews it. All methods are safe for concurrent use.
type Catalog struct {
	o       Options
	current atomic.Pointer[Snapshot]
	renewed atomic.Uint64 // the Gen whose stale lists were asked for again

	life   context.Context // of the refreshes: they serve every caller, so no caller's end may stop them
	end    context.CancelFunc
	mu     sync.Mutex // guards closed, slots and all slots
	closed bool
	slots  map[string]*slot // by name, enabled servers only
	wg     sync.WaitGroup   // the refreshes

	swapping sync.Mutex // held from making a snapshot until its watchers have seen it
	watching sync.Mutex // guards watchers
	watchers map[*watcher]struct{}
}

type watcher struct{ call func(*Snapshot) }

// New makes a catalog from the disk cache. It asks no server.
func New(o Options) *Catalog {
	o = o.withDefaults()
	c := &Catalog{o: o, slots: map[string]*slot{}, watchers: map[*watcher]struct{}{}}
	c.life, c.end = context.WithCancel(context.Background())
	all := make([]*Server, len(o.Servers))
	for i, so := range o.Servers {
		all[i] = c.begin(so, i)
	}
	c.current.Store(NewSnapshot(1, all))
	return c
}

// begin returns what is known of a server before it is asked, and makes its slot. Nobody else uses c, or c.mu is held.
func (c *Catalog) begin(so ServerOptions, i int) *Server {
	s := &Server{Name: so.Name, Alias: alias(i), ID: so.ID, Description: so.Description}
	if !so.Disabled {
		c.slots[so.Name] = &slot{name: so.Name, options: so}
		c.remember(s)
	}
	return s.settle()
}

// remember fills s from the disk cache, if it is there.
func (c *Catalog) remember(s *Server) {
	if c.o.CacheDir == "" || s.ID == "" {
		return
	}
	// Beside the entries the file holds a little of its own.
	err := loadCache(c.o.CacheDir, s, c.o.MaxBytes+c.o.MaxBytes/8)
	if err != nil && !absent(err) {
		c.o.Log.Warn("catalog cache ignored", "server", s.Name, "error", err)
	}
}

// Watch calls fn after each swap with the new snapshot: one call at a time, in the order of Gen, from the goroutine
// that refreshed. fn must not wait for a refresh. stop ends the calls; one that has begun may still be running.
func (c *Catalog) Watch(fn func(*Snapshot)) (stop func()) {
	w := &watcher{call: fn}
	c.watching.Lock()
	defer c.watching.Unlock()
	c.watchers[w] = struct{}{}
	return func() {
		c.watching.Lock()
		defer c.watching.Unlock()
		delete(c.watchers, w)
	}
}

// swap puts next in the place of the slot's server and tells the watchers; it does nothing if the server was taken out
// or changed meanwhile.
func (c *Catalog) swap(of *slot, next func(old *Server) *Server) {
	c.swapping.Lock()
	defer c.swapping.Unlock()
	c.mu.Lock()
	stays := c.slots[of.name] == of
	c.mu.Unlock()
	if !stays {
		return
	}
	all := slices.Clone(c.current.Load().Servers)
	i := slices.IndexFunc(all, func(s *Server) bool { return s.Name == of.name })
	all[i] = next(all[i])
	c.publish(all)
}

// publish makes a snapshot of all the servers and tells the watchers. c.swapping is held.
func (c *Catalog) publish(all []*Server) {
	s := NewSnapshot(c.current.Load().Gen+1, all)
	c.current.Store(s)
	c.watching.Lock()
	var calls []func(*Snapshot)
	for w := range c.watchers {
		calls = append(calls, w.call)
	}
	c.watching.Unlock()
	for _, call := range calls {
		call(s)
	}
}

// Republish makes a new snapshot of what is known, for those who derive from snapshots what depends on more than them.
func (c *Catalog) Republish() {
	c.swapping.Lock()
	defer c.swapping.Unlock()
	c.publish(slices.Clone(c.current.Load().Servers))
}

// Apply puts other servers in the place of those there are, in their order. What is known of a server stays while its
// ID does; the others start from the disk cache or from nothing, and nobody is asked here.
func (c *Catalog) Apply(servers []ServerOptions) {
	c.swapping.Lock()
	defer c.swapping.Unlock()
	old := c.current.Load()
	c.mu.Lock()
	before := c.slots
	c.slots = make(map[string]*slot, len(servers))
	all := make([]*Server, len(servers))
	for i, so := range servers {
		slot, known := before[so.Name], old.Server(so.Name)
		if slot == nil || so.Disabled || known == nil || known.Name != so.Name || slot.options.ID != so.ID {
			all[i] = c.begin(so, i)
			continue
		}
		slot.options = so
		c.slots[so.Name] = slot
		all[i] = known.moved(so, i)
	}
	c.mu.Unlock()
	c.publish(all)
}

// moved returns s under another alias and description.
func (s *Server) moved(so ServerOptions, i int) *Server {
	if s.Alias == alias(i) && s.Description == so.Description {
		return s
	}
	next := *s
	next.Alias, next.Description = alias(i), so.Description
	return &next
}

// Refresh asks the named servers (names or aliases; none = all that are not disabled) for their lists, in parallel, and
// returns when all have answered, joining their errors. Each answer is swapped in as it comes. A server whose refresh
// fails keeps what was known of it. When ctx ends, Refresh returns; the refreshes go on within their own Timeout.
// Any number of concurrent refreshes of one server cost at most the running one and one after it.
func (c *Catalog) Refresh(ctx context.Context, servers ...string) error {
	flights, err := c.schedule(servers)
	errs := []error{err}
	for _, f := range flights {
		select {
		case <-f.done:
			errs = append(errs, f.err)
		case <-ctx.Done():
			return errors.Join(append(errs, fmt.Errorf("refresh catalog: %w", ctx.Err()))...)
		}
	}
	return errors.Join(errs...)
}

// Schedule is Refresh for those who cannot wait, such as the receiver of a server's notifications. What goes wrong is
// found in the snapshot (Server.Err) and the log.
func (c *Catalog) Schedule(servers ...string) {
	if _, err := c.schedule(servers); err != nil {
		c.o.Log.Debug("catalog refresh not scheduled", "error", err)
	}
}

func (c *Catalog) schedule(servers []string) ([]*flight, error) {
	if len(servers) == 0 {
		servers = c.enabled()
	}
	var flights []*flight
	var errs []error
	for _, name := range servers {
		f, err := c.board(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("refresh %s: %w", name, err))
			continue
		}
		flights = append(flights, f)
	}
	return flights, errors.Join(errs...)
}

// enabled returns the names of the servers that may be asked.
func (c *Catalog) enabled() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.slots))
}

// Wait returns when every enabled server is Known or has an Err, or when ctx ends. It starts the refresh of those that
// are neither, lazy ones too.
func (c *Catalog) Wait(ctx context.Context) {
	var flights []*flight
	for _, s := range c.current.Load().Servers {
		if s.Known || s.Err != nil {
			continue
		}
		if f, err := c.underway(s.Name); err == nil { // a disabled one has none
			flights = append(flights, f)
		}
	}
	for _, f := range flights {
		select {
		case <-f.done:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends the running refreshes and waits for them. The last snapshot stays readable.
func (c *Catalog) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.wg.Wait()
}
