package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/serve/auth"
)

// doorkeeper lets agents in over HTTP and says which role each has.
type doorkeeper struct {
	tokens *auth.TokenFile
	log    *slog.Logger
	rules  atomic.Pointer[doorRules]

	mu    sync.Mutex
	roles map[string]string // by principal, as they last came in
}

// maxRemembered is how many principals' roles are remembered; who is forgotten has the quota of everybody until the next
// request.
const maxRemembered = 100_000

// doorRules is what a configuration says of who comes in. It is immutable.
type doorRules struct {
	auth     *auth.Authenticator
	issuers  []*issuer
	resource auth.Resource
	roles    []role
}

// issuer is an issuer with the keys that were found of it.
type issuer struct {
	configured config.Issuer
	checks     *auth.Issuer
}

// role is a role of the configuration with its patterns compiled.
type role struct {
	config.Role
	mayOpen           []string // patterns of the views it may see; nil is all, and what is in no view
	principals, views []*glob.Pattern
}

// errNotHere is for somebody whom we know but who may not do what he asks.
var errNotHere = errors.New("not allowed")

// doorkeeper makes the doorkeeper of the configuration; nil without the key auth.
func (c *console) doorkeeper(cfg *config.Config, log *slog.Logger) (*doorkeeper, error) {
	if !cfg.Auth.On {
		return nil, nil
	}
	path, err := tokensPath(cfg, c.env)
	if err != nil {
		return nil, err
	}
	d := &doorkeeper{tokens: auth.OpenTokens(path), log: log}
	rules, err := d.compile(cfg)
	d.rules.Store(rules)
	return d, err
}

// compile reads what a configuration says of who comes in. Issuers that stay keep the keys that were found.
func (d *doorkeeper) compile(cfg *config.Config) (*doorRules, error) {
	out := &doorRules{resource: auth.Resource{URL: cfg.Auth.Resource}}
	sources := []auth.Source{d.tokens}
	for _, configured := range cfg.Auth.Issuers {
		made := d.issuer(configured)
		if made == nil {
			checks, err := auth.NewIssuer(configured.Options())
			if err != nil {
				return nil, fmt.Errorf("auth: %w", err)
			}
			made = &issuer{configured, checks}
		}
		out.issuers = append(out.issuers, made)
		sources = append(sources, made.checks)
		out.resource.Issuers = append(out.resource.Issuers, configured.URL)
		out.resource.Scopes = append(out.resource.Scopes, configured.Scopes...)
	}
	for _, r := range cfg.Auth.Roles {
		made, err := compileRole(r)
		if err != nil {
			return nil, fmt.Errorf("auth: role %s: %w", r.Name, err)
		}
		out.roles = append(out.roles, made)
		out.resource.Scopes = append(out.resource.Scopes, r.Scopes...)
	}
	slices.Sort(out.resource.Scopes)
	out.resource.Scopes = slices.Compact(out.resource.Scopes)
	out.auth = auth.New(sources...)
	return out, nil
}

// issuer returns the one in force with these options, nil if there is none.
func (d *doorkeeper) issuer(like config.Issuer) *issuer {
	now := d.rules.Load()
	if now == nil {
		return nil
	}
	for _, i := range now.issuers {
		if reflect.DeepEqual(i.configured, like) {
			return i
		}
	}
	return nil
}

func compileRole(r config.Role) (role, error) {
	made := role{Role: r, mayOpen: r.Views}
	if r.View != "" {
		made.mayOpen = append(made.mayOpen[:len(made.mayOpen):len(made.mayOpen)], glob.QuoteMeta(r.View))
	}
	var err error
	if made.principals, err = compileGlobs(r.Principals); err != nil {
		return role{}, err
	}
	made.views, err = compileGlobs(made.mayOpen)
	return made, err
}

func compileGlobs(patterns []string) ([]*glob.Pattern, error) {
	var out []*glob.Pattern
	for _, p := range patterns {
		g, err := glob.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", p, err)
		}
		out = append(out, g)
	}
	return out, nil
}

// Enter implements serve.Doorkeeper.
func (d *doorkeeper) Enter(r *http.Request) (dispatch.Agent, error) {
	agent, err := d.rules.Load().enter(r)
	if err != nil {
		d.log.Info("refused", "from", r.RemoteAddr, "path", r.URL.Path, "why", err)
		return dispatch.Agent{}, err
	}
	if agent.Role != "" {
		d.remember(agent)
	}
	return agent, nil
}

func (d *doorkeeper) remember(a dispatch.Agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.roles == nil || len(d.roles) >= maxRemembered {
		d.roles = map[string]string{}
	}
	d.roles[a.Principal] = a.Role
}

// allowance is what a principal's role lets it keep of results; 0 is what everybody may.
func (d *doorkeeper) allowance(principal string) (bytes int64, files int) {
	d.mu.Lock()
	name := d.roles[principal]
	d.mu.Unlock()
	if r := d.rules.Load().role(name); r != nil {
		return r.SpillBytes, r.SpillFiles
	}
	return 0, 0
}

func (d *doorRules) enter(r *http.Request) (dispatch.Agent, error) {
	who, err := d.auth.Authenticate(r)
	if err != nil {
		return dispatch.Agent{}, err
	}
	agent := dispatch.Agent{Principal: who.Principal, Claims: string(who.Claims)}
	if len(d.roles) == 0 && who.Role == "" {
		return agent, nil
	}
	role := d.roleOf(who)
	if role == nil {
		return dispatch.Agent{}, fmt.Errorf("%w: %s has no role", errNotHere, who.Principal)
	}
	agent.Role, agent.View = role.Name, role.View
	if !role.opens(r.URL.Path) {
		return dispatch.Agent{}, fmt.Errorf("%w: %s by role %s", errNotHere, who.Principal, role.Name)
	}
	return agent, nil
}

// roleOf is the first role that somebody has, the default one if there is no other; nil if none.
func (d *doorRules) roleOf(who auth.Identity) *role {
	if who.Role != "" {
		return d.role(who.Role) // a token whose role is gone has no rights rather than others
	}
	for i, r := range d.roles {
		named := slices.ContainsFunc(r.principals, func(g *glob.Pattern) bool { return g.Match(who.Principal) })
		scoped := slices.ContainsFunc(r.Scopes, func(s string) bool { return slices.Contains(who.Scopes, s) })
		if named || scoped {
			return &d.roles[i]
		}
	}
	return d.role(config.DefaultRole)
}

func (d *doorRules) role(name string) *role {
	for i, r := range d.roles {
		if r.Name == name {
			return &d.roles[i]
		}
	}
	return nil
}

// opens says if a role may use a path: one who may see certain views only comes in by these, or by having one.
func (r *role) opens(path string) bool {
	name, isView := strings.CutPrefix(path, "/view/")
	switch {
	case r.mayOpen == nil:
		return true
	case !isView:
		return r.View != ""
	}
	name, _ = strings.CutSuffix(name, "/mcp")
	return slices.ContainsFunc(r.views, func(g *glob.Pattern) bool { return g.Match(name) })
}

// Refuse implements serve.Doorkeeper.
func (d *doorkeeper) Refuse(r *http.Request, err error) (int, string) {
	if errors.Is(err, errNotHere) {
		return http.StatusForbidden, ""
	}
	return d.rules.Load().resource.Refusal(r, err)
}

// rights are what an agent's role lets it see.
func (d *doorkeeper) rights(a dispatch.Agent) (view.Rules, bool) {
	r := d.rules.Load().role(a.Role)
	if r == nil {
		return view.Rules{}, false
	}
	return view.Rules{Allow: r.Tools.Allow, Deny: r.Tools.Deny, ReadOnly: r.ReadOnly, Only: r.Servers, Views: r.mayOpen}, true
}

// limits are those of an agent's role.
func (d *doorkeeper) limits(a dispatch.Agent) serve.Limits {
	if r := d.rules.Load().role(a.Role); r != nil {
		return serve.Limits{PerMinute: r.PerMinute, Concurrent: r.Concurrent}
	}
	return serve.Limits{}
}

// metadata tells agents where to get a token.
func (d *doorkeeper) metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.rules.Load().resource.Metadata().ServeHTTP(w, r) })
}
