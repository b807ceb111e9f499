package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// placeholder stands in a view's description for the server's own.
const placeholder = "{original}"

// reshape returns the entry as a rule shows it, own itself where the rule changes nothing. Every byte of the
// server's that the rule does not speak of stays as it is. The entry is not nil unless it must not be shown; an error
// beside an entry is a part of the rule that does not fit it.
func reshape(own *catalog.Entry, r Tool) (*catalog.Entry, *Origin, error) {
	name := r.Name
	if name == "" {
		name = own.Name
	}
	if name == own.Name && r.Description == "" && len(r.Parameters) == 0 {
		return own, nil, nil
	}
	binding, err := newBinding(r.Parameters)
	if err != nil {
		return nil, nil, err
	}
	schema, unknown, err := reshapeSchema(own.InputSchema, r.Parameters)
	if err != nil {
		return nil, nil, err
	}
	raw := retell(own.Raw, map[string]func(json.RawMessage) json.RawMessage{
		"name":        func(json.RawMessage) json.RawMessage { return rawjson.Quote(name) },
		"description": told(r.Description),
		"inputSchema": func(v json.RawMessage) json.RawMessage { return schema },
	}, "description")
	e, err := catalog.NewEntry(own.Server, own.Kind, own.Template, raw)
	if err != nil {
		return nil, nil, err
	}
	if len(unknown) > 0 {
		err = fmt.Errorf("it has no parameter %s", strings.Join(unknown, ", "))
	}
	return e, &Origin{Entry: own, Binding: binding}, err
}

// told returns what makes a description of the server's; nil where nothing changes it.
func told(description string) func(json.RawMessage) json.RawMessage {
	if description == "" {
		return nil
	}
	return func(v json.RawMessage) json.RawMessage {
		return rawjson.Quote(strings.TrimSpace(strings.ReplaceAll(description, placeholder, rawjson.Unquote(v))))
	}
}

// retell copies an object with the values of some of its members changed. A member named in add is put at the end
// where the object lacks it and there is something that makes it of nothing.
func retell(raw json.RawMessage, change map[string]func(json.RawMessage) json.RawMessage, add ...string) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	seen := map[string]bool{}
	rawjson.Object(raw, func(written, value []byte) {
		key := rawjson.Unquote(written)
		if f := change[key]; f != nil {
			value = f(value)
		}
		seen[key] = true
		putMember(&b, written, value)
	})
	for _, key := range add {
		if f := change[key]; f != nil && !seen[key] {
			putMember(&b, rawjson.Quote(key), f(nil))
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

func putMember(b *bytes.Buffer, key, value []byte) {
	if b.Len() > 1 {
		b.WriteByte(',')
	}
	b.Write(key)
	b.WriteByte(':')
	b.Write(value)
}
