package catalog

import (
	"encoding/json"
	"slices"
	"strings"
)

// Signature returns the parameters in TypeScript style, in one line: the required ones first, then the optional, each in
// the schema's order: `path: string, mode?: "a"|"b" = "a"`. Objects are shown to two levels inside a parameter;
// "…" stands where something is cut, string<f> is a string of format f. At most 4 KiB, whatever the schema.
// "" when there are no parameters. It is made at the first call and kept.
func (e *Entry) Signature() string {
	e.signed.Do(func() { e.signature = e.SignatureWithin(maxSignature) })
	return e.signature
}

// SignatureWithin returns the fullest signature of at most max bytes: levels, literals and defaults go first, then
// optional parameters, and what is still too long ends with "…". It is made anew at each call.
func (e *Entry) SignatureWithin(max int) string {
	if e.InputSchema == nil {
		return ""
	}
	return shrink(e.InputSchema, min(max, maxSignature), func(root *node, s style, max int) string {
		return newPrinter(root, s, workType).parameters(max)
	})
}

// ResultType returns the type a schema describes, in one line and with the bounds of a signature: `{rows: {id: number}[]}`.
// "" for no schema.
func ResultType(schema json.RawMessage) string {
	if schema == nil {
		return ""
	}
	return shrink(schema, maxSignature, func(root *node, s style, _ int) string {
		return newPrinter(root, s, workParameter).term(place{}, root).text
	})
}

// shrink renders with one style after the other until the text fits into max bytes.
func shrink(schema json.RawMessage, max int, render func(*node, style, int) string) string {
	root := parse(schema)
	if root == nil {
		return clip("…", max)
	}
	var text string
	for i, s := range brief {
		limit := max
		if i < len(brief)-1 {
			limit = 4 * maxSignature // enough to see that it does not fit
		}
		if text = render(root, s, limit); len(text) <= max {
			return text
		}
	}
	if max < len("…") {
		return ""
	}
	return clip(text, max)
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

// Param is one top-level parameter of an entry, as a search index or a form wants it.
type Param struct {
	Name        string // exact, as the server wrote it
	Description string // cleaned, at most 1 KiB
	Required    bool
	Enum        []string // the allowed values that are strings, at most 100
}

// maxParams bounds the parameters Params returns.
const maxParams = 500

// Params returns the top-level parameters in the schema's order, those of alternatives after the common ones. At most
// 500. They are made anew at each call.
func (e *Entry) Params() []Param {
	root := parse(e.InputSchema)
	if root == nil {
		return nil
	}
	var params []Param
	seen := map[string]bool{}
	var collect func(f *facts, common bool, depth int)
	collect = func(f *facts, common bool, depth int) {
		required := f.requires()
		for _, x := range f.all() {
			if seen[x.name] || len(params) == maxParams {
				continue
			}
			seen[x.name] = true
			params = append(params, describeParam(root, x, common && required[x.name]))
		}
		for _, branches := range f.unions {
			for i, b := range branches {
				if i < maxTokens && depth > 0 && len(params) < maxParams {
					collect(fold(root, b), false, depth-1)
				}
			}
		}
	}
	collect(fold(root, root), true, 2)
	return params
}

func describeParam(root *node, x prop, required bool) Param {
	f := fold(root, x.schemas...)
	p := Param{Name: x.name, Required: required}
	s, _ := f.first("description").text()
	p.Description = clip(Clean(s), 1<<10)
	values := f.values
	for _, branches := range f.unions { // an optional enumeration is often an alternative to null
		for i, b := range branches {
			if i < maxTokens {
				values = append(values[:len(values):len(values)], fold(root, b).values...)
			}
		}
	}
	for _, v := range values {
		if s, ok := v.text(); ok && len(p.Enum) < 100 {
			p.Enum = append(p.Enum, s)
		}
	}
	return p
}
