package wire

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

var errNotObject = errors.New("params are not a JSON object")

// Member is one member of a JSON object: its name, the name as written with quotes, and the value as written.
type Member struct {
	name       string
	key, value []byte
}

// members shows the members of one JSON object; false if it is none.
func members(object []byte, show func(m Member)) bool {
	return rawjson.Object(object, func(key, value []byte) { show(Member{rawjson.Unquote(key), key, value}) })
}

// Own is a member that we make; value is JSON.
func Own(name string, value []byte) Member {
	return Member{name: name, key: rawjson.Quote(name), value: value}
}

// WithMeta puts meta's members and then our own into params._meta and leaves everything else as written.
// Later members replace earlier ones of the same name; a progressToken counts only among our own.
// The outcome holds no line break.
func WithMeta(params, meta json.RawMessage, own []Member) ([]byte, error) {
	if len(own) == 0 && len(meta) == 0 && bare(params) {
		if !rawjson.Object(params, func(_, _ []byte) {}) {
			return nil, errNotObject
		}
		return rawjson.OneLine(bytes.TrimSpace(params))
	}
	var rest, kept []Member
	if len(bytes.TrimSpace(params)) > 0 && string(bytes.TrimSpace(params)) != "null" {
		ok := members(params, func(m Member) {
			if m.name == "_meta" {
				kept = append(kept, m)
			} else {
				rest = append(rest, m)
			}
		})
		if !ok {
			return nil, errNotObject
		}
	}
	if len(kept) == 0 && len(own) == 0 && len(bytes.TrimSpace(meta)) == 0 {
		return rawjson.OneLine(bytes.TrimSpace(params))
	}
	inner, err := mergeMeta(kept, meta, own)
	if err != nil {
		return nil, err
	}
	if inner != nil {
		rest = append(rest, Own("_meta", inner))
	}
	if len(rest) == 0 && len(bytes.TrimSpace(params)) == 0 {
		return nil, nil
	}
	return rawjson.OneLine(writeObject(rest, len(params)+len(inner)+16))
}

// bare says of params that they hold no _meta, however that may be written. Some that hold none are not found to be bare.
func bare(params []byte) bool {
	return len(params) > 0 && params[0] == '{' && !bytes.Contains(params, []byte(`_meta`)) && !bytes.Contains(params, []byte(`\u`))
}

// mergeMeta is the new _meta; nil if nothing is left.
func mergeMeta(kept []Member, meta []byte, own []Member) ([]byte, error) {
	var all []Member
	add := func(raw []byte) error {
		if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
			return nil
		}
		ok := members(raw, func(m Member) {
			if m.name != "progressToken" {
				all = set(all, m)
			}
		})
		if !ok {
			return errors.New("_meta is not a JSON object")
		}
		return nil
	}
	for _, m := range kept {
		if err := add(m.value); err != nil {
			return nil, err
		}
	}
	if err := add(meta); err != nil {
		return nil, err
	}
	for _, m := range own {
		all = set(all, m)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return writeObject(all, len(meta)+64), nil
}

func set(all []Member, m Member) []Member {
	for i := range all {
		if all[i].name == m.name {
			all[i].value = m.value
			return all
		}
	}
	return append(all, m)
}

func writeObject(all []Member, size int) []byte {
	b := make([]byte, 0, size)
	b = append(b, '{')
	for i, m := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.key...)
		b = append(b, ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}

// Progress takes the params of a progress notification apart: the token, which was ours, and the rest without it.
// False if they hold no such token.
func Progress(params []byte) (token int64, rest json.RawMessage, ok bool) {
	var raw []byte
	var kept []Member
	if !members(params, func(m Member) {
		if m.name == "progressToken" {
			raw = m.value
		} else {
			kept = append(kept, m)
		}
	}) {
		return 0, nil, false
	}
	if token, ok = number(raw); !ok {
		return 0, nil, false
	}
	return token, writeObject(kept, len(params)), true
}

// Members gives the members of a JSON object in order; nil if it is none.
func Members(object []byte) []Member {
	var all []Member
	if !members(object, func(m Member) { all = append(all, m) }) {
		return nil
	}
	return all
}

// Value is the member's value as written.
func (m Member) Value() json.RawMessage { return m.value }

// With is a member of the same name with another value, which is JSON.
func (m Member) With(value []byte) Member {
	m.value = value
	return m
}

// Object writes members as one JSON object.
func Object(all []Member) json.RawMessage { return writeObject(all, 64) }

// WithMembers puts members into an object, which may be empty, in the place of those of the same name.
func WithMembers(object json.RawMessage, own []Member) (json.RawMessage, error) {
	var all []Member
	if object = bytes.TrimSpace(object); len(object) > 0 && string(object) != "null" {
		if !members(object, func(m Member) { all = append(all, m) }) {
			return nil, errNotObject
		}
	}
	size := len(object)
	for _, m := range own {
		all = set(all, m)
		size += len(m.value) + len(m.key) + 2
	}
	return writeObject(all, size+2), nil
}

// Without takes a member out of an object's member, as in `_meta`, and that too if it is empty then; false if
// there is no such member.
func Without(object json.RawMessage, outer, inner string) (json.RawMessage, bool) {
	found := false
	var all []Member
	for _, m := range Members(object) {
		if m.name == outer {
			var rest []Member
			for _, n := range Members(m.value) {
				if n.name == inner {
					found = true
				} else {
					rest = append(rest, n)
				}
			}
			if len(rest) == 0 {
				continue
			}
			m.value = writeObject(rest, len(m.value))
		}
		all = append(all, m)
	}
	if !found {
		return object, false
	}
	return writeObject(all, len(object)), true
}
