// Package catalog knows what every server offers, even while the server sleeps: refs, entries, immutable snapshots,
// disk cache, signatures.
package catalog

// Kind says which of a server's offers an entry is.
type Kind string

// The kinds of an entry. A resource template is a Resource whose Entry.Template is true.
const (
	Tool     Kind = "tool"
	Resource Kind = "resource"
	Prompt   Kind = "prompt"
)

// Ref names one entry of one server. It is a plain value, comparable and usable as a map key.
type Ref struct {
	// Server is the server's name in the configuration, never its alias.
	Server string
	Kind   Kind
	// Name is the server's own name for it: a tool's or prompt's name, a resource's URI, a template's URI template.
	// It comes from outside untouched and may hold any character; show it through Clean.
	Name string
}

// String returns "server/name".
func (r Ref) String() string { return r.Server + "/" + r.Name }
