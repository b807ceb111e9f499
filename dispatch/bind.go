package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// siblings finds the result of another call of the same batch by its id; ok is false for other names.
type siblings func(ctx context.Context, id string) (item spill.Item, ok bool, err error)

type siblingsKey struct{}

// bind makes a call's raw arguments: the object of argumentsFile, overridden by arguments, with keys
// from the top level moved in, and every {"$from"} replaced by what it stands for.
func (in *intake) bind(ctx context.Context, e *catalog.Entry, s *arguments.Schema, r CallRequest) (json.RawMessage, []string, error) {
	notes := r.notes
	args := bytes.TrimSpace(r.Arguments)
	if len(args) == 0 || string(args) == "null" {
		args = []byte("{}")
	}
	if args[0] == '"' {
		var inner string
		if err := json.Unmarshal(args, &inner); err != nil || !looksLikeJSON(inner) || !json.Valid([]byte(inner)) {
			return nil, nil, &Error{Code: InvalidArguments, Message: "arguments is a string that holds no JSON object", Do: "Send arguments as an object"}
		}
		args = []byte(strings.TrimSpace(inner))
		notes = append(notes, "arguments: string → object")
	}
	if r.Literal {
		return objectOnly(args, notes)
	}
	if r.ArgumentsFile != "" {
		base, err := in.lookup(ctx, []string{r.ArgumentsFile}, spill.Want{})
		if err != nil {
			return nil, nil, err
		}
		if args, err = override(base, args); err != nil {
			return nil, nil, err
		}
	}
	args, notes, err := moveIn(e, s, args, r.extra, notes)
	if err != nil {
		return nil, nil, err
	}
	if bytes.Contains(args, []byte("$from")) { // a reference that was written as a JSON string is unpacked first
		fixed, repairs := s.Repair(args)
		args, notes = fixed, append(notes, repairs...)
	}
	bound, _, err := arguments.Bind(ctx, args, s, in.reference)
	if err != nil {
		return nil, nil, bindError(err)
	}
	return objectOnly(bytes.TrimSpace(bound), notes)
}

func objectOnly(args json.RawMessage, notes []string) (json.RawMessage, []string, error) {
	if len(args) == 0 || args[0] != '{' {
		return nil, nil, &Error{Code: InvalidArguments, Message: "arguments is not a JSON object", Do: "Send arguments as an object"}
	}
	return args, notes, nil
}

// override lays the members of args over the object base.
func override(base, args json.RawMessage) (json.RawMessage, error) {
	obj, err := arguments.ParseObject(base)
	if err != nil {
		return nil, &Error{Code: InvalidArguments, Message: "argumentsFile does not hold one JSON object", Err: err,
			Do: `Use {"$from": HANDLE, "path": P} for one argument instead`}
	}
	over, err := arguments.ParseObject(args)
	if err != nil {
		return nil, &Error{Code: InvalidArguments, Message: "arguments: " + err.Error(), Err: err}
	}
	for _, m := range over {
		obj = obj.Set(m.Key, m.Value)
	}
	return obj.Raw(), nil
}

// moveIn moves top-level keys that the tool has into its arguments; others are refused.
func moveIn(e *catalog.Entry, s *arguments.Schema, args json.RawMessage, extra arguments.Object, notes []string) (json.RawMessage, []string, error) {
	if len(extra) == 0 {
		return args, notes, nil
	}
	obj, err := arguments.ParseObject(args)
	if err != nil {
		return nil, nil, &Error{Code: InvalidArguments, Message: "arguments: " + err.Error(), Err: err}
	}
	for _, m := range extra {
		_, taken := obj.Get(m.Key)
		if s == nil || !s.Has(m.Key) || taken {
			known := callParams
			if s != nil {
				known = append(append([]string(nil), callParams...), s.Properties()...)
			}
			return nil, nil, &Error{Code: BadRequest, Message: fmt.Sprintf("neither call nor %s has a parameter %q", e.Ref, m.Key),
				Suggestions: arguments.Nearest(m.Key, known, 3), Do: "Signature: " + usage(e)}
		}
		obj = obj.Set(m.Key, m.Value)
		notes = append(notes, fmt.Sprintf("%s → arguments.%s", m.Key, m.Key))
	}
	return obj.Raw(), notes, nil
}

// reference returns the value a {"$from"} stands for. The forms json and text depend on what the schema wants and are
// left to the binding.
func (in *intake) reference(ctx context.Context, ref arguments.Reference) (json.RawMessage, error) {
	w := spill.Want{Path: ref.Path, JQ: ref.JQ, As: ref.As}
	switch ref.As {
	case "json", "text":
		w.As = ""
	case "path":
		if shares := in.d.o.SharesFiles; shares == nil || !shares(in.to.Server) {
			return nil, &Error{Code: InvalidArguments, Message: in.to.Server + " can't open files of this machine", Do: "Use as base64, or no form at all"}
		}
	}
	v, err := in.lookup(ctx, ref.From, w)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == NotFound && w == (spill.Want{}) && ref.As == "" && plainWord(ctx, ref.From) {
		return nil, arguments.ErrNoReference
	}
	return v, err
}

// plainWord reports whether a single name outside of a batch has no likeness to a handle, so that the object which holds
// it is a tool's own.
func plainWord(ctx context.Context, names []string) bool {
	return ctx.Value(siblingsKey{}) == nil && len(names) == 1 && !spill.LikeHandle(names[0])
}

// lookup returns what is wanted of the data of handles, allowed files or other calls of the same batch.
func (in *intake) lookup(ctx context.Context, names []string, w spill.Want) (json.RawMessage, error) {
	if el, ok := elementOf(ctx, names); ok {
		if err := in.admit(el.from); err != nil {
			return nil, err
		}
		return in.d.extract(ctx, el.data, w)
	}
	items, err := in.d.items(ctx, in.agent, names)
	if err != nil {
		return nil, err
	}
	if err := in.admit(spill.SourcesOf(items)); err != nil {
		return nil, err
	}
	v, err := in.d.o.Shelf.Extract(ctx, items, w)
	if err != nil {
		return nil, shelfError(strings.Join(names, ", "), err)
	}
	return v, nil
}

// items finds what names stand for.
func (d *Dispatcher) items(ctx context.Context, a Agent, names []string) ([]spill.Item, error) {
	find, _ := ctx.Value(siblingsKey{}).(siblings)
	var items []spill.Item
	for _, name := range names {
		if find != nil {
			item, ok, err := find(ctx, name)
			if err != nil {
				return nil, err
			}
			if ok {
				items = append(items, item)
				continue
			}
		}
		art, part, err := d.o.Shelf.Find(ctx, owner(a), name)
		if err != nil {
			return nil, shelfError(name, err)
		}
		items = append(items, spill.Item{Artifact: art, Part: part})
	}
	return items, nil
}

func owner(a Agent) spill.Owner {
	return spill.Owner{Principal: a.Principal, Session: a.Session, View: a.View}
}

// bindError keeps errors that already have a code; the rest is the agent's reference.
func bindError(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: InvalidArguments, Message: err.Error(), Err: err}
}
