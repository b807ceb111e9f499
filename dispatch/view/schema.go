package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// schemaShaper rewrites the schema of an arguments object as rules for parameters say. It follows the keywords that
// speak of the object's own properties, at its root and in the alternatives of the root; all else is copied.
type schemaShaper struct {
	rules map[string]Parameter
	found map[string]bool // parameters met
	clash string          // a property that has the name another one is given
}

// reshapeSchema also names the parameters of rules that the schema lacks.
func reshapeSchema(schema json.RawMessage, rules []Parameter) (json.RawMessage, []string, error) {
	if len(rules) == 0 || len(schema) == 0 {
		return schema, nil, nil
	}
	s := &schemaShaper{rules: map[string]Parameter{}, found: map[string]bool{}}
	for _, r := range rules {
		s.rules[r.Match] = r
	}
	out := s.schema(schema)
	if s.clash != "" {
		return nil, nil, fmt.Errorf("two parameters would be called %q", s.clash)
	}
	var unknown []string
	for _, r := range rules {
		if !s.found[r.Match] {
			unknown = append(unknown, r.Match)
		}
	}
	return out, unknown, nil
}

// hidden reports whether an agent does not see the parameter.
func (p Parameter) hidden() bool { return p.Hide || p.Value != nil }

// shownAs is the name an agent sees.
func (p Parameter) shownAs() string {
	if p.Rename != "" {
		return p.Rename
	}
	return p.Match
}

func (s *schemaShaper) schema(raw json.RawMessage) json.RawMessage {
	if i := rawjson.Space(raw, 0); i >= len(raw) || raw[i] != '{' {
		return raw
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for key, value := range rawjson.Members(raw) {
		switch key {
		case "properties":
			value = s.properties(value)
		case "required":
			if value = s.names(value, true); string(value) == "[]" {
				continue
			}
		case "allOf", "anyOf", "oneOf":
			value = s.each(value)
		case "not", "if", "then", "else":
			value = s.schema(value)
		case "dependentSchemas":
			value = s.keyed(value, s.schema)
		case "dependentRequired", "dependencies":
			value = s.keyed(value, s.dependency)
		}
		putMember(&b, rawjson.Quote(key), value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// properties drops what is hidden, renames and redescribes the rest.
func (s *schemaShaper) properties(raw json.RawMessage) json.RawMessage {
	names := map[string]bool{}
	var b bytes.Buffer
	b.WriteByte('{')
	for key, value := range rawjson.Members(raw) {
		rule, ruled := s.rules[key]
		if ruled {
			s.found[key] = true
			if rule.hidden() {
				continue
			}
			value, key = s.property(value, rule), rule.shownAs()
		}
		if names[key] {
			s.clash = key
		}
		names[key] = true
		putMember(&b, rawjson.Quote(key), value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// property puts a rule's default and description into the schema of a parameter.
func (s *schemaShaper) property(raw json.RawMessage, rule Parameter) json.RawMessage {
	if i := rawjson.Space(raw, 0); i >= len(raw) || raw[i] != '{' { // true: anything
		if string(raw) != "true" {
			return raw
		}
		raw = json.RawMessage("{}")
	}
	change := map[string]func(json.RawMessage) json.RawMessage{"description": told(rule.Description)}
	if rule.Default != nil {
		change["default"] = func(json.RawMessage) json.RawMessage { return rule.Default }
	}
	return retell(raw, change, "description", "default")
}

// names rewrites a list of parameter names; optional drops those that have a default.
func (s *schemaShaper) names(raw json.RawMessage, optional bool) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for v := range rawjson.Elements(raw) {
		if rule, ok := s.rules[rawjson.Unquote(v)]; ok {
			if rule.hidden() || optional && rule.Default != nil {
				continue
			}
			v = rawjson.Quote(rule.shownAs())
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(v)
	}
	b.WriteByte(']')
	return b.Bytes()
}

func (s *schemaShaper) each(raw json.RawMessage) json.RawMessage {
	all := slices.Collect(rawjson.Elements(raw))
	for i := range all {
		all[i] = s.schema(all[i])
	}
	var b bytes.Buffer
	b.WriteByte('[')
	for i, v := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(v)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// keyed rewrites an object whose keys are parameter names.
func (s *schemaShaper) keyed(raw json.RawMessage, value func(json.RawMessage) json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for key, v := range rawjson.Members(raw) {
		if rule, ok := s.rules[key]; ok {
			if rule.hidden() {
				continue
			}
			key = rule.shownAs()
		}
		putMember(&b, rawjson.Quote(key), value(v))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// dependency is a list of names or a schema.
func (s *schemaShaper) dependency(raw json.RawMessage) json.RawMessage {
	if i := rawjson.Space(raw, 0); i < len(raw) && raw[i] == '[' {
		return s.names(raw, false)
	}
	return s.schema(raw)
}
