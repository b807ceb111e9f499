package proxyface

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// Names are CONNECTION + separator + NAME, and both sides may hold the separator: `a_b` + `c` reads like `a` + `b_c`. So a
// name is never taken apart. It is looked up in a table of what is seen, made once for each view; where two offers would
// share a name, neither gets it, and both are listed under a form that is theirs alone. What a server has only at a later
// moment can then never stand in the place of what an agent meant.

const defaultSeparator = "_"

// offer is one entry as this face names it.
type offer struct {
	name   string          // as listed: what info and call take. Of a resource its URI
	full   string          // prefix and own name
	entry  *catalog.Entry  // nil: the tool of this face itself
	server *catalog.Server // nil with entry
}

// names is how the offers of one view are called. It is immutable.
type names struct {
	offers map[catalog.Kind][]*offer
	byName map[catalog.Kind]map[string][]*offer // every name that leads to an offer
	prefix map[string]string                    // by server
	view   *view.View
}

type nameCache struct {
	mu  sync.Mutex
	all map[*view.View]*names
}

// cachedViews bounds how many views are remembered: one for each kind of agent, and old ones until they are in the way.
const cachedViews = 32

// namesOf returns how the offers of a view are called.
func (f *Face) namesOf(v *view.View) *names {
	f.names.mu.Lock()
	defer f.names.mu.Unlock()
	if n := f.names.all[v]; n != nil && n.still(f.o.Prefix) {
		return n
	}
	if len(f.names.all) >= cachedViews || f.names.all == nil {
		f.names.all = map[*view.View]*names{}
	}
	n := nameAll(v, f.o.ToolName, f.o.Prefix)
	f.names.all[v] = n
	return n
}

// still reports whether the prefixes are those that the names were made with.
func (n *names) still(prefix func(string) string) bool {
	for server, was := range n.prefix {
		if prefix(server) != was {
			return false
		}
	}
	return true
}

// nameAll names what is seen: the offers of the servers in their order, then the tool itself.
func nameAll(v *view.View, toolName string, prefix func(string) string) *names {
	n := &names{view: v, offers: map[catalog.Kind][]*offer{}, byName: map[catalog.Kind]map[string][]*offer{}, prefix: map[string]string{}}
	for _, s := range v.Snapshot.Servers {
		n.prefix[s.Name] = prefix(s.Name)
	}
	for _, kind := range []catalog.Kind{catalog.Tool, catalog.Resource, catalog.Prompt} {
		var offers []*offer
		for _, e := range sorted(v.Entries("", kind)) {
			o := &offer{entry: e, server: v.Snapshot.Server(e.Server), full: n.prefix[e.Server] + ownName(e)}
			if o.server == nil {
				continue
			}
			if o.name = o.full; kind == catalog.Resource {
				o.name = e.Name
			}
			offers = append(offers, o)
		}
		if kind == catalog.Tool {
			offers = append(offers, &offer{name: toolName, full: toolName})
		}
		n.offers[kind], n.byName[kind] = offers, index(offers)
	}
	return n
}

// sorted puts templates behind the resources that need no filling in.
func sorted(entries []*catalog.Entry) []*catalog.Entry {
	out := slices.Clone(entries)
	slices.SortStableFunc(out, func(a, b *catalog.Entry) int {
		switch {
		case a.Template == b.Template:
			return 0
		case b.Template:
			return -1
		}
		return 1
	})
	return out
}

// index gives every offer a name of its own and returns all names that lead somewhere. A listed name leads to its offer
// alone; one that several could have had leads to all of them.
func index(offers []*offer) map[string][]*offer {
	wanted := map[string]int{}
	for _, o := range offers {
		wanted[o.name]++
	}
	listed, shared := map[string][]*offer{}, map[string][]*offer{}
	for _, o := range offers {
		if wanted[o.name] == 1 || o.entry == nil {
			listed[o.name] = []*offer{o}
		}
	}
	for _, o := range offers {
		if listed[o.name] != nil && listed[o.name][0] == o {
			continue
		}
		shared[o.name] = append(shared[o.name], o)
		for _, form := range o.forms() {
			if wanted[form] == 0 && listed[form] == nil {
				o.name = form
				break
			}
		}
		listed[o.name] = []*offer{o}
	}
	for _, o := range offers { // other names, where they are nobody's listed one
		for _, also := range o.also() {
			if !slices.Contains(shared[also], o) {
				shared[also] = append(shared[also], o)
			}
		}
	}
	for name, who := range shared {
		if listed[name] == nil {
			listed[name] = who
		}
	}
	return listed
}

// forms are names that an offer may be listed under where its usual one is somebody else's too; the last one is never
// anybody else's.
func (o *offer) forms() []string {
	var forms []string
	for _, server := range []string{o.server.Name, o.server.Alias} {
		if o.entry.Kind == catalog.Resource {
			forms = append(forms, resourcePrefix(server)+o.entry.Name)
		} else {
			forms = append(forms, server+"/"+o.entry.Name, server+"::"+o.entry.Name)
		}
	}
	return append(forms, fmt.Sprintf("%s::%s::%s", o.entry.Kind, o.server.Alias, o.entry.Name))
}

// also are other names by which an offer is found, if they are its alone.
func (o *offer) also() []string {
	if o.entry == nil {
		return nil
	}
	also := o.forms()
	if o.entry.Kind == catalog.Resource {
		also = append(also, o.full, strings.TrimSuffix(o.full, ownName(o.entry))+o.entry.Name)
	}
	return also
}

// place is where a path leads: to an offer, or at least to a server and a name there; connection "" leaves it to the
// dispatcher to find one.
type place struct {
	offer            *offer
	connection, name string
}

// locate finds what a path means.
func (n *names) locate(kind catalog.Kind, path string) (place, error) {
	switch found := n.byName[kind][path]; {
	case len(found) == 1 && found[0].entry == nil:
		return place{offer: found[0], name: path}, nil
	case len(found) == 1:
		return place{offer: found[0], connection: found[0].entry.Server, name: found[0].entry.Name}, nil
	case len(found) > 1:
		return place{}, ambiguous(kind, path, found)
	}
	if p, ok := n.behind(kind, path); ok {
		return p, nil
	}
	return place{name: path}, nil
}

// behind reads a path as a prefix and a name, where nothing is listed under it: the server may not have been heard of yet,
// the name may be kept out, the resource may be in no list or one that a template describes. Of several prefixes the
// longest counts.
func (n *names) behind(kind catalog.Kind, path string) (place, bool) {
	var best place
	longest := 0
	for _, s := range n.view.Snapshot.Servers {
		for _, prefix := range []string{n.prefix[s.Name], resourcePrefix(s.Name)} {
			rest, ok := strings.CutPrefix(path, prefix)
			if ok && rest != "" && len(prefix) > longest && n.mayHave(s, kind, prefix, path) {
				best, longest = place{connection: s.Name, name: rest}, len(prefix)
			}
		}
	}
	return best, longest > 0
}

// uri begins like one, so that it is no name behind a prefix.
var uri = regexp.MustCompile(`\A[A-Za-z][A-Za-z0-9+.-]*:`)

// mayHave reports whether a server may have what a path names behind its prefix.
func (n *names) mayHave(s *catalog.Server, kind catalog.Kind, prefix, path string) bool {
	if kind == catalog.Resource {
		return prefix == resourcePrefix(s.Name) || !uri.MatchString(path)
	}
	_, err := n.view.Resolve(kind, strings.TrimPrefix(path, prefix), s.Name)
	return !s.Known || !errors.Is(err, view.ErrUnknown)
}

// resourcePrefix before a URI makes another URI, that of the server's own.
func resourcePrefix(server string) string { return "proxy:resource/" + url.PathEscape(server) + "/" }

// near are the names nearest to one that nothing has.
func (n *names) near(kind catalog.Kind, path string) []string {
	all := make([]string, 0, len(n.offers[kind]))
	for _, o := range n.offers[kind] {
		all = append(all, o.name)
	}
	return arguments.Nearest(path, all, 3)
}

func ambiguous(kind catalog.Kind, path string, found []*offer) error {
	e := &dispatch.Error{Code: dispatch.AmbiguousTool, Message: fmt.Sprintf("several servers have a %s %q", kind, clip(path, 200))}
	for _, o := range found {
		e.Suggestions = append(e.Suggestions, o.name)
	}
	e.Do = "Name one: " + clip(strings.Join(e.Suggestions, ", "), 400)
	return e
}
