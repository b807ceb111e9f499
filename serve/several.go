package serve

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Several shows several faces as one, in their order. A tool or resource that two of them have is that of the earlier
// one; faces that look long for what they may not have belong at the end.
func Several(faces ...Face) Face {
	if len(faces) == 1 {
		return faces[0]
	}
	return several(faces)
}

type several []Face

// Tools returns the tools of all.
func (s several) Tools(a dispatch.Agent) []json.RawMessage {
	var all []json.RawMessage
	for _, f := range s {
		all = append(all, f.Tools(a)...)
	}
	return all
}

// Instructions are those of all, one after the other.
func (s several) Instructions(a dispatch.Agent) string {
	var all []string
	for _, f := range s {
		if text := f.Instructions(a); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n")
}

// Capabilities are what any of them can.
func (s several) Capabilities(a dispatch.Agent) json.RawMessage {
	var all json.RawMessage
	for _, f := range s {
		if c := f.Capabilities(a); c != nil {
			all = overlay(all, c)
		}
	}
	return all
}

// overlay lays the members of one object over those of another, objects in them likewise.
func overlay(below, above json.RawMessage) json.RawMessage {
	if len(below) == 0 || below[0] != '{' || len(above) == 0 || above[0] != '{' {
		return above
	}
	var keys []string
	values := map[string]json.RawMessage{}
	for _, obj := range []json.RawMessage{below, above} {
		for key, v := range rawjson.Members(obj) {
			if old, twice := values[key]; twice {
				v = overlay(old, v)
			} else {
				keys = append(keys, key)
			}
			values[key] = v
		}
	}
	out := []byte{'{'}
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, rawjson.Quote(key)...), ':'), values[key]...)
	}
	return append(out, '}')
}

// Call asks one after the other until one has the tool.
func (s several) Call(ctx context.Context, c Call) (dispatch.Pieces, error) {
	return first(s, func(f Face) (dispatch.Pieces, error) { return f.Call(ctx, c) })
}

// first is the answer of the first face that has what is asked for. Its own failure is worth more than that another one
// has no such thing.
func first(s several, ask func(Face) (dispatch.Pieces, error)) (dispatch.Pieces, error) {
	err := ErrNoMethod
	for _, f := range s {
		said, failed := ask(f)
		if failed == nil || ours(failed) {
			return said, failed
		}
		if errors.Is(err, ErrNoMethod) {
			err = failed
		}
	}
	return nil, err
}

// ours reports whether a failure is of something that the face has.
func ours(err error) bool {
	const notFound, badParams = -32002, -32602
	bad, ok := errors.AsType[*Fault](err)
	return ok && bad.Code != notFound && bad.Code != badParams
}

// listed names the members of the lists.
var listed = map[string]string{
	"tools/list": "tools", "resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts",
}

// Handle joins lists; other requests go to the first that takes them.
func (s several) Handle(ctx context.Context, r Request) (dispatch.Pieces, error) {
	key, isList := listed[r.Method]
	cursor := rawjson.Unquote(rawjson.Member(r.Params, "cursor"))
	if !isList || cursor != "" { // only one of them has more than one page
		return first(s, func(f Face) (dispatch.Pieces, error) { return f.Handle(ctx, r) })
	}
	var all []json.RawMessage
	var rest []byte
	handled := false
	for _, f := range s {
		said, err := f.Handle(ctx, r)
		switch {
		case errors.Is(err, ErrNoMethod) && r.Method == "tools/list":
			all = append(all, f.Tools(r.Agent)...)
			continue
		case errors.Is(err, ErrNoMethod):
			continue
		case err != nil:
			return nil, err
		}
		handled = true
		for name, v := range rawjson.Members(said.Raw()) {
			if name == key {
				all = slices.AppendSeq(all, rawjson.Elements(v))
			} else {
				rest = append(append(append(append(rest, ','), rawjson.Quote(name)...), ':'), v...)
			}
		}
	}
	if !handled {
		return nil, ErrNoMethod
	}
	out := append(append([]byte{'{'}, rawjson.Quote(key)...), ":["...)
	for i, entry := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, entry...)
	}
	return dispatch.Pieces{append(out, ']'), rest, []byte{'}'}}, nil
}

// Notified tells all.
func (s several) Notified(a dispatch.Agent, method string, params json.RawMessage) {
	for _, f := range s {
		f.Notified(a, method, params)
	}
}

// Attach tells all.
func (s several) Attach(p Peer) (detach func()) {
	var ends []func()
	for _, f := range s {
		ends = append(ends, f.Attach(p))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}
