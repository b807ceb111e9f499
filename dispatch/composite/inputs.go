package composite

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// inputs are what a tool is given.
type inputs struct {
	schema   json.RawMessage
	kinds    map[string]string // declared types, "" where none
	defaults map[string]json.RawMessage
}

var types = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// readInputs reads the schema or the short form, and holds the templates against it.
func (c *compiler) readInputs(d Definition) inputs {
	in := inputs{kinds: map[string]string{}, defaults: map[string]json.RawMessage{}}
	raw := bytes.TrimSpace(d.Inputs)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		in.schema = c.inferred(in)
		return in
	case raw[0] != '{':
		c.add(d.Line, "inputs is not a mapping")
		return in
	case isSchema(raw):
		in.schema = raw
		in.declare(rawjson.Member(raw, "properties"))
	default:
		in.schema = c.short(d, raw)
		in.declare(rawjson.Member(in.schema, "properties"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.mentioned)) {
		m := c.mentioned[name]
		kind, declared := in.kinds[name]
		switch {
		case !declared:
			c.add(m.line, "{inputs.%s}: there is no input %q", name, name)
		case m.kind != "" && kind != "" && kind != m.kind:
			c.add(m.line, "input %q is of type %s, and forEach needs an array", name, kind)
		case m.fallback != nil && kind != "" && !isOf(m.fallback, kind):
			c.add(m.line, "input %q is of type %s, and its default %s is not", name, kind, m.fallback)
		}
	}
	return in
}

// isSchema tells a JSON Schema from the short form: its properties are a mapping of schemas.
func isSchema(raw json.RawMessage) bool {
	p := bytes.TrimSpace(rawjson.Member(raw, "properties"))
	if kind := bytes.TrimSpace(rawjson.Member(raw, "type")); string(kind) == `"object"` {
		return true
	}
	return len(p) > 0 && p[0] == '{' && rawjson.Member(p, "type") == nil
}

func (in inputs) declare(properties json.RawMessage) {
	for name, v := range rawjson.Members(properties) {
		in.kinds[name] = rawjson.Unquote(rawjson.Member(v, "type"))
		if d := rawjson.Member(v, "default"); d != nil {
			in.defaults[name] = d
		}
	}
}

// short turns {x: TYPE} and {x: {type, required, …}} into a JSON Schema.
func (c *compiler) short(d Definition, raw json.RawMessage) json.RawMessage {
	var properties, required bytes.Buffer
	for name, v := range rawjson.Members(raw) {
		v = bytes.TrimSpace(v)
		if len(v) == 0 || v[0] != '{' && v[0] != '"' && string(v) != "null" {
			c.add(d.Line, "input %q is neither a type nor a mapping", name)
			continue
		}
		if v[0] == '"' {
			v = json.RawMessage(`{"type":` + string(v) + `}`)
		}
		if string(v) == "null" {
			v = json.RawMessage("{}")
		}
		if kind := rawjson.Unquote(rawjson.Member(v, "type")); kind != "" && !slices.Contains(types, kind) {
			c.add(d.Line, "input %q: there is no type %q; types: %s", name, kind, strings.Join(types, ", "))
		}
		if must := string(bytes.TrimSpace(rawjson.Member(v, "required"))); must == "true" || must == "false" {
			v = without(v, "required")
			if must == "true" {
				comma(&required)
				required.Write(rawjson.Quote(name))
			}
		}
		comma(&properties)
		properties.Write(rawjson.Quote(name))
		properties.WriteByte(':')
		properties.Write(v)
	}
	out := `{"type":"object","properties":{` + properties.String() + `}`
	if required.Len() > 0 {
		out += `,"required":[` + required.String() + `]`
	}
	return json.RawMessage(out + "}")
}

func comma(b *bytes.Buffer) {
	if b.Len() > 0 {
		b.WriteByte(',')
	}
}

// without copies an object but for one key.
func without(raw json.RawMessage, key string) json.RawMessage {
	var b bytes.Buffer
	for k, v := range rawjson.Members(raw) {
		if k == key {
			continue
		}
		comma(&b)
		b.Write(rawjson.Quote(k))
		b.WriteByte(':')
		b.Write(v)
	}
	return json.RawMessage("{" + b.String() + "}")
}

// inferred is the schema of what the templates name: what has no default everywhere is required.
func (c *compiler) inferred(in inputs) json.RawMessage {
	var properties, required bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(c.mentioned)) {
		m := c.mentioned[name]
		in.kinds[name] = m.kind
		comma(&properties)
		properties.Write(rawjson.Quote(name))
		properties.WriteString(":{")
		if m.kind != "" {
			properties.WriteString(`"type":"` + m.kind + `"`)
		}
		properties.WriteByte('}')
		if !m.optional {
			comma(&required)
			required.Write(rawjson.Quote(name))
		}
	}
	out := `{"type":"object","properties":{` + properties.String() + `}`
	if required.Len() > 0 {
		out += `,"required":[` + required.String() + `]`
	}
	return json.RawMessage(out + "}")
}

// isOf reports whether a value is of a JSON Schema type.
func isOf(v json.RawMessage, kind string) bool {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return false
	}
	switch kind {
	case "string":
		return v[0] == '"'
	case "boolean":
		return v[0] == 't' || v[0] == 'f'
	case "null":
		return v[0] == 'n'
	case "array":
		return v[0] == '['
	case "object":
		return v[0] == '{'
	}
	n, ok := number(v)
	return ok && (kind != "integer" || n.IsInt())
}

// given reads the arguments of a call and fills in the defaults.
func (in inputs) given(args json.RawMessage) map[string]json.RawMessage {
	out := maps.Clone(in.defaults)
	for name, v := range rawjson.Members(args) {
		out[name] = v
	}
	return out
}
