package signature

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// printer renders the schemas of one document as TypeScript types. It never fails: what it cannot read is any, what
// its bounds leave out is "…". It is good for one rendering.
type printer struct {
	style
	root    *node
	left    int            // steps left, see workType
	reserve int            // of a signature: steps left for the parameters to come
	active  map[*node]bool // schemas being rendered right now: one met again is a cycle
	defs    definitions
}

func newPrinter(root *node, s style, work int) *printer {
	p := &printer{style: s, root: root, left: work, active: map[*node]bool{}}
	p.defs.init()
	return p
}

// term is a rendered type. loose says that it needs parentheses before [] or beside &.
type term struct {
	text  string
	loose bool
}

// place is where a schema stands: inside how many shown objects, inside how many schemas.
type place struct{ level, nest int }

func (at place) object() place { return place{at.level + 1, at.nest + 1} }
func (at place) inner() place  { return place{at.level, at.nest + 1} }

// spend takes n steps and reports whether any are left.
func (p *printer) spend(n int) bool {
	p.left -= n
	return p.left >= 0
}

// cut stands for a type left out.
func (p *printer) cut() term {
	if p.lines {
		return term{text: "any /* … */"}
	}
	return term{text: "…"}
}

// term renders the type that all of schemas describe together.
func (p *printer) term(at place, schemas ...*node) term {
	if at.nest > maxNest || !p.spend(workSchema) {
		return p.cut()
	}
	if p.names {
		if t, ok := p.named(at, schemas); ok {
			return t
		}
	}
	chain := p.chain(schemas)
	for _, n := range chain {
		if p.active[n] {
			return p.cut()
		}
	}
	for _, n := range chain {
		p.active[n] = true
	}
	f := fold(p.root, schemas...)
	p.spend(f.work / 16)
	t := p.shape(f, at)
	for _, n := range chain {
		delete(p.active, n)
	}
	return t
}

// chain returns the schemas and what they refer to, one after the other.
func (p *printer) chain(schemas []*node) []*node {
	var chain []*node
	for _, n := range schemas {
		for n.is('{') && !slices.Contains(chain, n) && len(chain) < maxTokens {
			chain = append(chain, n)
			ref, ok := n.get("$ref").text()
			if !ok {
				break
			}
			n, _ = p.root.resolve(ref)
		}
	}
	return chain
}

// shape renders folded facts.
func (p *printer) shape(f *facts, at place) term {
	if f.never {
		return term{text: "never"}
	}
	if f.values != nil {
		return p.nullable(p.literals(f.values), f)
	}
	var parts []term
	bare := true // nothing but the names of types: a union says it better
	for _, kind := range f.kinds() {
		parts = append(parts, p.kind(kind, f, at))
		bare = bare && !(kind == "object" && f.object()) && !(kind == "array" && f.array())
	}
	t := join(parts)
	for _, branches := range f.unions {
		u, ok := p.union(branches, at)
		switch {
		case !ok:
		case bare:
			t, bare = u, false
		default:
			t = term{text: t.closed() + " & " + u.closed(), loose: true}
		}
	}
	return p.nullable(t, f)
}

// kinds returns the types to render: those said, else those the other keywords imply.
func (f *facts) kinds() []string {
	kinds := f.types
	if kinds == nil && f.object() {
		kinds = append(kinds, "object")
	}
	if f.types == nil && f.array() {
		kinds = append(kinds, "array")
	}
	if kinds == nil {
		for key, kind := range map[string]string{
			"minLength": "string", "maxLength": "string", "pattern": "string",
			"minimum": "number", "maximum": "number", "multipleOf": "number",
		} {
			if f.first(key) != nil && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
		slices.Sort(kinds)
	}
	return kinds
}

func (p *printer) kind(kind string, f *facts, at place) term {
	switch kind {
	case "integer", "number":
		return term{text: "number"}
	case "boolean", "null":
		return term{text: kind}
	case "string":
		if format, ok := f.first("format").text(); ok && p.formats && plainFormat(format) {
			return term{text: "string<" + format + ">"}
		}
		return term{text: "string"}
	case "array":
		return p.array(f, at)
	case "object":
		return p.object(f, at)
	}
	return term{text: "any"}
}

// plainFormat keeps anything but a short word out of the line.
func plainFormat(format string) bool {
	return format != "" && len(format) <= 30 && strings.Trim(format, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

func (p *printer) nullable(t term, f *facts) term {
	if !f.nullable || t.text == "any" || t.text == "null" || strings.HasSuffix(t.text, "|null") {
		return t
	}
	return join([]term{t, {text: "null"}})
}

// join makes a union of terms: each once, null last, any if there is none or one of them is.
func join(terms []term) term {
	var texts []string
	null, loose := false, false
	for _, t := range terms {
		switch {
		case t.text == "any":
			return t
		case t.text == "null":
			null = true
		case !slices.Contains(texts, t.text):
			texts = append(texts, t.text)
			loose = loose || t.loose
		}
	}
	if null {
		texts = append(texts, "null")
	}
	if len(texts) == 0 {
		return term{text: "any"}
	}
	return term{text: strings.Join(texts, "|"), loose: loose || len(texts) > 1}
}

func (t term) closed() string {
	if t.loose {
		return "(" + t.text + ")"
	}
	return t.text
}

// union renders alternatives. It is not ok when it would say nothing: an alternative that is any, such as one that only
// lists required names.
func (p *printer) union(branches []*node, at place) (term, bool) {
	var terms []term
	for i, b := range branches {
		if i == p.branches || p.left < 0 {
			terms = append(terms, p.cut())
			break
		}
		t := p.term(at.inner(), b)
		if t.text == "any" {
			return t, false
		}
		t.text = p.remark(b) + t.text
		terms = append(terms, t)
	}
	t := join(terms)
	return t, t.text != "any"
}

func (p *printer) array(f *facts, at place) term {
	if f.tuple == nil {
		item := p.term(at.inner(), f.itemSchemas()...)
		if remark := p.remark(f.itemSchemas()...); remark != "" {
			return term{text: "Array<" + remark + item.text + ">"}
		}
		return term{text: item.closed() + "[]"}
	}
	var parts []string
	for i, n := range f.tuple {
		if i == p.branches || p.left < 0 {
			parts = append(parts, p.cut().text)
			break
		}
		parts = append(parts, p.remark(n)+p.term(at.inner(), n).text)
	}
	if f.items != nil && string(f.items.raw) != "false" && string(f.items.raw) != "true" {
		parts = append(parts, "..."+p.term(at.inner(), f.items).closed()+"[]")
	}
	return term{text: "[" + strings.Join(parts, ", ") + "]"}
}

func (f *facts) itemSchemas() []*node {
	if f.items == nil {
		return nil
	}
	return []*node{f.items}
}

// literals renders the values of an enumeration.
func (p *printer) literals(values []*node) term {
	var terms []term
	size := 0
	for i, v := range values {
		text, ok := p.value(v)
		size += len(text) + 1
		if !ok || i == p.values || size > 4*p.literal || !p.spend(len(text)) {
			more := p.cut()
			if p.lines {
				more.text = fmt.Sprintf("any /* %d more */", len(values)-i)
			}
			return join(append(terms, more))
		}
		terms = append(terms, term{text: text})
	}
	return join(terms)
}

// value renders a JSON value as it may stand in TypeScript; not ok when it is too long.
func (p *printer) value(v *node) (string, bool) {
	if len(v.raw) > 6*p.literal {
		return "", false
	}
	if s, ok := v.text(); ok {
		s = quote(s)
		return s, len(s) <= p.literal
	}
	s := string(clean.JSON(rawjson.Compact(v.raw)))
	return s, len(s) <= p.literal
}
