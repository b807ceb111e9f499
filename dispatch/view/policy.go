package view

import (
	"fmt"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

// Rules say which tools may be seen and called. Patterns are globs (`*`, `?`, `[a-z]`, `{a,b}`);
// a tool is out when any deny pattern matches it, or when there are allow patterns and none does.
// Resources and prompts only read, so the rules for tools do not touch them.
type Rules struct {
	// Allow and Deny match a tool's name or `connection/name`.
	Allow, Deny []string
	// Servers holds the rules of single servers by name.
	Servers map[string]ServerRules
	// ReadOnly leaves only the tools that declare readOnlyHint.
	ReadOnly bool
	// Only limits an agent to these servers, resources and prompts included; Views to these views. Both are patterns,
	// and nil limits nothing. They count in an agent's rights only.
	Only, Views []string
	// Withheld says which tools are neither seen nor called although nothing else keeps them out; nil: none. It counts
	// in the global rules only, is asked once per snapshot, and must be safe for concurrent use.
	Withheld func(*catalog.Entry) bool `json:"-"`
}

// ServerRules are the rules of one server.
type ServerRules struct {
	// Allow and Deny match a tool's name.
	Allow, Deny []string
	// ReadOnly leaves only the tools that declare readOnlyHint.
	ReadOnly bool
}

// Policy is a compiled set of rules. It is immutable and safe for concurrent use.
type Policy struct {
	rules   Rules
	global  ruleSet
	only    []*glob.Pattern
	views   []*glob.Pattern
	servers map[string]ruleSet
}

type ruleSet struct {
	allow, deny []*glob.Pattern
	readOnly    bool
}

// Compile checks every pattern of the rules; the error names the bad one.
func Compile(r Rules) (*Policy, error) {
	global, err := compileRules(ServerRules{Allow: r.Allow, Deny: r.Deny, ReadOnly: r.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	p := &Policy{rules: r, global: global, servers: make(map[string]ruleSet, len(r.Servers))}
	if p.only, err = compileGlobs(r.Only); err != nil {
		return nil, fmt.Errorf("only: %w", err)
	}
	if p.views, err = compileGlobs(r.Views); err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	for name, sr := range r.Servers {
		if p.servers[name], err = compileRules(sr); err != nil {
			return nil, fmt.Errorf("tools of server %q: %w", name, err)
		}
	}
	return p, nil
}

func compileRules(r ServerRules) (ruleSet, error) {
	allow, err := compileGlobs(r.Allow)
	if err != nil {
		return ruleSet{}, fmt.Errorf("allow: %w", err)
	}
	deny, err := compileGlobs(r.Deny)
	if err != nil {
		return ruleSet{}, fmt.Errorf("deny: %w", err)
	}
	return ruleSet{allow: allow, deny: deny, readOnly: r.ReadOnly}, nil
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

// Sees reports whether the rules let an agent see and call the entry.
func (p *Policy) Sees(e *catalog.Entry) bool {
	return p.passes(e) && (p.rules.Withheld == nil || e.Kind != catalog.Tool || !p.rules.Withheld(e))
}

// passes is Sees without Withheld.
func (p *Policy) passes(e *catalog.Entry) bool {
	if e.Kind != catalog.Tool {
		return true
	}
	own := p.servers[e.Server]
	if (own.readOnly || p.global.readOnly) && (e.ReadOnly == nil || !*e.ReadOnly) {
		return false
	}
	return own.passes(e.Name) && p.global.passes(e.Name, e.Server+"/"+e.Name)
}

// passes reports whether a thing known by any of the names is let through.
func (r ruleSet) passes(names ...string) bool {
	return !matches(r.deny, names) && (len(r.allow) == 0 || matches(r.allow, names))
}

func matches(globs []*glob.Pattern, names []string) bool {
	for _, g := range globs {
		for _, n := range names {
			if g.Match(n) {
				return true
			}
		}
	}
	return false
}
