package client

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Conversions between the results of tools, resources and prompts, as raw JSON: what a proxy makes of a server's answer,
// and back.

const jsonType = "application/json"

// FromTool makes a proxy's answer of a tools/call result: every item annotated.
func FromTool(raw json.RawMessage, path string) (*Result, error) {
	var items []json.RawMessage
	for item := range rawjson.Elements(rawjson.Member(raw, "content")) {
		items = append(items, annotated(item, TypeTool, path, ""))
	}
	return ReadResult(rawjson.Set(raw, "content", rawjson.Array(items)))
}

// FromResource makes a proxy's answer of a resources/read result: each content an embedded resource, text that is JSON
// compact and called so, with the type it had as contentType.
func FromResource(raw json.RawMessage, path string) (*Result, error) {
	var items []json.RawMessage
	for c := range rawjson.Elements(rawjson.Member(raw, "contents")) {
		items = append(items, annotated(embedded(objectified(c)), TypeResource, path, ""))
	}
	return ReadResult(rawjson.Set([]byte(`{}`), "content", rawjson.Array(items)))
}

// FromPrompt makes a proxy's answer of a prompts/get result: one embedded resource that holds it whole.
func FromPrompt(raw json.RawMessage, path string) (*Result, error) {
	resource := rawjson.Set([]byte(`{}`), "uri", rawjson.Quote("proxy:call/prompt/"+url.PathEscape(path)))
	resource = rawjson.Set(resource, "mimeType", rawjson.Quote(jsonType))
	resource = rawjson.Set(resource, "text", rawjson.Quote(string(rawjson.Compact(raw))))
	item := annotated(embedded(resource), TypePrompt, path, promptResult)
	return ReadResult(rawjson.Set([]byte(`{}`), "content", rawjson.Array([]json.RawMessage{item})))
}

const promptResult = "GetPromptResult"

func embedded(resource json.RawMessage) json.RawMessage {
	return rawjson.Set([]byte(`{"type":"resource"}`), "resource", resource)
}

func annotated(item json.RawMessage, t Type, path, python string) json.RawMessage {
	notes := rawjson.Member(item, "annotations")
	if len(notes) == 0 || notes[0] != '{' {
		notes = json.RawMessage("{}")
	}
	notes = rawjson.Set(notes, "proxyType", rawjson.Quote(string(t)))
	notes = rawjson.Set(notes, "proxyAction", rawjson.Quote(actionCall))
	notes = rawjson.Set(notes, "proxyPath", rawjson.Quote(path))
	if python != "" {
		notes = rawjson.Set(notes, "pythonType", rawjson.Quote(python))
	}
	return rawjson.Set(item, "annotations", notes)
}

func objectified(content json.RawMessage) json.RawMessage {
	said, mime := rawjson.Member(content, "text"), rawjson.Member(content, "mimeType")
	body := rawjson.Text(said)
	if said == nil || rawjson.Unquote(mime) == jsonType || !rawjson.Valid(body) {
		return content
	}
	content = rawjson.Set(content, "text", rawjson.Quote(string(rawjson.Compact(body))))
	content = rawjson.Set(content, "mimeType", rawjson.Quote(jsonType))
	if mime != nil {
		content = rawjson.Set(content, "contentType", mime)
	}
	return content
}

// ToolResult is the answer as the tools/call result that the server gave: without what the proxy said beside it.
func (r *Result) ToolResult() json.RawMessage {
	items := make([]json.RawMessage, len(r.Items))
	for i, item := range r.Items {
		items[i] = bare(item.Raw)
	}
	raw := r.Raw
	if len(items) > 0 {
		raw = rawjson.Set(raw, "content", rawjson.Array(items))
	}
	return bareMeta(raw)
}

// ResourceResult is the answer as the resources/read result that the server gave. The error wraps ErrShape where it is
// none, ErrKept where the proxy keeps it, and is a *ToolError for an answer that says isError.
func (r *Result) ResourceResult() (json.RawMessage, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	contents := []json.RawMessage{}
	for _, item := range r.Items {
		c := rawjson.Member(item.Raw, "resource")
		if c == nil {
			return nil, fmt.Errorf("%w: an item of a resource is %s", ErrShape, rawjson.Member(item.Raw, "type"))
		}
		if mime := rawjson.Member(c, "contentType"); mime != nil { // the type it had
			c = rawjson.Set(rawjson.Drop(c, "contentType"), "mimeType", mime)
		}
		contents = append(contents, c)
	}
	return r.withMeta(rawjson.Set([]byte(`{}`), "contents", rawjson.Array(contents))), nil
}

// PromptResult is the answer as the prompts/get result that the server gave, with errors as ResourceResult has them.
func (r *Result) PromptResult() (json.RawMessage, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	raw, err := r.JSON()
	if err == nil && rawjson.Member(raw, "messages") == nil {
		return nil, fmt.Errorf("%w: the prompt has no messages", ErrShape)
	}
	return raw, err
}

func (r *Result) usable() error {
	if err := r.Err(); err != nil {
		return err
	}
	if handle := r.Handle(); handle != "" {
		return fmt.Errorf("%w as %s", ErrKept, handle)
	}
	return nil
}

// withMeta puts what the server said of its result beside its new form.
func (r *Result) withMeta(raw json.RawMessage) json.RawMessage {
	if r.Meta == nil {
		return raw
	}
	return bareMeta(rawjson.Set(raw, "_meta", r.Meta))
}

// bare is an item without a proxy's annotations.
func bare(item json.RawMessage) json.RawMessage {
	notes := rawjson.Member(item, "annotations")
	if rawjson.Member(notes, "proxyType") == nil {
		return item
	}
	left := rawjson.Drop(notes, annotationKeys...)
	if string(left) == "{}" {
		return rawjson.Drop(item, "annotations")
	}
	return rawjson.Set(item, "annotations", left)
}

// bareMeta is a result without what the proxy said in `_meta`.
func bareMeta(raw json.RawMessage) json.RawMessage {
	meta := rawjson.Member(raw, "_meta")
	if rawjson.Member(meta, "proxy-dispatch") == nil {
		return raw
	}
	left := rawjson.Drop(meta, "proxy-dispatch")
	if string(left) == "{}" {
		return rawjson.Drop(raw, "_meta")
	}
	return rawjson.Set(raw, "_meta", left)
}
