package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/catalog/trust"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/observe"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/downstream"
	"github.com/proxy-dispatch/proxy-dispatch/downstream/oauth"
	"github.com/proxy-dispatch/proxy-dispatch/serve/transparent"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
	"github.com/proxy-dispatch/proxy-dispatch/spill/bucket"
	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

// program is the wired house.
type program struct {
	cfg        *config.Config
	log        *slog.Logger
	redactor   *redaction
	reloading  sync.Mutex                    // held while another configuration is put in force
	inForce    atomic.Pointer[config.Config] // cfg, or what a reload put in its place
	fleet      *downstream.Fleet
	catalog    *catalog.Catalog
	counter    *tokens.Counter
	shelf      *spill.Shelf
	bucket     *bucket.Bucket // nil: results are kept in a folder
	dispatcher *dispatch.Dispatcher
	observer   *observe.Observer // of a lasting program
	// passed are the faces that hear what servers say, and wishes what their agents want to hear; they are made before
	// any server is started.
	passed  []*transparent.Face
	wishes  *transparent.Wishes
	lobby   *lobby         // of a lasting program
	logins  *oauth.Store   // nil: none are kept
	trusted *trust.Book    // what tools said of themselves when they were trusted
	admin   http.Handler   // changes of this program; behind a token where it is shown
	door    *doorkeeper    // nil: everybody comes in
	shaping *shaping       // of the configuration in force; reloading guards it once we serve
	closers []func() error // run last to first
}

// wiring says what a command needs of the house.
type wiring struct {
	log     *slog.Logger
	env     config.Env
	redact  *redaction  // of the log as well; nil: of the configuration alone
	lasting bool        // the program stays: it follows what servers say and records what agents do
	keep    bool        // results outlive the process
	door    *doorkeeper // who may come in, and with which rights; nil: everybody, with all
	ceiling int         // bytes one reading of a result may show; 0 = the configuration's
}

// wire builds the house of a configuration. Nothing is started; Close ends everything.
func wire(ctx context.Context, cfg *config.Config, w wiring) (p *program, err error) {
	p = &program{cfg: cfg, log: w.log, redactor: w.redact, door: w.door, logins: loginStore(w.env)}
	if p.redactor == nil {
		p.redactor = newRedaction(cfg)
	}
	p.inForce.Store(cfg)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.counter, err = tokens.New(cfg.Tokens.Encoding); err != nil {
		return p, err
	}
	cache, err := cacheDir(cfg)
	if err != nil {
		p.log.Warn("no cache folder: catalogs are not kept", "error", err)
	}
	if err := p.openShelf(w, cache); err != nil {
		return p, err
	}
	if err := p.openServers(w, cache); err != nil {
		return p, err
	}
	o := dispatchOptions(cfg)
	if p.trusted, err = bookOf(cfg, w.env); err != nil {
		return p, err
	}
	o.SharesFiles = p.sharesFiles
	if o.Search, err = rankingOf(cfg, cache); err != nil {
		return p, &exitError{exitUsage, err}
	}
	o.Catalog, o.Forwarder, o.Shelf, o.Tokens = p.catalog, forwarder{fleet: p.fleet}, p.shelf, p.counter
	if w.lasting && w.door == nil && p.logins != nil { // who comes in over a network has its browser elsewhere, and no say in our logins
		u := newUsher(p)
		o.Forwarder, o.LogIn = forwarder{p.fleet, u}, u.logIn
	}
	o.Log, o.Redact = p.log, p.redactor.Redact
	o.Scripts = p.openScripts()
	if p.shaping, err = p.shape(cfg); err != nil {
		return p, usage("%w", err)
	}
	p.closers = append(p.closers, func() error { return p.shaping.Close() })
	o.Rulebook = p.rulebookOf(cfg, p.shaping)
	if p.door != nil {
		o.Rights = p.door.rights
	}
	if w.lasting {
		if p.observer, err = observe.New(ctx, p.observed()); err != nil {
			return p, err
		}
		o.Recorder = p.observer
		p.closers = append(p.closers, p.closeObserver)
	}
	if p.dispatcher, err = dispatch.New(o); err != nil {
		return p, err
	}
	p.closers = append(p.closers, p.dispatcher.Close)
	return p, nil
}

// Close ends servers, removes spilled results and waits for everything that was started.
func (p *program) Close() error {
	var errs []error
	for i := len(p.closers) - 1; i >= 0; i-- {
		errs = append(errs, p.closers[i]())
	}
	p.closers = nil
	return errors.Join(errs...)
}

func (p *program) openShelf(w wiring, cache string) error {
	s := p.cfg.Spill
	o := spill.Options{
		Dir: s.Dir, TTL: s.TTL, QuotaBytes: s.QuotaBytes, QuotaFiles: s.QuotaFiles,
		PrincipalBytes: s.PrincipalBytes, PrincipalFiles: s.PrincipalFiles, ReadCeiling: max(w.ceiling, s.ReadCeiling), TOON: s.TOON,
		Tokens: p.counter, Log: p.log, AllowedRoots: p.cfg.AllowedRoots,
	}
	if p.door != nil {
		o.Allowance = p.door.allowance
	}
	switch {
	case s.Bucket != nil:
		store, err := p.openBucket(w.lasting)
		if err != nil {
			return fmt.Errorf("open the bucket of results: %w", err)
		}
		o.Keep, o.Store = true, store
	case w.keep:
		if cache == "" {
			return errors.New("no folder to keep results in: set cacheDir")
		}
		o.Keep, o.Dir = true, filepath.Join(cache, "results")
	}
	shelf, err := spill.Open(o)
	if err != nil {
		return fmt.Errorf("open the store of results: %w", err)
	}
	p.shelf = shelf
	p.closers = append(p.closers, shelf.Close)
	return nil
}

func (p *program) openServers(w wiring, cache string) error {
	o := downstream.Options{
		Log: p.log, Watcher: watcher(), ClientInfo: ourselves(),
		Redact: func(_, text string) string { return p.redactor.RedactStderr(text) },
	}
	var known []catalog.ServerOptions
	o.Servers, known = p.servers(p.cfg)
	// The fleet reports events before the catalog that hears them exists; it has no server started until then.
	if w.lasting {
		o.OnEvent = func(e downstream.Event) { p.follow(e) }
		p.lobby = &lobby{}
		o.Capabilities, o.Asked, o.ClientOf = json.RawMessage(answerable), p.lobby.asked, p.lobby.clientOf
	}
	var err error
	if p.fleet, err = downstream.New(o); err != nil {
		return err
	}
	if p.lobby != nil {
		p.lobby.fleet = p.fleet
	}
	if cache != "" {
		cache = filepath.Join(cache, "catalog")
	}
	p.catalog = catalog.New(catalog.Options{Servers: known, Source: p.fleet, CacheDir: cache, Log: p.log})
	// The catalog closes first: a refresh under way is then no failure of a server.
	p.closers = append(p.closers, p.fleet.Close, func() error { p.catalog.Close(); return nil })
	return nil
}

// servers are those of a configuration, for the fleet and for the catalog.
func (p *program) servers(cfg *config.Config) (fleet []downstream.Server, known []catalog.ServerOptions) {
	for i := range cfg.Servers {
		s := &cfg.Servers[i]
		fleet = append(fleet, p.server(s))
		known = append(known, catalog.ServerOptions{Name: s.Name, ID: s.ID, Description: s.Description, Lazy: s.Lazy, Disabled: s.Disabled})
	}
	return fleet, known
}

// observed says what the observer shows beside requests.
func (p *program) observed() observe.Options {
	o := observe.Options{
		Log: p.log, Tracing: observe.TracingFromEnv(os.LookupEnv), Version: versionText(),
		Servers: p.serverNames,
		State:   func(server string) string { state, _ := p.fleet.State(server); return string(state) },
		Spill:   func() (int, int64) { s := p.shelf.Stats(); return s.Files, s.Bytes },
		Saved: func() int {
			answer, err := p.dispatcher.Status(context.Background(), dispatch.Agent{}, dispatch.StatusRequest{})
			if err != nil {
				return 0
			}
			return answer.Tokens.Saved
		},
	}
	return o
}

// serverNames are those of the configuration in force.
func (p *program) serverNames() []string {
	var names []string
	for _, s := range p.inForce.Load().Servers {
		names = append(names, s.Name)
	}
	return names
}

// closeObserver sends the traces that wait, as far as a moment allows.
func (p *program) closeObserver() error {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if err := p.observer.Close(ctx); err != nil {
		p.log.Debug("send the last traces", "error", err)
	}
	return nil
}

// follow keeps the catalog up with what a server says.
func (p *program) follow(e downstream.Event) {
	switch e.Kind {
	case downstream.Ready, downstream.ToolsChanged, downstream.ResourcesChanged, downstream.PromptsChanged:
		if e.Asker == "" { // the catalog reads in the session that is shared
			p.catalog.Schedule(e.Server)
		}
	}
	switch {
	case e.Kind == downstream.Ready && p.wishes != nil:
		p.wishes.Ready(e.Server, e.Asker)
	case e.Kind == downstream.Said:
		for _, f := range p.passed {
			f.Said(e.Server, e.Asker, e.Method, e.Params)
		}
	}
}
