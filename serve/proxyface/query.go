package proxyface

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// pythonTypes name what the JSON of an answer is, for clients that restore typed values.
var pythonTypes = map[catalog.Kind]string{
	catalog.Tool:     "Tool",
	catalog.Resource: "Resource | ResourceTemplate",
	catalog.Prompt:   "Prompt",
}

const promptResult = "GetPromptResult"

// list answers with one page of what an agent sees of a kind.
func (f *Face) list(ctx context.Context, u use, o operation) dispatch.Pieces {
	ctx, done := f.o.Dispatcher.Begin(ctx, dispatch.CallInfo{Agent: u.Agent, Action: actionList, Arguments: u.Arguments, Meta: u.Meta})
	n := f.namesOf(f.o.Dispatcher.Offers(ctx, u.Agent))
	var page []json.RawMessage
	total := 0
	for _, offer := range n.offers[o.kind] {
		if !o.filter.passes(offer) {
			continue
		}
		if total++; total > o.offset && len(page) < o.limit {
			page = append(page, f.show(offer))
		}
	}
	answer := f.query(o, "", rawjson.Array(page), arguments.Object{value("many", true), value("totalCount", total), value("offset", o.offset), value("limit", o.limit)})
	if line := f.o.Dispatcher.NotAsked(u.Agent); line != "" { // beside the one resource, so that it stays the only one
		about := arguments.Object{text("notAsked", line)}
		answer = rawjson.Set(answer, "_meta", arguments.Object{{Key: "proxy-dispatch", Value: about.Raw()}}.Raw())
	}
	done(dispatch.Outcome{Bytes: int64(len(answer))})
	return dispatch.Pieces{answer}
}

// info answers with all that is known of one offer.
func (f *Face) info(ctx context.Context, u use, o operation) dispatch.Pieces {
	ctx, done := f.o.Dispatcher.Begin(ctx, dispatch.CallInfo{Agent: u.Agent, Action: o.record(), Tool: o.path, Arguments: u.Arguments, Meta: u.Meta})
	found, err := f.find(ctx, u.Agent, o.kind, o.path)
	if err != nil {
		done(dispatch.Outcome{Code: codeOf(err)})
		return failure(err)
	}
	answer := f.query(o, o.path, f.show(found), arguments.Object{value("many", false)})
	outcome := dispatch.Outcome{Bytes: int64(len(answer))}
	if found.entry != nil {
		outcome.Connection, outcome.Tool = found.entry.Server, found.entry.Name
	}
	done(outcome)
	return dispatch.Pieces{answer}
}

// find returns the offer that a path means, looking for it at servers that nobody has heard of yet.
func (f *Face) find(ctx context.Context, a dispatch.Agent, kind catalog.Kind, path string) (*offer, error) {
	p, err := f.namesOf(f.o.Dispatcher.Seen(a)).locate(kind, path)
	if err != nil || p.offer != nil {
		return p.offer, err
	}
	name := p.name
	if p.connection != "" {
		name = p.connection + "/" + p.name
	}
	entry, err := f.o.Dispatcher.Find(ctx, a, kind, name)
	n := f.namesOf(f.o.Dispatcher.Seen(a))
	if again, err := n.locate(kind, path); err == nil && again.offer != nil { // it was not known before
		return again.offer, nil
	}
	if err != nil {
		return nil, f.inOurWords(a, kind, path, err)
	}
	for _, o := range n.offers[kind] {
		if o.entry == entry {
			return o, nil
		}
	}
	return nil, f.inOurWords(a, kind, path, &dispatch.Error{Code: dispatch.UnknownTool})
}

// query is the answer to list and info: one embedded resource that says itself what it is.
func (f *Face) query(o operation, path string, body json.RawMessage, more arguments.Object) json.RawMessage {
	uri := "proxy:" + o.action + "/" + string(o.kind)
	notes := arguments.Object{text("proxyAction", o.action), text("proxyType", string(o.kind))}
	if path != "" {
		uri += "/" + inURI(path)
		notes = append(notes, text("proxyPath", path))
	}
	notes = append(append(notes, text("pythonType", pythonTypes[o.kind])), more...)
	return result(embedded(uri, body, notes))
}

// embedded is an embedded resource block that holds JSON as text.
func embedded(uri string, body json.RawMessage, notes arguments.Object) json.RawMessage {
	resource := arguments.Object{text("uri", uri), text("mimeType", jsonType), text("text", string(body))}
	block := arguments.Object{text("type", "resource"), {Key: "resource", Value: resource.Raw()}}
	if notes != nil {
		block = append(block, arguments.Member{Key: "annotations", Value: notes.Raw()})
	}
	return block.Raw()
}

func result(blocks ...json.RawMessage) json.RawMessage {
	return arguments.Object{{Key: "content", Value: rawjson.Array(blocks)}}.Raw()
}

// show is the JSON of an offer: the server's own under the name it has here. What a person would not see of it stands
// escaped.
func (f *Face) show(o *offer) json.RawMessage {
	if o.entry == nil {
		return f.definition
	}
	raw := catalog.Visible(rawjson.Compact(o.entry.Raw))
	if o.entry.Kind != catalog.Resource {
		return rawjson.Set(raw, "name", rawjson.Quote(o.name))
	}
	raw = rawjson.Set(raw, "name", rawjson.Quote(o.full))
	if o.name != o.entry.Name {
		key := "uri"
		if o.entry.Template {
			key = "uriTemplate"
		}
		raw = rawjson.Set(raw, key, rawjson.Quote(o.name))
	}
	return raw
}

// inURI escapes what can't stand in a URI and leaves what can, so that a plain name stays as it is.
func inURI(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
