package arguments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	maxBindDepth  = 256       // levels of arguments in which references are looked for
	maxReferences = 200       // in one call
	maxBound      = 256 << 20 // bytes of the data put in, together
)

// ErrTooLarge is returned when a call refers to more than it can carry.
var ErrTooLarge = errors.New("too large")

// Lookup returns the JSON value a reference stands for, its path and jq applied. It may return
// ErrNoReference; other errors end the Bind.
type Lookup func(ctx context.Context, r Reference) (json.RawMessage, error)

// Bind replaces the references in args by their values and unwraps each `{"$literal": X}` whose X
// would count as one. What is put in is data: it is not searched again. Where the schema wants a
// string and the value is none it becomes compact JSON text, a list of strings one a line; `as`
// json and text ask for a form themselves, the other forms are the Lookup's matter. s may be nil.
// args may itself be a reference; it must stand for an object, or text that holds one.
//
// Bind returns the arguments (the same bytes if nothing was replaced) and the names referred to,
// each once. Its errors wrap those of get, ErrBadReference, ErrTooLarge or ErrNotObject.
func Bind(ctx context.Context, args json.RawMessage, s *Schema, get Lookup) (json.RawMessage, []string, error) {
	if !rawjson.Valid(args) {
		return nil, nil, ErrNotObject
	}
	i := rawjson.Space(args, 0)
	if args[i] != '{' {
		return nil, nil, ErrNotObject
	}
	if !mayRefer(args) {
		return args, nil, nil
	}
	at := anything
	if s != nil {
		at = s.place
	}
	b := &binder{raw: args, get: get}
	if err := b.value(ctx, i, at, "", 0); err != nil {
		return nil, nil, err
	}
	bound := json.RawMessage(splice(args, b.edits))
	if i = rawjson.Space(bound, 0); bound[i] == '"' {
		if inner, ok := insideString(bound[i:rawjson.Skip(bound, i)]); ok {
			bound, i = inner, 0
		}
	}
	if bound[i] != '{' {
		return nil, nil, fmt.Errorf("arguments are %s: %w", kindOf(bound[i:]), ErrNotObject)
	}
	return bound, b.from, nil
}

type binder struct {
	raw   []byte
	get   Lookup
	edits []edit
	from  []string
	count int
	size  int
}

// value binds what stands at position i of the arguments.
func (b *binder) value(ctx context.Context, i int, at place, path string, depth int) error {
	if depth > maxBindDepth {
		return fmt.Errorf("arguments nested deeper than %d levels: %w", maxBindDepth, ErrTooLarge)
	}
	switch b.raw[i] {
	case '{':
		ms := members(b.raw, i)
		if ref, ok := readReference(b.raw, ms); ok {
			return b.reference(ctx, i, ms, ref, at, path)
		}
		if lit, ok := readLiteral(b.raw, ms); ok {
			b.edits = append(b.edits, edit{i, rawjson.Skip(b.raw, i), lit.Of(b.raw)})
			return nil
		}
		for _, m := range ms {
			if err := b.value(ctx, m.From, at.member(m.key), join(path, m.key), depth+1); err != nil {
				return err
			}
		}
	case '[':
		for n, e := range elements(b.raw, i) {
			if err := b.value(ctx, e.From, at.item(n), index(path, n), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// reference puts in what the reference at position i stands for.
func (b *binder) reference(ctx context.Context, i int, ms []member, ref Reference, at place, path string) error {
	if path == "" {
		path = "arguments"
	}
	if err := checkReference(b.raw, ms, ref); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if b.count++; b.count > maxReferences {
		return fmt.Errorf("%s: more than %d references: %w", path, maxReferences, ErrTooLarge)
	}
	end := rawjson.Skip(b.raw, i)
	ref.Raw = b.raw[i:end]
	v, err := b.get(ctx, ref)
	if errors.Is(err, ErrNoReference) {
		return nil
	}
	if err == nil && !rawjson.Valid(v) {
		err = errors.New("value is no JSON")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if bytes.IndexByte(v, '\n') >= 0 { // stored data has a record a line
		v = rawjson.Compact(v)
	}
	v = inForm(bytes.TrimSpace(v), ref.As, at.kinds())
	if b.size += len(v); b.size > maxBound {
		return fmt.Errorf("%s: more than %d bytes: %w", path, maxBound, ErrTooLarge)
	}
	b.edits = append(b.edits, edit{i, end, v})
	for _, name := range ref.From {
		if !slices.Contains(b.from, name) {
			b.from = append(b.from, name)
		}
	}
	return nil
}

// inForm gives a value the form that `as` or the kinds wanted at its place ask for.
func inForm(v []byte, as string, want kinds) []byte {
	k := kindOf(v)
	onlyText := want&text != 0 && want&k == 0
	switch {
	case as == "json" && k == text && want&^(text|null) != 0:
		if inner, ok := insideString(v); ok {
			return inner
		}
	case as == "json" && onlyText:
		return rawjson.Quote(string(rawjson.Compact(v)))
	case k != text && (as == "text" || onlyText):
		return rawjson.Quote(asText(v))
	}
	return v
}

// asText is a list of strings one a line, anything else compact JSON.
func asText(v []byte) string {
	if v[0] == '[' {
		all := elements(v, 0)
		if len(all) == 0 {
			return "[]"
		}
		lines := make([]string, 0, len(all))
		for _, e := range all {
			if v[e.From] != '"' {
				return string(rawjson.Compact(v))
			}
			lines = append(lines, rawjson.Unquote(e.Of(v)))
		}
		return strings.Join(lines, "\n")
	}
	return string(rawjson.Compact(v))
}
