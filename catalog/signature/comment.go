package signature

import (
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
)

// constraints are the keywords named in a comment, in this order.
var constraints = []string{
	"format", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType",
	"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "dependentRequired",
	"readOnly", "deprecated", "default",
}

// comment renders what a type cannot say of schemas as a comment: several lines before a property, or one line (inline).
// It is "" when there is nothing to say.
func (p *printer) comment(inline bool, schemas []*node) string {
	if p.left < 0 {
		return ""
	}
	f := p.annotations(schemas)
	var lines []string
	if s := p.description(f); s != "" {
		lines = strings.Split(s, "\n")
	}
	if p.tags {
		if tags := p.tagsOf(f); tags != "" {
			lines = append(lines, tags)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(l, "*/", `*\/`)
		p.spend(len(l))
	}
	switch {
	case inline:
		return "/** " + strings.Join(lines, " ") + " */ "
	case len(lines) <= 2:
		return "/** " + strings.Join(lines, " ") + " */\n"
	}
	return "/**\n * " + strings.Join(lines, "\n * ") + "\n */\n"
}

// remark is the comment of a schema that is no property: an element, an alternative. In one-line styles it is "".
func (p *printer) remark(schemas ...*node) string {
	if !p.lines {
		return ""
	}
	return p.comment(true, schemas)
}

// annotations folds what the comment of schemas is made of. Of a named reference that is only what stands beside it:
// the rest stands at the declaration.
func (p *printer) annotations(schemas []*node) *facts {
	if p.names && len(schemas) == 1 {
		if target, _ := p.reference(schemas[0]); target != nil && p.defs.declared(target) {
			return &facts{said: schemas}
		}
	}
	f := fold(p.root, schemas...)
	p.spend(workSchema + f.work/16)
	return f
}

func (p *printer) description(f *facts) string {
	if p.style.comment == 0 || p.left < 0 {
		return ""
	}
	s, ok := f.first("description").text()
	if !ok {
		s, _ = f.first("title").text()
	}
	var lines []string
	for l := range strings.SplitSeq(clean.Text(s), "\n") {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return clean.Clip(strings.Join(lines, "\n"), p.style.comment)
}

// tagsOf renders the constraints of f as "@name value" words.
func (p *printer) tagsOf(f *facts) string {
	var tags []string
	if slices.Contains(f.types, "integer") {
		tags = append(tags, "@integer")
	}
	for _, key := range constraints {
		v := f.first(key)
		if v == nil || string(v.raw) == "false" && key != "default" {
			continue
		}
		tag := "@" + key
		if string(v.raw) != "true" || key == "default" {
			tag += " " + p.plain(v)
		}
		tags = append(tags, tag)
	}
	for _, m := range f.patterns {
		tags = append(tags, "@keys "+clean.Clip(string(clean.JSON([]byte(m.name))), maxLabel))
	}
	if f.names != nil {
		if v := f.names.get("pattern"); v != nil {
			tags = append(tags, "@keys "+p.plain(v))
		}
	}
	if v := f.first("examples").elements(); len(v) > 0 {
		tags = append(tags, "@example "+p.plain(v[0]))
	}
	for _, branches := range f.unions {
		if s := p.needs(branches); s != "" {
			tags = append(tags, "@requires "+s)
		}
	}
	return strings.Join(slices.Compact(tags), " ")
}

// plain renders a keyword's value: words as they are, the rest as JSON, too long ones as "…".
func (p *printer) plain(v *node) string {
	text, ok := p.value(v)
	if s, word := v.text(); word && ok && !strings.ContainsAny(s, " \n\t\r\"") && s != "" {
		return string(clean.JSON([]byte(s)))
	}
	if !ok {
		return "…"
	}
	return text
}

// needs renders alternatives that only list required names: "a, or b + c". "" if they say anything else.
func (p *printer) needs(branches []*node) string {
	var all []string
	for i, b := range branches {
		if i == 12 {
			all = append(all, "…")
			break
		}
		f := fold(p.root, b)
		if len(f.required) == 0 || len(f.required) > 12 || f.object() {
			return ""
		}
		var names []string
		for _, name := range f.required {
			names = append(names, clean.Clip(label(name), maxLabel))
		}
		all = append(all, strings.Join(names, " + "))
	}
	return strings.Join(all, ", or ")
}
