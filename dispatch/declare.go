package dispatch

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/catalog/signature"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// declarations says tools as code finds them: TypeScript, by connection in the order they were asked for, at most about
// 2,000 tokens.
func (a *DescribeAnswer) declarations() string {
	for level := 0; ; level++ {
		text := a.declared(level)
		if a.count(text) <= describeBudget || level == 4 {
			return text
		}
	}
}

func (a *DescribeAnswer) declared(level int) string {
	words := [...]int{400, 240, 120, 60, 0}[level]
	types := [...]int{6000, 2500, 1000, 400, 120}[level]
	var order []string
	by := map[string][]*Described{}
	for i := range a.Items {
		it := &a.Items[i]
		if by[it.Connection] == nil {
			order = append(order, it.Connection)
		}
		by[it.Connection] = append(by[it.Connection], it)
	}
	var b strings.Builder
	names := declaredTypes{taken: map[string]bool{"tools": true, "call": true, "read": true, "Promise": true}}
	b.WriteString("declare const tools: {\n")
	for _, connection := range order {
		b.WriteString("  " + propertyName(connection) + ": {\n")
		for _, it := range by[connection] {
			b.WriteString(indented("    ", it.declaration(&names, words, types)))
		}
		b.WriteString("  };\n")
	}
	b.WriteString("};")
	return names.text.String() + b.String()
}

// declaredTypes are the types that the tools of one answer refer to by name; they stand before the tools.
type declaredTypes struct {
	taken map[string]bool
	text  strings.Builder
}

// declaration is one tool as a method.
func (it *Described) declaration(names *declaredTypes, words, types int) string {
	var b strings.Builder
	if about := oneLine(strings.TrimSpace(it.Description)); about != "" && words > 0 {
		b.WriteString("/** " + strings.ReplaceAll(clip(about, words), "*/", "* /") + " */\n")
	}
	if it.Type != catalog.Tool {
		return b.String() + "// " + it.Name + " is no tool\n"
	}
	optional := "?"
	if required, err := arguments.ParseObject(it.InputSchema); err == nil {
		if list, ok := required.Get("required"); ok && string(list) != "[]" && string(list) != "null" {
			optional = ""
		}
	}
	b.WriteString(propertyName(it.Name) + "(args" + optional + ": " + names.typeScript(it.InputSchema, types) + "): Promise<")
	switch {
	case it.OutputSchema != nil:
		b.WriteString(names.typeScript(it.OutputSchema, types/2) + ">;\n")
	case it.SeenResult != "" && types > 120:
		b.WriteString("any>; // seen: " + clip(oneLine(it.SeenResult), 300) + "\n")
	default:
		b.WriteString("any>;\n")
	}
	return b.String()
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)
	comments   = regexp.MustCompile(`(?s)/\*.*?\*/`)
	ofFormat   = regexp.MustCompile(`\b(string|number)<([^<>\n]*)>`) // our short form of a format
)

// typeScript is a schema as a type of the language, `any` where it says nothing or too much.
func (d *declaredTypes) typeScript(schema json.RawMessage, max int) string {
	t, declarations, err := signature.Declare(schema, d.taken, max)
	if errors.Is(err, signature.ErrTooLong) {
		t, _ = signature.Type(schema, "", max)
		return "any /* " + strings.ReplaceAll(clip(oneLine(t), 300), "*/", "* /") + " */"
	}
	if err != nil || t == "" || strings.Contains(comments.ReplaceAllString(t+declarations, ""), "…") {
		return "any"
	}
	if declarations != "" {
		d.text.WriteString(ofFormat.ReplaceAllString(declarations, "$1 /* $2 */") + "\n\n")
	}
	return ofFormat.ReplaceAllString(t, "$1 /* $2 */")
}

func propertyName(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return string(mustJSON(name))
}

// indented puts in front of each line of a text.
func indented(by, text string) string {
	return by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by) + "\n"
}
