package proxyface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// call calls a tool, reads a resource or gets a prompt through the dispatcher's stations.
func (f *Face) call(ctx context.Context, u use, o operation) dispatch.Pieces {
	if o.kept() {
		return f.read(ctx, u, o)
	}
	p, err := f.namesOf(f.o.Dispatcher.Seen(u.Agent)).locate(o.kind, o.path)
	switch {
	case err != nil:
		return f.refused(ctx, u, o, err)
	case p.offer != nil && p.offer.entry == nil:
		return f.itself(ctx, u, o)
	}
	answer, err := f.o.Dispatcher.Call(ctx, u.Agent, f.request(u, o, p))
	if err != nil {
		return f.failed(u, o, err)
	}
	return f.annotated(o, answer.Result())
}

// request is the dispatcher's word for an operation.
func (f *Face) request(u use, o operation, p place) dispatch.CallRequest {
	r := dispatch.CallRequest{Tool: p.name, Type: o.kind, Connection: p.connection, Arguments: o.args, RequestMeta: u.Meta, Contact: u.Contact, Reader: readByCall}
	if o.kind == catalog.Prompt {
		r.Form = promptForm(o.path)
	}
	return r
}

// promptForm wraps a prompt's result into one embedded resource that holds it whole.
func promptForm(path string) dispatch.Form {
	return func(_ catalog.Kind, raw json.RawMessage) json.RawMessage {
		return result(embedded("proxy:call/prompt/"+inURI(path), rawjson.Compact(raw), nil))
	}
}

// annotated is the result of a call with every item saying whose it is.
func (f *Face) annotated(o operation, p dispatch.Pieces) dispatch.Pieces {
	raw := p.Raw()
	switch o.kind {
	case catalog.Resource:
		return annotateAll(raw, called(o.kind, o.path), objectify)
	case catalog.Prompt:
		if whole := annotateAll(raw, append(called(o.kind, o.path), text("pythonType", promptResult)), nil); isPrompt(raw) {
			return whole
		}
	}
	return annotateAll(raw, called(o.kind, o.path), nil)
}

// isPrompt reports whether a result holds a prompt's, and not the report of one that was kept.
func isPrompt(raw json.RawMessage) bool {
	for b := range rawjson.Elements(rawjson.Member(raw, "content")) {
		return strings.HasPrefix(rawjson.Unquote(rawjson.Member(rawjson.Member(b, "resource"), "uri")), "proxy:call/prompt/")
	}
	return false
}

// refused records a call that leads nowhere and says why.
func (f *Face) refused(ctx context.Context, u use, o operation, err error) dispatch.Pieces {
	_, done := f.o.Dispatcher.Begin(ctx, dispatch.CallInfo{Agent: u.Agent, Action: actionCall, Tool: o.path, Arguments: o.args, Meta: u.Meta})
	done(dispatch.Outcome{Code: codeOf(err)})
	return f.failed(u, o, err)
}

// failed is the answer to a call that gave no result.
func (f *Face) failed(u use, o operation, err error) dispatch.Pieces {
	e := asError(f.inOurWords(u.Agent, o.kind, o.path, err))
	if e.Fate == dispatch.NoCall {
		e.Fate = dispatch.NotSent
	}
	return annotateAll(e.Result(), called(o.kind, o.path), nil)
}

// inOurWords gives an error that names other tools the names that this face has for them.
func (f *Face) inOurWords(a dispatch.Agent, kind catalog.Kind, path string, err error) error {
	e := asError(err)
	switch {
	case e.Code == dispatch.AmbiguousTool && e.Err != nil, e.Code == dispatch.UnknownTool:
	default:
		return err
	}
	n := f.namesOf(f.o.Dispatcher.Seen(a))
	if e.Code == dispatch.AmbiguousTool {
		var named []string
		for _, o := range n.offers[kind] {
			if o.entry != nil && o.entry.Name == path {
				named = append(named, o.name)
			}
		}
		e.Suggestions, e.Do = named, "Name one: "+clip(strings.Join(named, ", "), 400)
		return e
	}
	e.Message = fmt.Sprintf("there is no %s %q", kind, clip(path, 200))
	e.Do, e.Suggestions = "Use action list to find one", n.near(kind, path)
	if len(e.Suggestions) > 0 {
		e.Do = "Nearest: " + strings.Join(e.Suggestions, ", ") + ". Or use action list"
	}
	if line := f.o.Dispatcher.NotAsked(a); line != "" {
		e.Do += ". " + line
	}
	return e
}

// asError returns a copy of a *dispatch.Error, or one made of another error.
func asError(err error) *dispatch.Error {
	if e, ok := errors.AsType[*dispatch.Error](err); ok {
		copied := *e
		return &copied
	}
	return &dispatch.Error{Code: dispatch.Internal, Message: err.Error(), Err: err}
}

// maxDepth bounds how deep the tool may call itself.
const maxDepth = 3

// itself uses the tool by way of the tool.
func (f *Face) itself(ctx context.Context, u use, o operation) dispatch.Pieces {
	if u.depth >= maxDepth {
		return f.refused(ctx, u, o, bad("%s calls itself more than %d deep", f.o.ToolName, maxDepth))
	}
	inner := u
	inner.Arguments, inner.depth = o.args, u.depth+1
	return f.annotated(o, f.use(ctx, inner))
}
