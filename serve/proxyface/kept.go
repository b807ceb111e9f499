package proxyface

import (
	"context"
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// Results that were kept outside the conversation are resources: spill://ID?op=…, read by a call like any other, or by the
// protocol's own resources/read.

// kept reports whether an operation reads a kept result.
func (o operation) kept() bool {
	return o.kind == catalog.Resource && o.action == actionCall && dispatch.IsKept(o.path)
}

// readByCall is the next call that the report of a kept result suggests.
func readByCall(uri string) string {
	return string(arguments.Object{text("action", actionCall), text("type", string(catalog.Resource)), text("path", uri)}.Raw())
}

// read reads a part of a kept result; its text stays in lines, JSON or not.
func (f *Face) read(ctx context.Context, u use, o operation) dispatch.Pieces {
	raw, err := f.o.Dispatcher.ReadResource(ctx, u.Agent, o.path)
	if err != nil {
		return annotateAll(asError(err).Result(), called(o.kind, o.path), nil)
	}
	var blocks []json.RawMessage
	for c := range rawjson.Elements(rawjson.Member(raw, "contents")) {
		blocks = append(blocks, arguments.Object{text("type", "resource"), {Key: "resource", Value: c}}.Raw())
	}
	return annotateAll(result(blocks...), called(o.kind, o.path), nil)
}

// Capabilities are those of reading kept results.
func (f *Face) Capabilities(dispatch.Agent) json.RawMessage { return serve.OneToolCapabilities }

// Handle reads kept results.
func (f *Face) Handle(ctx context.Context, r serve.Request) (dispatch.Pieces, error) {
	return serve.HandleKept(ctx, f.o.Dispatcher, r)
}
