package viewface

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// directFace shows each tool of a view under its plain name.
type directFace struct {
	base

	mu   sync.Mutex
	last *table // of the view that was asked for last
}

// table is what agents call the tools of one state of a view.
type table struct {
	of     *view.View
	names  map[string]*catalog.Entry
	listed []json.RawMessage
}

// Tools are the servers' entries as the view has them.
func (f *directFace) Tools(a dispatch.Agent) []json.RawMessage {
	t := f.table(a)
	if f.o.Definition.Spill {
		return append(t.listed[:len(t.listed):len(t.listed)], readDefinition)
	}
	return t.listed
}

// Call calls a tool by its plain name. A name that is not known is looked for at servers nobody has heard of.
func (f *directFace) Call(ctx context.Context, c serve.Call) (dispatch.Pieces, error) {
	if f.o.Definition.Spill && c.Name == readTool {
		return f.read(ctx, c), nil
	}
	e := f.find(c.Agent, c.Name)
	if e == nil {
		f.o.Dispatcher.Offers(ctx, c.Agent)
		if e = f.find(c.Agent, c.Name); e == nil {
			return nil, fmt.Errorf("unknown tool %q", c.Name)
		}
	}
	return f.call(ctx, c, e.Name, e.Server, c.Arguments)
}

// find returns the tool of a name as it is listed, or of another name that the view gives it; nil if there is none.
func (f *directFace) find(a dispatch.Agent, name string) *catalog.Entry {
	t := f.table(a)
	if e := t.names[name]; e != nil {
		return e
	}
	e, err := t.of.Alias(name)
	if err != nil {
		return nil
	}
	return e
}

// table returns the names for what an agent sees now.
func (f *directFace) table(a dispatch.Agent) *table {
	v := f.o.Dispatcher.Seen(a)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil || f.last.of != v {
		f.last = f.newTable(v)
	}
	return f.last
}

// newTable gives each tool its plain name; the later one of two gets its server's before it.
func (f *directFace) newTable(v *view.View) *table {
	t := &table{of: v, names: map[string]*catalog.Entry{}, listed: []json.RawMessage{}}
	for _, e := range v.Entries("", catalog.Tool) {
		name, raw := e.Name, e.Raw
		if t.names[name] != nil || f.o.Definition.Spill && name == readTool {
			name = safeName(e.Server + "__" + e.Name)
			f.o.Log.Warn("two tools of a view have one name", "view", f.o.View, "name", e.Name, "tool", e.Ref.String(), "shown as", name)
			if t.names[name] != nil {
				continue
			}
			raw = renamed(raw, name)
		}
		t.names[name] = e
		t.listed = append(t.listed, raw)
	}
	return t
}

// renamed is a tools/list entry with another name; every other byte stays.
func renamed(raw json.RawMessage, name string) json.RawMessage {
	for key, v := range rawjson.Spans(raw, rawjson.Space(raw, 0)) {
		if rawjson.Unquote(key.Of(raw)) != "name" {
			continue
		}
		out := append(json.RawMessage(nil), raw[:v.From]...)
		out = append(out, rawjson.Quote(name)...)
		return append(out, raw[v.To:]...)
	}
	return raw
}
