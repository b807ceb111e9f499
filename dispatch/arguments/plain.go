package arguments

import (
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// plain is what a flat schema of scalars asks for. Most tools have one, and most arguments fit: for them
// a glance at the bytes tells what the validator would. It says only yes; every doubt is the validator's.
type plain struct {
	kinds    map[string]string // type by property
	required []string
	closed   bool // no other properties
}

// maxPlainProperties bounds the properties of a plain schema.
const maxPlainProperties = 64

// plainOf returns what a schema asks for if it says nothing that a glance can't check, else nil.
func plainOf(raw json.RawMessage) *plain {
	p := &plain{kinds: map[string]string{}}
	isObject := false
	for key, v := range rawjson.Members(raw) {
		switch key {
		case "$schema", "title", "description":
		case "type":
			isObject = string(v) == `"object"`
		case "properties":
			if !p.readProperties(v) {
				return nil
			}
		case "required":
			if json.Unmarshal(v, &p.required) != nil {
				return nil
			}
		case "additionalProperties":
			if p.closed = string(v) == "false"; !p.closed && string(v) != "true" {
				return nil
			}
		default:
			return nil
		}
	}
	if !isObject {
		return nil
	}
	return p
}

func (p *plain) readProperties(raw json.RawMessage) bool {
	for name, schema := range rawjson.Members(raw) {
		kind := ""
		for key, v := range rawjson.Members(schema) {
			switch key {
			case "title", "description", "default":
			case "type":
				kind = rawjson.Unquote(v)
			default:
				return false
			}
		}
		switch kind {
		case "string", "number", "integer", "boolean":
		default:
			return false
		}
		if _, twice := p.kinds[name]; twice || len(p.kinds) == maxPlainProperties {
			return false
		}
		p.kinds[name] = kind
	}
	return true
}

// fits reports whether args, valid JSON, certainly fit: an object of scalars, each key once.
func (p *plain) fits(args json.RawMessage) bool {
	var room [16]string
	seen := room[:0]
	sure := true
	whole := rawjson.Object(args, func(key, v []byte) {
		name := rawjson.Unquote(key)
		for _, s := range seen {
			sure = sure && s != name
		}
		seen = append(seen, name)
		kind, known := p.kinds[name]
		sure = sure && len(seen) <= maxPlainProperties && (known || !p.closed) && certainly(kind, v)
	})
	if !whole || !sure {
		return false
	}
	for _, r := range p.required {
		found := false
		for _, s := range seen {
			found = found || s == r
		}
		if !found {
			return false
		}
	}
	return true
}

// certainly reports whether v is a scalar of a kind; kind "" is any scalar.
func certainly(kind string, v []byte) bool {
	switch v[0] {
	case '"':
		return kind == "string" || kind == ""
	case 't', 'f':
		return kind == "boolean" || kind == ""
	case '{', '[', 'n':
		return false
	}
	for _, c := range v {
		if c == 'e' || c == 'E' || c == '.' && kind == "integer" {
			return false
		}
	}
	return len(v) <= 20 && (kind == "number" || kind == "integer" || kind == "")
}
