package signature

import (
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
)

// maxInline is the length up to which a referenced type stands in the place of its reference, in bytes.
const maxInline = 60

// definitions are the referenced types of one rendering, each rendered once. Naming them keeps a type with cycles
// finite and one with many references in proportion to its schema.
type definitions struct {
	of    map[*node]*definition
	order []*definition
	taken map[string]bool
}

type definition struct {
	name  string
	term  term
	note  string // its comment
	named bool   // shown by name and declared; else its text is short enough to stand everywhere
	done  bool
}

func (d *definitions) init() {
	d.of = map[*node]*definition{}
	d.taken = map[string]bool{}
	for _, word := range strings.Fields("any array Array boolean never null number object Record string") {
		d.taken[word] = true
	}
}

func (d *definitions) declared(target *node) bool {
	def := d.of[target]
	return def != nil && def.named
}

// begin enters a definition before its text is known, so that what refers back to it finds its name.
func (d *definitions) begin(target *node, name string) *definition {
	base := clean.Clip(strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name), maxInline)
	base = strings.TrimSuffix(base, "…")
	if base == "" || base[0] >= '0' && base[0] <= '9' {
		base = "T" + base
	}
	name = base
	for i := 2; d.taken[name]; i++ {
		name = fmt.Sprintf("%s%d", base, i)
	}
	d.taken[name] = true
	def := &definition{name: name}
	d.of[target] = def
	d.order = append(d.order, def)
	return def
}

// shown returns how the definition appears where it is referred to.
func (d *definition) shown() term {
	if d.named {
		return term{text: d.name}
	}
	return d.term
}

// named renders schemas by name if they are nothing but a reference.
func (p *printer) named(at place, schemas []*node) (term, bool) {
	if len(schemas) != 1 {
		return term{}, false
	}
	target, name := p.reference(schemas[0])
	if target == nil {
		return term{}, false
	}
	d := p.defs.of[target]
	switch {
	case d == nil:
		d = p.defs.begin(target, name)
		d.term = p.term(at.inner(), target)
		d.named = d.named || len(d.term.text) > maxInline || strings.Contains(d.term.text, "\n")
		d.done = true
		if d.named {
			d.note = p.comment(false, []*node{target})
		}
	case !d.done:
		d.named = true
	}
	return d.shown(), true
}

// beside are the keywords that may stand beside a reference without changing the type it gives.
var beside = map[string]bool{
	"$ref": true, "$schema": true, "$comment": true, "title": true, "description": true, "default": true,
	"examples": true, "example": true, "deprecated": true, "readOnly": true, "writeOnly": true,
}

// reference returns the object a schema refers to if it says nothing else about the type.
func (p *printer) reference(n *node) (*node, string) {
	for range maxTokens {
		parts := n.get("allOf").elements()
		for _, m := range n.members() {
			if !beside[m.name] && !(m.name == "allOf" && len(parts) == 1) && !strings.HasPrefix(m.name, "x-") {
				return nil, ""
			}
		}
		if ref, ok := n.get("$ref").text(); ok && len(parts) == 0 {
			target, name := p.root.resolve(ref)
			if !target.is('{') {
				return nil, ""
			}
			return target, name
		}
		if len(parts) != 1 || n.get("$ref") != nil {
			return nil, ""
		}
		n = parts[0]
	}
	return nil, ""
}

// declarations renders the named definitions, "" if there are none.
func (d *definitions) declarations() string {
	var b strings.Builder
	for _, def := range d.order {
		if def.named {
			fmt.Fprintf(&b, "\n\n%stype %s = %s;", def.note, def.name, def.term.text)
		}
	}
	return b.String()
}
