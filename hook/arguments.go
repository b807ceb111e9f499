package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Set sets arguments, whatever the agent said. {principal}, {role}, {view}, {server}, {tool}, {client} and
// {claims.NAME} in its texts stand for what is known of the call; a call of which that is not known is refused.
// args is an object.
func Set(args json.RawMessage) (dispatch.Hook, error) { return newSetter(args, true) }

// Default is Set for arguments that the agent left out; those of which nothing is known stay out.
func Default(args json.RawMessage) (dispatch.Hook, error) { return newSetter(args, false) }

type setter struct {
	args   arguments.Object
	always bool
}

func newSetter(args json.RawMessage, always bool) (dispatch.Hook, error) {
	obj, err := arguments.ParseObject(args)
	if err != nil {
		return nil, fmt.Errorf("args: %w", err)
	}
	return &setter{obj, always}, nil
}

// Run puts the arguments in.
func (s *setter) Run(_ context.Context, c dispatch.HookCall) (dispatch.Verdict, error) {
	given, err := arguments.ParseObject(c.Arguments)
	if err != nil {
		return dispatch.Verdict{}, err
	}
	changed := false
	for _, m := range s.args {
		if _, there := given.Get(m.Key); there && !s.always {
			continue
		}
		v, known := fill(m.Value, c)
		switch {
		case known:
			given, changed = given.Set(m.Key, v), true
		case s.always:
			return dispatch.Verdict{Abort: fmt.Sprintf("%s is called for known agents only", c.Shown), Code: dispatch.AuthRequired}, nil
		}
	}
	if !changed {
		return dispatch.Verdict{}, nil
	}
	return dispatch.Verdict{Arguments: given.Raw()}, nil
}

// fill replaces the placeholders in all texts of a value; known is false where one stands for nothing.
func fill(v json.RawMessage, c dispatch.HookCall) (out json.RawMessage, known bool) {
	v = bytes.TrimSpace(v)
	if len(v) == 0 || !bytes.Contains(v, []byte{'{'}) {
		return v, true
	}
	known = true
	switch v[0] {
	case '"':
		text, ok := filled(rawjson.Unquote(v), c)
		return rawjson.Quote(text), ok
	case '{':
		var obj arguments.Object
		for key, m := range rawjson.Members(v) {
			f, ok := fill(m, c)
			known = known && ok
			obj = append(obj, arguments.Member{Key: key, Value: f})
		}
		return obj.Raw(), known
	case '[':
		list := []byte{'['}
		for item := range rawjson.Elements(v) {
			f, ok := fill(item, c)
			known = known && ok
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, f...)
		}
		return append(list, ']'), known
	}
	return v, true
}
