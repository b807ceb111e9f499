package signature

import (
	"regexp"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// object renders what f says about properties.
func (p *printer) object(f *facts, at place) term {
	props := f.all()
	extra := p.extra(f, at)
	switch {
	case len(props) == 0 && extra != "":
		return term{text: "Record<" + p.keys(f, at) + ", " + extra + ">"}
	case len(props) == 0 && f.names != nil:
		return term{text: "Record<" + p.keys(f, at) + ", any>"}
	case len(props) == 0 && f.closed:
		return term{text: "{}"}
	case len(props) == 0:
		return term{text: "object"}
	case at.level > p.levels && p.lines:
		return term{text: "{ /* … */ }"}
	case at.level > p.levels:
		return term{text: "{…}"}
	}
	required := f.requires()
	var parts []string
	for i, x := range props {
		if p.left < 0 || at.level > 0 && i >= p.props {
			parts = append(parts, p.ellipsis())
			break
		}
		parts = append(parts, p.property(x, required[x.name], at))
	}
	if extra != "" && extra != "any" {
		parts = append(parts, "[key: string]: "+extra)
	}
	if !p.lines {
		return term{text: "{" + strings.Join(parts, ", ") + "}"}
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, part := range parts {
		b.WriteString("  " + strings.ReplaceAll(part, "\n", "\n  "))
		if !strings.HasPrefix(part, "// ") {
			b.WriteByte(';')
		}
		b.WriteByte('\n')
	}
	return term{text: b.String() + "}"}
}

func (p *printer) ellipsis() string {
	if p.lines {
		return "// …"
	}
	return "…"
}

// all returns the properties of f and those that are only required.
func (f *facts) all() []prop {
	props := f.props[:len(f.props):len(f.props)]
	seen := map[string]bool{}
	for _, name := range f.required {
		if _, ok := f.at[name]; !ok && !seen[name] {
			seen[name] = true
			props = append(props, prop{name: name})
		}
	}
	return props
}

// property renders one property with its comment or default.
func (p *printer) property(x prop, required bool, at place) string {
	mark := ": "
	if !required {
		mark = "?: "
	}
	name := label(x.name)
	if len(name) > maxLabel || !p.spend(len(name)) {
		return p.ellipsis()
	}
	text := name + mark + p.term(at.object(), x.schemas...).text
	if p.lines {
		return p.comment(false, x.schemas) + text
	}
	if !p.defaults {
		return text
	}
	// A default of null says no more than the question mark does.
	if v := fold(p.root, x.schemas...).first("default"); v != nil && string(v.raw) != "null" {
		if value, ok := p.value(v); ok && p.spend(len(value)) {
			text += " = " + value
		} else {
			text += " = …"
		}
	}
	return text
}

// extra renders the type of properties that have no name of their own, "" if nothing is said of them.
func (p *printer) extra(f *facts, at place) string {
	var terms []term
	for i, m := range f.patterns {
		if i == max(1, p.branches) {
			terms = append(terms, p.cut())
			break
		}
		terms = append(terms, p.term(at.object(), m.node))
	}
	if f.extra != nil && (len(f.patterns) == 0 || string(f.extra.raw) != "true") {
		t := p.term(at.object(), f.extra)
		t.text = p.remark(f.extra) + t.text
		terms = append(terms, t)
	}
	if terms == nil {
		return ""
	}
	return join(terms).text
}

// keys renders the type of property names.
func (p *printer) keys(f *facts, at place) string {
	if f.names != nil {
		if names := fold(p.root, f.names); names.values != nil {
			return p.literals(names.values).text
		}
	}
	return "string"
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// label renders a property name, quoted unless it is a plain identifier.
func label(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return quote(name)
}

// quote writes s as a JSON string that shows every character: a name stays exact and nothing hides in it.
func quote(s string) string { return string(clean.JSON(rawjson.Quote(s))) }
