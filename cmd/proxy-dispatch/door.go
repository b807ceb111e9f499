package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/serve/auth"
)

// doorkeeper lets agents in over HTTP and says which role each has.
type doorkeeper struct {
	auth     *auth.Authenticator
	resource auth.Resource
	roles    []role
	log      func(r *http.Request, err error)
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
func (c *console) doorkeeper(whole *config.Config, log *slog.Logger) (*doorkeeper, error) {
	cfg := whole.Auth
	if !cfg.On {
		return nil, nil
	}
	path, err := tokensPath(whole, c.env)
	if err != nil {
		return nil, err
	}
	d := &doorkeeper{
		resource: auth.Resource{URL: cfg.Resource},
		log: func(r *http.Request, err error) {
			log.Info("refused", "from", r.RemoteAddr, "path", r.URL.Path, "why", err)
		},
	}
	sources := []auth.Source{auth.OpenTokens(path)}
	for _, i := range cfg.Issuers {
		issuer, err := auth.NewIssuer(i.Options())
		if err != nil {
			return nil, fmt.Errorf("auth: %w", err)
		}
		sources = append(sources, issuer)
		d.resource.Issuers = append(d.resource.Issuers, i.URL)
		d.resource.Scopes = append(d.resource.Scopes, i.Scopes...)
	}
	for _, r := range cfg.Roles {
		made := role{Role: r, mayOpen: r.Views}
		if r.View != "" {
			made.mayOpen = append(made.mayOpen[:len(made.mayOpen):len(made.mayOpen)], glob.QuoteMeta(r.View))
		}
		for _, set := range []struct {
			from []string
			to   *[]*glob.Pattern
		}{{r.Principals, &made.principals}, {made.mayOpen, &made.views}} {
			for _, pattern := range set.from {
				g, err := glob.Compile(pattern)
				if err != nil {
					return nil, fmt.Errorf("auth: role %s: pattern %q: %w", r.Name, pattern, err)
				}
				*set.to = append(*set.to, g)
			}
		}
		d.roles = append(d.roles, made)
		d.resource.Scopes = append(d.resource.Scopes, r.Scopes...)
	}
	slices.Sort(d.resource.Scopes)
	d.resource.Scopes = slices.Compact(d.resource.Scopes)
	d.auth = auth.New(sources...)
	return d, nil
}

// Enter implements serve.Doorkeeper.
func (d *doorkeeper) Enter(r *http.Request) (dispatch.Agent, error) {
	agent, err := d.enter(r)
	if err != nil {
		d.log(r, err)
		return dispatch.Agent{}, err
	}
	return agent, nil
}

func (d *doorkeeper) enter(r *http.Request) (dispatch.Agent, error) {
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
func (d *doorkeeper) roleOf(who auth.Identity) *role {
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

func (d *doorkeeper) role(name string) *role {
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
	return d.resource.Refusal(r, err)
}

// rights are what an agent's role lets it see.
func (d *doorkeeper) rights(a dispatch.Agent) (view.Rules, bool) {
	r := d.role(a.Role)
	if r == nil {
		return view.Rules{}, false
	}
	return view.Rules{Allow: r.Tools.Allow, Deny: r.Tools.Deny, ReadOnly: r.ReadOnly, Only: r.Servers, Views: r.mayOpen}, true
}

// limits are those of an agent's role.
func (d *doorkeeper) limits(a dispatch.Agent) serve.Limits {
	if r := d.role(a.Role); r != nil {
		return serve.Limits{PerMinute: r.PerMinute, Concurrent: r.Concurrent}
	}
	return serve.Limits{}
}
