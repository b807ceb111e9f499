package downstream

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

var errNotObject = errors.New("params are not a JSON object")

// pair is one member of a JSON object: its name, the name as written with quotes, and the value as written.
type pair struct {
	name       string
	key, value []byte
}

// pairs shows the members of one JSON object; false if it is none.
func pairs(object []byte, show func(p pair)) bool {
	return rawjson.Object(object, func(key, value []byte) { show(pair{rawjson.Unquote(key), key, value}) })
}

// ownPair is a member that we make.
func ownPair(name string, value []byte) pair {
	return pair{name: name, key: rawjson.Quote(name), value: value}
}

// withMeta puts meta's members and then our own into params._meta and leaves everything else as written.
// Later members replace earlier ones of the same name; a progressToken counts only among our own.
// The outcome holds no line break.
func withMeta(params, meta json.RawMessage, own []pair) ([]byte, error) {
	var rest, kept []pair
	if len(bytes.TrimSpace(params)) > 0 && string(bytes.TrimSpace(params)) != "null" {
		ok := pairs(params, func(p pair) {
			if p.name == "_meta" {
				kept = append(kept, p)
			} else {
				rest = append(rest, p)
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
		rest = append(rest, ownPair("_meta", inner))
	}
	if len(rest) == 0 && len(bytes.TrimSpace(params)) == 0 {
		return nil, nil
	}
	return rawjson.OneLine(writeObject(rest, len(params)+len(inner)+16))
}

// mergeMeta is the new _meta; nil if nothing is left.
func mergeMeta(kept []pair, meta []byte, own []pair) ([]byte, error) {
	var all []pair
	add := func(raw []byte) error {
		if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
			return nil
		}
		ok := pairs(raw, func(p pair) {
			if p.name != "progressToken" {
				all = set(all, p)
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

func set(all []pair, m pair) []pair {
	for i := range all {
		if all[i].name == m.name {
			all[i].value = m.value
			return all
		}
	}
	return append(all, m)
}

func writeObject(members []pair, size int) []byte {
	b := make([]byte, 0, size)
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.key...)
		b = append(b, ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}

// withoutToken gives progress params without their token, and the token.
func withoutToken(params []byte) (token []byte, rest json.RawMessage) {
	var members []pair
	ok := pairs(params, func(p pair) {
		if p.name == "progressToken" {
			token = p.value
		} else {
			members = append(members, p)
		}
	})
	if !ok {
		return nil, nil
	}
	return token, writeObject(members, len(params))
}
