package transparent

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// Call passes a tool call to the server whose tool it is.
func (f *Face) Call(ctx context.Context, c serve.Call) (dispatch.Pieces, error) {
	ref, err := f.named(ctx, c.Agent, catalog.Tool, c.Name)
	if err != nil {
		return failedCall(err)
	}
	raw, err := f.o.Dispatcher.Pass(ctx, c.Agent, dispatch.PassRequest{Method: "tools/call", Ref: ref,
		Params: reworded(c.Params, "name", rawjson.Quote(ref.Name)), Meta: onward(c.Meta), Spill: f.o.Spill, Contact: f.contact(c.Agent, ref.Server, c.Contact)})
	if err != nil {
		return failedCall(err)
	}
	return f.made(c.Agent, f.rewriter(c.Agent, ref.Server, raw)).rewrite(toolResult), nil
}

// handlers answer the methods that are not the protocol's own affair.
var handlers = map[string]func(*Face, context.Context, serve.Request) (dispatch.Pieces, error){
	"tools/list":               (*Face).lists,
	"prompts/list":             (*Face).lists,
	"resources/list":           (*Face).lists,
	"resources/templates/list": (*Face).lists,
	"prompts/get":              (*Face).getPrompt,
	"resources/read":           (*Face).readResource,
	"resources/subscribe":      (*Face).subscribe,
	"resources/unsubscribe":    (*Face).unsubscribe,
	"completion/complete":      (*Face).complete,
	"logging/setLevel":         (*Face).setLevel,
	"tasks/list":               (*Face).listTasks,
	"tasks/get":                (*Face).ofTask,
	"tasks/result":             (*Face).ofTask,
	"tasks/cancel":             (*Face).ofTask,
	"tasks/update":             (*Face).ofTask,
}

// Handle answers every request but tools/call.
func (f *Face) Handle(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	handle := handlers[r.Method]
	if handle == nil {
		return nil, serve.ErrNoMethod
	}
	result, err := handle(f, ctx, r)
	if errors.Is(err, serve.ErrNoMethod) {
		return nil, err
	}
	if err != nil {
		return nil, faultOf(err)
	}
	return result, nil
}

// members names the lists in their results.
var members = map[string]string{"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"}

// lists answers the four lists from what is known.
func (f *Face) lists(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	f.settle(ctx, r.Agent)
	l := f.table(r.Agent).lists()[r.Method]
	f.saw(r.Agent, r.Method, l)
	return l.page(members[r.Method], r.Params)
}

func (f *Face) getPrompt(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	name, err := text(r.Params, "name")
	if err != nil {
		return nil, err
	}
	ref, err := f.named(ctx, r.Agent, catalog.Prompt, name)
	if err != nil {
		return nil, err
	}
	return f.passTo(ctx, r, ref, reworded(r.Params, "name", rawjson.Quote(ref.Name)), promptResult)
}

func (f *Face) readResource(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	shown, err := text(r.Params, "uri")
	if err != nil {
		return nil, err
	}
	if f.o.Spill && dispatch.IsKept(shown) {
		return serve.HandleKept(ctx, f.o.Dispatcher, r)
	}
	ref, err := f.resource(ctx, r, shown)
	if err != nil {
		return nil, err
	}
	own := ref.Name
	raw, err := f.o.Dispatcher.Pass(ctx, r.Agent, dispatch.PassRequest{Method: r.Method, Ref: ref,
		Params: reworded(r.Params, "uri", rawjson.Quote(own)), Meta: onward(r.Meta), Contact: f.contact(r.Agent, ref.Server, r.Contact)})
	if err != nil {
		return nil, ofToday(err, r.Meta)
	}
	w := f.rewriter(r.Agent, ref.Server, raw)
	others := w.uri
	w.uri = func(uri string) string { // what was asked for comes back under the URI it was asked by
		if uri == own {
			return shown
		}
		return others(uri)
	}
	return w.rewrite(resourceResult), nil
}

func (f *Face) complete(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	about := rawjson.Member(r.Params, "ref")
	var ref catalog.Ref
	key := "name"
	switch kind := rawjson.Unquote(rawjson.Member(about, "type")); kind {
	case "ref/prompt":
		name, err := text(about, "name")
		if err != nil {
			return nil, err
		}
		if ref, err = f.named(ctx, r.Agent, catalog.Prompt, name); err != nil {
			return nil, err
		}
	case "ref/resource":
		key = "uri"
		uri, err := text(about, "uri")
		if err != nil {
			return nil, err
		}
		if ref, err = f.template(ctx, r, uri); err != nil {
			return nil, err
		}
	default:
		return nil, wrongParams("params.ref.type must be ref/prompt or ref/resource")
	}
	inner := reworded(about, key, rawjson.Quote(ref.Name))
	return f.passTo(ctx, r, ref, reworded(r.Params, "ref", inner), nil)
}

// passTo passes a request on in the server's words, and puts our URIs and task ids into the result, where its shape
// (nil: nowhere) has such.
func (f *Face) passTo(ctx context.Context, r serve.Request, ref catalog.Ref, params json.RawMessage, s shape) (dispatch.Pieces, error) {
	raw, err := f.o.Dispatcher.Pass(ctx, r.Agent, dispatch.PassRequest{Method: r.Method, Ref: ref, Params: params, Meta: onward(r.Meta),
		Contact: f.contact(r.Agent, ref.Server, r.Contact)})
	if err != nil || s == nil {
		return dispatch.Pieces{raw}, err
	}
	return f.rewriter(r.Agent, ref.Server, raw).rewrite(s), nil
}

func (f *Face) rewriter(a dispatch.Agent, server string, raw json.RawMessage) *rewriter {
	return &rewriter{raw: raw,
		uri: func(own string) string {
			if f.o.Spill && dispatch.IsKept(own) { // the report of a kept result
				return own
			}
			return f.table(a).uri(server, own)
		},
		task: func(own string) string { return taskID(server, own) }}
}
