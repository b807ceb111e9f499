package proxyface

import (
	"encoding/json"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Annotations are spliced into what servers sent: the bytes around them stay as they are, whatever kind of block it is.

// called are the annotations of every item that a call gives.
func called(kind catalog.Kind, path string) arguments.Object {
	return arguments.Object{text("proxyType", string(kind)), text("proxyAction", actionCall), text("proxyPath", path)}
}

func text(key, value string) arguments.Member {
	return arguments.Member{Key: key, Value: rawjson.Quote(value)}
}

func value(key string, v any) arguments.Member {
	return arguments.Member{Key: key, Value: json.RawMessage(fmt.Sprint(v))}
}

// annotateAll puts annotations on each content block of a raw result and leaves all else. change, if not nil, may give a
// block another form first.
func annotateAll(raw json.RawMessage, with arguments.Object, change func(json.RawMessage) json.RawMessage) dispatch.Pieces {
	var out dispatch.Pieces
	done := 0
	for key, v := range rawjson.Spans(raw, rawjson.Space(raw, 0)) {
		if rawjson.Unquote(key.Of(raw)) != "content" || raw[v.From] != '[' {
			continue
		}
		for _, b := range rawjson.Spans(raw, v.From) {
			block := b.Of(raw)
			if change != nil {
				block = change(block)
			}
			if annotated := annotate(block, with); annotated != nil {
				out = append(out, raw[done:b.From], annotated)
				done = b.To
			}
		}
	}
	return append(out, raw[done:])
}

// annotate puts annotations on one content block, ours in the place of others of the same name; nil if it can have none:
// it is no object, or what stands there as annotations is none.
func annotate(block json.RawMessage, with arguments.Object) json.RawMessage {
	if len(block) == 0 || block[0] != '{' {
		return nil
	}
	var found rawjson.Span
	for key, v := range rawjson.Spans(block, 0) {
		if rawjson.Unquote(key.Of(block)) == "annotations" {
			found = v
		}
	}
	if found.Empty() {
		return rawjson.Set(block, "annotations", with.Raw())
	}
	old := found.Of(block)
	var own arguments.Object
	switch {
	case string(old) == "null":
	case old[0] == '{':
		for key, v := range rawjson.Members(old) {
			if _, ours := with.Get(key); !ours {
				own = append(own, arguments.Member{Key: key, Value: v})
			}
		}
	default:
		return nil
	}
	return rawjson.Replace(block, found, append(own, with...).Raw())
}

// objectify says the text of an embedded resource as JSON, if it is that: compact, under its own type, with the type it had
// as contentType. Numbers keep their spelling and keys their order. A text that its server calls JSON stays as it is.
func objectify(block json.RawMessage) json.RawMessage {
	resource := rawjson.Member(block, "resource")
	said := rawjson.Member(resource, "text")
	mime := rawjson.Member(resource, "mimeType")
	if said == nil || said[0] != '"' || rawjson.Unquote(mime) == jsonType {
		return block
	}
	body := rawjson.Text(said)
	if !rawjson.Valid(body) {
		return block
	}
	out := rawjson.Set(resource, "text", rawjson.Quote(string(rawjson.Compact(body))))
	out = rawjson.Set(out, "mimeType", rawjson.Quote(jsonType))
	if mime != nil && mime[0] == '"' {
		out = rawjson.Set(out, "contentType", mime)
	}
	return rawjson.Set(block, "resource", out)
}

const jsonType = "application/json"
