package signature

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
)

// Errors of Type and Declare.
var (
	ErrBadSchema = errors.New("schema is not readable JSON")
	ErrNoPath    = errors.New("no such path in the schema")
	ErrTooLong   = errors.New("type is too long")
)

// Type returns the full type of what stands at path in a schema, at all depths, with /** comments */ that hold
// descriptions and constraints as @tags; referenced types are declared after it. It takes at most max bytes (MaxType if
// that is less): long comments go first, then levels, then all comments; what is cut is marked "…".
//
// A path is property names with dots between them, "[]" or ".items" (also an index) for the elements of a list,
// ["name"] for a name that holds dots, "*" for the values of a record; "" is the whole. Errors: ErrBadSchema, ErrNoPath
// (the message names what is there).
func Type(schema json.RawMessage, path string, max int) (string, error) {
	root := parse(schema)
	if root == nil {
		return "", ErrBadSchema
	}
	at, err := descend(root, path)
	if err != nil {
		return "", err
	}
	max = min(max, MaxType)
	var text string
	for _, s := range wide {
		typ, declarations := newPrinter(root, s, workType).whole(at, path == "")
		if text = typ + declarations; len(text) <= max {
			return text, nil
		}
	}
	const mark = "\n// …"
	if max < len(mark) {
		return "", nil
	}
	text = text[:max-len(mark)]
	if i := strings.LastIndexByte(text, '\n'); i > 0 {
		text = text[:i]
	}
	return strings.ToValidUTF8(text, "") + mark, nil
}

// Declare is Type of a whole schema for code that names types: the type, and apart from it the declarations it needs, all
// of them under names that are not in taken yet and are added to it. What does not fit into max bytes is ErrTooLong.
func Declare(schema json.RawMessage, taken map[string]bool, max int) (typ, declarations string, err error) {
	root := parse(schema)
	if root == nil {
		return "", "", ErrBadSchema
	}
	for _, s := range wide {
		p := newPrinter(root, s, workType)
		maps.Copy(p.defs.taken, taken)
		if typ, declarations = p.whole(root, true); len(typ)+len(declarations) <= min(max, MaxType) {
			for _, def := range p.defs.order {
				taken[def.name] = taken[def.name] || def.named
			}
			return typ, strings.TrimPrefix(declarations, "\n\n"), nil
		}
	}
	return "", "", ErrTooLong
}

// whole renders a type with its comment, and the declarations it needs. At the top the description is left out: it is
// the tool's own.
func (p *printer) whole(at *node, top bool) (typ, declarations string) {
	description := p.style.comment
	if top {
		p.style.comment = 0
	}
	note := p.comment(false, []*node{at})
	p.style.comment = description
	typ, declarations = p.body(at)
	return note + typ, declarations
}

func (p *printer) body(at *node) (typ, declarations string) {
	if !p.names {
		return p.term(place{}, at).text, ""
	}
	// What refers back to the whole needs a name for it.
	d := p.defs.begin(at, "Root")
	d.term = p.term(place{}, at)
	d.done = true
	return d.shown().text, p.defs.declarations()
}
