package composite

import (
	"encoding/json"
	"slices"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Check holds the steps against the tools they call: schema gives a tool's input schema, and what is wrong with its
// name ("" if nothing). Only what is certain is a problem.
func (t *Tool) Check(schema func(tool string) (inputSchema json.RawMessage, wrong string)) Problems {
	c := &compiler{}
	for _, s := range slices.Concat(t.parallel, t.then) {
		raw, wrong := schema(s.Tool)
		if wrong != "" {
			c.add(s.Line, "step %s %s", s.Name, wrong)
			continue
		}
		t.checkArgs(c, s, raw)
	}
	return c.problems
}

func (t *Tool) checkArgs(c *compiler, s *step, schema json.RawMessage) {
	properties := rawjson.Member(schema, "properties")
	given := map[string]bool{}
	for _, m := range s.args.members {
		given[m.key] = true
		p := rawjson.Member(properties, m.key)
		if p == nil {
			if string(rawjson.Member(schema, "additionalProperties")) == "false" || properties != nil && rawjson.Member(schema, "additionalProperties") == nil && rawjson.Member(schema, "patternProperties") == nil {
				c.add(s.Line, "step %s: %s has no parameter %q", s.Name, s.Tool, m.key)
			}
			continue
		}
		if kind, ok := t.kindOf(m.value); ok && !allows(p, kind, m.value) {
			c.add(s.Line, "step %s: %s takes %s as %s, not %s", s.Name, s.Tool, m.key, rawjson.Member(p, "type"), kind)
		}
	}
	for r := range rawjson.Elements(rawjson.Member(schema, "required")) {
		if name := rawjson.Unquote(r); !given[name] {
			c.add(s.Line, "step %s: %s needs %q", s.Name, s.Tool, name)
		}
	}
}

// kindOf is the type of a value where it is certain.
func (t *Tool) kindOf(v *value) (string, bool) {
	switch v.kind {
	case '{':
		return "object", true
	case '[':
		return "array", true
	case 't':
		if len(v.text) != 1 || v.text[0].ref == nil {
			return "string", true
		}
		if r := v.text[0].ref; r.root == "inputs" && len(r.path) == 1 {
			kind := t.inputs.kinds[r.path[0]]
			return kind, kind != ""
		}
		return "", false
	}
	for _, kind := range types {
		if kind != "integer" && isOf(v.raw, kind) {
			return kind, true
		}
	}
	return "", false
}

// allows reports whether a schema with a type takes a value of a kind.
func allows(schema json.RawMessage, kind string, v *value) bool {
	declared := rawjson.Member(schema, "type")
	if declared == nil {
		return true
	}
	var kinds []string
	if declared[0] == '[' {
		for k := range rawjson.Elements(declared) {
			kinds = append(kinds, rawjson.Unquote(k))
		}
	} else {
		kinds = []string{rawjson.Unquote(declared)}
	}
	for _, k := range kinds {
		if k == kind || k == "number" && kind == "integer" || k == "integer" && kind == "number" && (v.kind != 0 || isOf(v.raw, "integer")) {
			return true
		}
	}
	return false
}
