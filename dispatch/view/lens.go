package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

// Lens is what one kind of agent sees of any snapshot: what the global policy leaves, narrowed by a
// principal's rights and by a view. What the policy keeps out is ErrDenied; what the other two do not show
// does not exist. It is immutable and safe for concurrent use.
type Lens struct {
	policy *Policy
	rights *Policy // nil: not narrowed
	shape  *shape  // nil: no view
	blind  bool
	own    []*catalog.Entry // of tools of our own
}

// NewLens narrows policy by the rights and the definition, each nil if there is none. A fault in the
// definition is a *DefinitionError.
func NewLens(policy *Policy, rights *Rules, d *Definition) (*Lens, error) {
	l := &Lens{policy: policy}
	if rights != nil {
		p, err := Compile(*rights)
		if err != nil {
			return nil, fmt.Errorf("rights: %w", err)
		}
		l.rights = p
	}
	if d == nil {
		return l, nil
	}
	var err error
	l.shape, err = compileDefinition(*d)
	return l, err
}

// With returns the lens with tools of our own beside what it shows; nil adds nothing.
func (l *Lens) With(own []*catalog.Entry) *Lens {
	out := *l
	out.own = own
	return &out
}

// Blind returns a lens that shows nothing.
func Blind() *Lens { return &Lens{policy: &Policy{}, blind: true} }

// Description is the view's, "" without a view.
func (l *Lens) Description() string {
	if l.shape == nil {
		return ""
	}
	return l.shape.Description
}

// Uses reports whether the rights let an agent come in by a view, "" being none.
func (l *Lens) Uses(name string) bool {
	return l.rights == nil || l.rights.rules.Views == nil || matches(l.rights.views, []string{name})
}

// Reaches reports whether anything of a server may be seen. It depends on the configuration only.
func (l *Lens) Reaches(server string) bool {
	switch {
	case l.blind, l.rights != nil && !l.rights.reaches(server):
		return false
	}
	return l.shape == nil || l.shape.reaches(server)
}

// Ours reports whether there are tools of our own.
func (l *Lens) Ours() bool { return len(l.own) > 0 }

// Open reports whether a resource that stands in no list may be asked of a server.
func (l *Lens) Open(server, uri string) bool {
	if !l.Reaches(server) {
		return false
	}
	return l.shape == nil || l.shape.includes(server) || matches(l.shape.others[server].resources, []string{uri})
}

// Over applies the lens to a snapshot.
func (l *Lens) Over(s *catalog.Snapshot) *View {
	b := newBuild(s, l)
	if l.rights == nil && l.shape == nil && !l.blind {
		for _, srv := range s.Servers {
			for _, e := range srv.Entries {
				b.add(e, e)
			}
		}
		if len(l.own) > 0 {
			b.Snapshot = catalog.NewSnapshot(s.Gen, append(slices.Clone(s.Servers), b.ours()))
		}
		return b.View
	}
	var servers []*catalog.Server
	for _, srv := range s.Servers {
		if l.Reaches(srv.Name) {
			servers = append(servers, b.narrow(srv))
		}
	}
	if len(l.own) > 0 {
		servers = append(servers, b.ours())
	}
	b.Snapshot = catalog.NewSnapshot(s.Gen, servers)
	return b.View
}

// build is a View being made.
type build struct {
	*View
	whole bool // of the server at hand nothing was left out or changed
}

func newBuild(s *catalog.Snapshot, l *Lens) *build {
	return &build{View: &View{
		Snapshot: s,
		base:     s,
		lens:     l,
		entries:  map[string][]*catalog.Entry{},
		byName:   map[nameKey][]*catalog.Entry{},
		hidden:   map[nameKey][]*catalog.Entry{},
		inServer: map[catalog.Ref]*catalog.Entry{},
		byKind:   map[catalog.Kind][]*catalog.Entry{},
		origins:  map[*catalog.Entry]*Origin{},
	}}
}

// add puts an entry where it is found, or, if the policy denies the server's own, where it is known to be denied.
func (b *build) add(shown, own *catalog.Entry, aliases ...string) bool {
	k := nameKey{shown.Kind, shown.Name}
	if !b.lens.policy.Sees(own) {
		b.hidden[k] = append(b.hidden[k], shown)
		return false
	}
	if b.inServer[shown.Ref] != nil {
		b.Conflicts = append(b.Conflicts, shown.Ref)
		return false
	}
	b.entries[shown.Server] = append(b.entries[shown.Server], shown)
	b.byName[k] = append(b.byName[k], shown)
	b.byKind[shown.Kind] = append(b.byKind[shown.Kind], shown)
	b.inServer[shown.Ref] = shown
	for _, a := range aliases {
		k := nameKey{shown.Kind, a}
		if within(b.byName[k], shown.Server) == nil {
			b.byName[k] = append(b.byName[k], shown)
		}
	}
	return true
}

// ours is the connection of the tools of our own.
func (b *build) ours() *catalog.Server {
	out := &catalog.Server{Name: Own, ID: Own, Description: "tools made of others", Known: true}
	for _, e := range b.lens.own {
		if b.lens.rights == nil || b.lens.rights.Sees(e) {
			out.Entries = append(out.Entries, b.shown(e, e, nil)...)
		}
	}
	return out
}

// narrow returns the server as the lens shows it: only with the entries that are seen.
func (b *build) narrow(srv *catalog.Server) *catalog.Server {
	out := &catalog.Server{Name: srv.Name, ID: srv.ID, Description: srv.Description, Known: srv.Known, Cached: srv.Cached, Info: srv.Info,
		Capabilities: srv.Capabilities, ProtocolVersion: srv.ProtocolVersion, Refreshed: srv.Refreshed, Err: srv.Err}
	b.whole = true
	var rules []toolShape
	if b.lens.shape != nil {
		rules = b.lens.shape.rulesOf(srv.Name)
	}
	for _, e := range srv.Entries {
		if b.lens.rights != nil && !b.lens.rights.Sees(e) {
			b.whole = false
			continue
		}
		out.Entries = append(out.Entries, b.show(e, rules)...)
	}
	if b.whole { // a server's own words may tell of what is not shown
		out.Instructions = srv.Instructions
	}
	return out
}

// show adds what the view makes of one entry.
func (b *build) show(e *catalog.Entry, rules []toolShape) []*catalog.Entry {
	s := b.lens.shape
	if s == nil {
		return b.shown(e, e, nil)
	}
	all := s.includes(e.Server)
	switch e.Kind {
	case catalog.Resource:
		all = all || matches(s.others[e.Server].resources, []string{e.Name})
	case catalog.Prompt:
		all = all || matches(s.others[e.Server].prompts, []string{e.Name})
	default:
		if rule := ruleFor(rules, e.Name); rule != nil {
			return b.showTool(e, *rule)
		}
	}
	if !all {
		b.whole = false
		return nil
	}
	return b.shown(e, e, nil)
}

func (b *build) shown(e, own *catalog.Entry, aliases []string) []*catalog.Entry {
	if !b.add(e, own, aliases...) {
		b.whole = false
		return nil
	}
	return []*catalog.Entry{e}
}

// showTool adds a tool as its rule says: under its name, and once more for each of Also.
func (b *build) showTool(own *catalog.Entry, rule Tool) []*catalog.Entry {
	if rule.Disabled {
		b.whole = false
		return nil
	}
	var out []*catalog.Entry
	for _, r := range append([]Tool{rule}, rule.Also...) {
		e, origin, err := reshape(own, r)
		if err != nil {
			b.Faults = append(b.Faults, fmt.Errorf("%s: %w", own.Ref, err))
		}
		if e == nil {
			b.whole = false
			continue
		}
		if e != own {
			b.whole = false
			b.origins[e] = origin
		}
		out = append(out, b.shown(e, own, r.Aliases)...)
	}
	return out
}

// reaches reports whether rules may let anything of a server through, as far as its name tells.
func (p *Policy) reaches(server string) bool {
	if p.rules.Only != nil && !matches(p.only, []string{server}) {
		return false
	}
	for _, d := range p.rules.Deny {
		if d == "*" || d == server+"/*" || d == server+"/**" {
			return false
		}
	}
	if len(p.rules.Allow) == 0 {
		return true
	}
	for _, a := range p.rules.Allow {
		before, _, qualified := strings.Cut(a, "/")
		if !qualified || strings.ContainsAny(before, "*?[{") || before == server {
			return true
		}
	}
	return false
}
