// Package signature says a JSON Schema as a TypeScript type.
package signature

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
)

// Parameters returns the parameters that the schema of an arguments object describes, in one line: the required ones
// first, then the optional, each in the schema's order: `path: string, mode?: "a"|"b" = "a"`. Objects are shown to two
// levels inside a parameter; "…" stands where something is cut, string<f> is a string of format f. It is the fullest of
// at most max bytes (MaxLine if that is less): levels, literals and defaults go first, then optional parameters, and
// what is still too long ends with "…". "" when there are no parameters or no schema.
func Parameters(schema json.RawMessage, max int) string {
	if schema == nil {
		return ""
	}
	return shrink(schema, min(max, MaxLine), func(root *node, s style, max int) string {
		return newPrinter(root, s, workType).parameters(max)
	})
}

// Line returns the type a schema describes, in one line of at most MaxLine bytes: `{rows: {id: number}[]}`.
// "" for no schema.
func Line(schema json.RawMessage) string {
	if schema == nil {
		return ""
	}
	return shrink(schema, MaxLine, func(root *node, s style, _ int) string {
		return newPrinter(root, s, workParameter).term(place{}, root).text
	})
}

// shrink renders with one style after the other until the text fits into max bytes.
func shrink(schema json.RawMessage, max int, render func(*node, style, int) string) string {
	root := parse(schema)
	if root == nil {
		return clean.Clip("…", max)
	}
	var text string
	for i, s := range brief {
		limit := max
		if i < len(brief)-1 {
			limit = 4 * MaxLine // enough to see that it does not fit
		}
		if text = render(root, s, limit); len(text) <= max {
			return text
		}
	}
	if max < len("…") {
		return ""
	}
	return clean.Clip(text, max)
}

// parameters renders the schema of an arguments object as a parameter list of at most max bytes.
func (p *printer) parameters(max int) string {
	f := fold(p.root, p.root)
	for _, n := range p.chain([]*node{p.root}) {
		p.active[n] = true
	}
	if f.never || f.values != nil || len(f.types) > 0 && !slices.Contains(f.types, "object") {
		return "..." + p.shape(f, place{}).closed()
	}
	props, required := slices.Clone(f.all()), f.requires()
	slices.SortStableFunc(props, func(a, b prop) int { return rank(required[a.name]) - rank(required[b.name]) })
	var b strings.Builder
	add := func(part string) bool {
		if b.Len() > 0 {
			part = ", " + part
		}
		if b.Len()+len(part) > max-len(", …") {
			b.WriteString(", …")
			return false
		}
		b.WriteString(part)
		return true
	}
	for _, x := range props {
		part := "…"
		if p.optional || required[x.name] {
			part = p.parameter(x, required[x.name])
		}
		if !add(part) || part == "…" {
			return strings.TrimPrefix(b.String(), ", ")
		}
	}
	for _, branches := range f.unions {
		p.ration()
		if u, ok := p.union(branches, place{}); ok && !add("..."+u.closed()) {
			return strings.TrimPrefix(b.String(), ", ")
		}
	}
	p.ration()
	if extra := p.extra(f, place{}); extra != "" && (len(props) == 0 || extra != "any") {
		add("[key: string]: " + extra)
	}
	return strings.TrimPrefix(b.String(), ", ")
}

func rank(required bool) int {
	if required {
		return 0
	}
	return 1
}

// parameter renders one parameter, with fewer levels if it grows too long.
func (p *printer) parameter(x prop, required bool) string {
	levels := p.levels
	defer func() { p.levels = levels }()
	for {
		p.ration()
		text := p.property(x, required, place{})
		if len(text) <= maxParameter || p.levels == 0 {
			return text
		}
		p.levels--
	}
}

// ration gives what comes next the work of one parameter, out of what all of them may take.
func (p *printer) ration() {
	p.reserve += p.left
	p.left = min(workParameter, p.reserve)
	p.reserve -= p.left
}
