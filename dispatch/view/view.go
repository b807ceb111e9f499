// Package view decides what an agent sees and how a seen name leads to a ref.
//
// It is pure: a snapshot of the catalog and a lens (policy, rights, a view's definition) go in, a View comes out.
package view

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

// ErrUnknown is the error for a name that nothing seen has.
var ErrUnknown = errors.New("unknown name")

// ErrDenied is the error for a name that exists but that the policy keeps out.
var ErrDenied = errors.New("denied by configuration")

// ErrWithheld is the ErrDenied of a tool that Rules.Withheld keeps out.
var ErrWithheld = fmt.Errorf("%w: it is not what was trusted", ErrDenied)

// AmbiguousError is the error for a name that several connections have.
type AmbiguousError struct {
	Name string
	Refs []catalog.Ref // in configuration order
}

// Error names the connections that have it.
func (e *AmbiguousError) Error() string {
	names := make([]string, len(e.Refs))
	for i, r := range e.Refs {
		names[i] = r.Server
	}
	return fmt.Sprintf("%q is offered by %s", e.Name, strings.Join(names, ", "))
}

// Own is the name of the connection that tools of our own stand under.
const Own = "own"

// View is what one lens leaves of one snapshot. It is immutable and safe for concurrent use.
type View struct {
	// Snapshot holds only what is seen, in the form in which it is seen, beside what the policy denies.
	Snapshot *catalog.Snapshot
	// Conflicts are entries left out because another one has their name in the same connection.
	Conflicts []catalog.Ref
	// Faults say which tools are left out because their rules do not fit them.
	Faults []error

	base     *catalog.Snapshot
	lens     *Lens
	origins  map[*catalog.Entry]*Origin        // of what is not shown as the server has it
	entries  map[string][]*catalog.Entry       // seen, by server
	byName   map[nameKey][]*catalog.Entry      // seen, by own name
	hidden   map[nameKey][]*catalog.Entry      // kept out by the policy, by own name
	inServer map[catalog.Ref]*catalog.Entry    // seen
	byKind   map[catalog.Kind][]*catalog.Entry // seen, configuration order
}

type nameKey struct {
	kind catalog.Kind
	name string
}

// Over applies the policy alone to a snapshot.
func (p *Policy) Over(s *catalog.Snapshot) *View { return (&Lens{policy: p}).Over(s) }

// Of reports whether the view was made of that snapshot.
func (v *View) Of(s *catalog.Snapshot) bool { return v.base == s }

// Open reports whether a resource that stands in no list may be asked of a server.
func (v *View) Open(server, uri string) bool { return v.lens.Open(server, uri) }

// Origin is what stands behind a seen entry.
type Origin struct {
	// Entry is the server's own.
	Entry *catalog.Entry
	// Binding makes the server's arguments of those for the seen entry; nil: they are the same.
	Binding *Binding
}

// Origin returns what stands behind an entry of the view.
func (v *View) Origin(e *catalog.Entry) Origin {
	if o := v.origins[e]; o != nil {
		return *o
	}
	return Origin{Entry: e}
}

// Entries returns what is seen of one kind, in configuration order, of one server or (server "") of
// all. The slice must not be changed.
func (v *View) Entries(server string, kind catalog.Kind) []*catalog.Entry {
	if server == "" {
		return v.byKind[kind]
	}
	var out []*catalog.Entry
	for _, e := range v.entries[server] {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// Entry returns the seen entry of a ref, nil if there is none.
func (v *View) Entry(r catalog.Ref) *catalog.Entry { return v.inServer[r] }

// Alias returns the tool that a plain name means: its own, or another one that the view gives it.
func (v *View) Alias(name string) (*catalog.Entry, error) {
	switch found := v.byName[nameKey{catalog.Tool, name}]; len(found) {
	case 0:
		return nil, fmt.Errorf("%q: %w", name, ErrUnknown)
	case 1:
		return found[0], nil
	default:
		return nil, ambiguous(name, found)
	}
}

// separators are the ways a connection may be written before a name.
var separators = []string{"/", "__", "::", "."}

// Resolve finds the entry an agent's name means: the server's own name when one connection has it,
// or `connection/name` with any of the separators, the connection by name or alias. A server not ""
// limits the search to it. It fails with ErrUnknown, ErrDenied or *AmbiguousError.
func (v *View) Resolve(kind catalog.Kind, name, server string) (*catalog.Entry, error) {
	if found := v.candidates(v.byName, kind, name, server); len(found) == 1 {
		return found[0], nil
	} else if len(found) > 1 {
		return nil, ambiguous(name, found)
	}
	if len(v.candidates(v.hidden, kind, name, server)) > 0 {
		return nil, fmt.Errorf("%q: %w", name, v.why(v.candidates(v.hidden, kind, name, server)))
	}
	return nil, fmt.Errorf("%q: %w", name, ErrUnknown)
}

// why is the reason for which entries are kept out.
func (v *View) why(hidden []*catalog.Entry) error {
	for _, e := range hidden {
		if own := v.Origin(e).Entry; v.lens.policy.passes(own) {
			return ErrWithheld
		}
	}
	return ErrDenied
}

// candidates returns the entries a name may mean: plain names first, qualified ones only when no
// plain name fits, because a server's own names may contain every separator.
func (v *View) candidates(in map[nameKey][]*catalog.Entry, kind catalog.Kind, name, server string) []*catalog.Entry {
	if plain := within(in[nameKey{kind, name}], server); len(plain) > 0 {
		return plain
	}
	seen := map[catalog.Ref]bool{}
	var out []*catalog.Entry
	for _, sep := range separators {
		for at := strings.Index(name, sep); at >= 0; {
			out = appendNew(out, seen, v.qualified(in, kind, name[:at], name[at+len(sep):], server))
			next := strings.Index(name[at+1:], sep)
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	return out
}

// qualified returns the entries of that own name in the connection, if it is (within) server.
func (v *View) qualified(in map[nameKey][]*catalog.Entry, kind catalog.Kind, connection, name, server string) []*catalog.Entry {
	srv := v.Snapshot.Server(connection)
	if srv == nil || name == "" || (server != "" && srv.Name != server) {
		return nil
	}
	return within(in[nameKey{kind, name}], srv.Name)
}

// Connection returns the server a qualified name names, "" if its prefix is none.
func (v *View) Connection(name string) string {
	for _, sep := range separators {
		if before, _, ok := strings.Cut(name, sep); ok {
			if srv := v.Snapshot.Server(before); srv != nil {
				return srv.Name
			}
		}
	}
	return ""
}

func within(entries []*catalog.Entry, server string) []*catalog.Entry {
	if server == "" {
		return entries
	}
	var out []*catalog.Entry
	for _, e := range entries {
		if e.Server == server {
			out = append(out, e)
		}
	}
	return out
}

func appendNew(out []*catalog.Entry, seen map[catalog.Ref]bool, more []*catalog.Entry) []*catalog.Entry {
	for _, e := range more {
		if !seen[e.Ref] {
			seen[e.Ref] = true
			out = append(out, e)
		}
	}
	return out
}

func ambiguous(name string, found []*catalog.Entry) error {
	refs := make([]catalog.Ref, len(found))
	for i, e := range found {
		refs[i] = e.Ref
	}
	return &AmbiguousError{Name: name, Refs: refs}
}

// Names returns the sorted distinct own names that are seen of one kind, of one server or of all.
func (v *View) Names(server string, kind catalog.Kind) []string {
	set := map[string]bool{}
	for _, e := range v.Entries(server, kind) {
		set[e.Name] = true
	}
	out := make([]string, 0, len(set))
	for n := range set {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}
