// Package arguments reads, repairs, binds and checks the JSON arguments of a call without ever
// re-encoding what it does not change.
package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// ErrNotObject is returned for input that is not one complete JSON object.
var ErrNotObject = errors.New("not a JSON object")

// DuplicateError says that an object holds a key twice, perhaps in another case. Which of the two
// counts would depend on the reader, so such an object is refused.
type DuplicateError struct {
	First, Second string // the two keys as written; equal for an exact duplicate
}

// Error names the keys.
func (e *DuplicateError) Error() string {
	if e.First == e.Second {
		return fmt.Sprintf("key %q stands twice", e.First)
	}
	return fmt.Sprintf("keys %q and %q differ only in case", e.First, e.Second)
}

// Member is one key of an Object with its value as written.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Object is a JSON object as written: the order of its keys and the spelling of its values are kept.
// The nil Object is the empty one.
type Object []Member

// ParseObject reads one JSON object. Values are subslices of raw. The error is ErrNotObject or a
// *DuplicateError; only the object's own keys are looked at, not those of nested objects.
func ParseObject(raw json.RawMessage) (Object, error) {
	var o Object
	var twice *DuplicateError
	seen := make(map[string]string)
	ok := rawjson.Object(raw, func(written, value []byte) {
		key := rawjson.Unquote(written)
		folded := fold(key)
		if first, ok := seen[folded]; ok && twice == nil {
			twice = &DuplicateError{First: first, Second: key}
		}
		seen[folded] = key
		o = append(o, Member{Key: key, Value: value})
	})
	switch {
	case !ok:
		return nil, ErrNotObject
	case twice != nil:
		return nil, twice
	}
	return o, nil
}

// Get returns the value of key as written.
func (o Object) Get(key string) (json.RawMessage, bool) {
	for _, m := range o {
		if m.Key == key {
			return m.Value, true
		}
	}
	return nil, false
}

// Set returns a copy of o in which key has the value v: in its old place, or else at the end.
func (o Object) Set(key string, v json.RawMessage) Object {
	out := slices.Clone(o)
	for i := range out {
		if out[i].Key == key {
			out[i].Value = v
			return out
		}
	}
	return append(out, Member{Key: key, Value: v})
}

// Delete returns a copy of o without key.
func (o Object) Delete(key string) Object {
	return slices.DeleteFunc(slices.Clone(o), func(m Member) bool { return m.Key == key })
}

// Keys returns the keys in order.
func (o Object) Keys() []string {
	keys := make([]string, len(o))
	for i, m := range o {
		keys[i] = m.Key
	}
	return keys
}

// Raw prints the object. Values are copied as they are; a nil value becomes null.
func (o Object) Raw() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(rawjson.Quote(m.Key))
		b.WriteByte(':')
		if len(m.Value) == 0 {
			b.WriteString("null")
			continue
		}
		b.Write(m.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// fold maps the spellings of a key that differ only in case to one string.
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, key)
}
