package transparent

import (
	"context"
	"errors"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// named finds the tool or prompt that an agent names: as it is shown, or in any form that is clear.
func (f *Face) named(ctx context.Context, a dispatch.Agent, kind catalog.Kind, shown string) (catalog.Ref, error) {
	t := f.table(a)
	if e := t.named(kind).entry(shown); e != nil {
		return e.Ref, nil
	}
	e, err := f.o.Dispatcher.Find(ctx, a, kind, shown)
	if err == nil {
		return e.Ref, nil
	}
	if now := f.table(a); now != t { // it has been waited: names that were cut or gave way are only in the table
		if e := now.named(kind).entry(shown); e != nil {
			return e.Ref, nil
		}
	}
	return catalog.Ref{}, unknown(kind, shown, err)
}

func (t *table) named(kind catalog.Kind) *list {
	if kind == catalog.Prompt {
		return t.prompts
	}
	return t.tools
}

// unknown says in the protocol's usual words that a name leads nowhere.
func unknown(kind catalog.Kind, shown string, err error) error {
	if e, ok := errors.AsType[*dispatch.Error](err); ok && e.Code == dispatch.UnknownTool {
		return wrongParams("Unknown %s: %s", kind, shown)
	}
	return err
}

// resource finds the server and the own URI of a resource: one that is shown, one that names its server, one that
// only one server lists or describes by a template, or any other if only one server has resources at all.
func (f *Face) resource(ctx context.Context, r serve.Request, shown string) (catalog.Ref, error) {
	ref := func(server, uri string) catalog.Ref {
		return catalog.Ref{Server: server, Kind: catalog.Resource, Name: uri}
	}
	if server, uri, ok := f.table(r.Agent).own(shown); ok {
		return ref(server, uri), nil
	}
	e, err := f.o.Dispatcher.Find(ctx, r.Agent, catalog.Resource, shown)
	if err == nil && e.Template {
		return ref(e.Server, shown), nil
	}
	if err == nil {
		return e.Ref, nil
	}
	if clash, ok := errors.AsType[*view.AmbiguousError](err); ok {
		return catalog.Ref{}, wrongParams("%s is a resource of several servers (%v): read it under the URI it is listed with", shown, clash)
	}
	t := f.table(r.Agent)
	if server, uri, ok := t.own(shown); ok {
		return ref(server, uri), nil
	}
	if only := t.onlyReader(); only != "" {
		return ref(only, shown), nil
	}
	if e, ok := errors.AsType[*dispatch.Error](err); ok && e.Code != dispatch.UnknownTool {
		return catalog.Ref{}, err
	}
	return catalog.Ref{}, noSuchResource(shown, r.Meta)
}

// template finds what a completion is about: a template, or else a resource.
func (f *Face) template(ctx context.Context, r serve.Request, shown string) (catalog.Ref, error) {
	if e := f.table(r.Agent).templates.entry(shown); e != nil {
		return e.Ref, nil
	}
	return f.resource(ctx, r, shown)
}
