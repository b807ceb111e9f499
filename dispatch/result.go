package dispatch

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// metaKey is the key under which what we say about a result stands in its `_meta`.
const metaKey = "proxy-dispatch"

// result is a raw MCP call result with what the stations need to know about it. The bytes are the
// server's own and are never decoded as a whole.
type result struct {
	raw        json.RawMessage
	blocks     []block
	structured json.RawMessage // nil if absent
	meta       json.RawMessage // nil if absent
	metaAt     int             // where meta begins in raw
	isError    bool
}

// block is one content block.
type block struct {
	raw  json.RawMessage
	kind string          // "text", "image", "audio", "resource", "resource_link" or what the server said
	size int64           // bytes of what it carries: decoded text, or raw data
	text json.RawMessage // its text as a JSON string, nil if it has none
	said rawjson.Span    // where the text stands in the result; empty where it is not a member of the block
}

// isMedia reports whether the block is an image or audio, which have a budget of their own.
func (b block) isMedia() bool { return b.kind == "image" || b.kind == "audio" }

// readResult looks at a raw result, which is valid JSON, passing each byte once. The error says why it
// is not a result.
func readResult(raw json.RawMessage) (*result, error) {
	r := &result{raw: raw}
	end := rawjson.Each(raw, rawjson.Space(raw, 0), func(key rawjson.Span, at int) int {
		if key.Empty() {
			return -1 // an array
		}
		name := rawjson.Unquote(key.Of(raw))
		if name == "content" && raw[at] == '[' {
			return rawjson.Each(raw, at, func(_ rawjson.Span, at int) int {
				b, end := readBlock(raw, at)
				r.blocks = append(r.blocks, b)
				return end
			})
		}
		end := rawjson.Skip(raw, at)
		if end < 0 {
			return end
		}
		switch v := raw[at:end:end]; {
		case name == "structuredContent" && string(v) != "null":
			r.structured = v
		case name == "_meta" && v[0] == '{':
			r.meta, r.metaAt = v, at
		case name == "isError":
			r.isError = string(v) == "true"
		}
		return end
	})
	if end < 0 {
		return nil, &Error{Code: Internal, Message: "the server's result is not an object"}
	}
	return r, nil
}

// readBlock looks at the content block that begins at i and returns the index after it.
func readBlock(raw json.RawMessage, i int) (block, int) {
	var b block
	var data, resource json.RawMessage
	if raw[i] != '{' {
		end := rawjson.Skip(raw, i)
		return block{raw: raw[i:max(end, i)]}, end
	}
	end := rawjson.Each(raw, i, func(key rawjson.Span, at int) int {
		end := rawjson.Skip(raw, at)
		if end < 0 {
			return end
		}
		switch v := raw[at:end:end]; rawjson.Unquote(key.Of(raw)) {
		case "type":
			b.kind = rawjson.Unquote(v)
		case "text":
			b.text, b.said = v, rawjson.Span{From: at, To: end}
		case "data":
			data = v
		case "resource":
			resource = v
		}
		return end
	})
	if end < 0 {
		return b, end
	}
	b.raw = raw[i:end:end]
	switch b.kind {
	case "text":
		b.size = int64(rawjson.TextLen(b.text))
	case "image", "audio":
		b.size, b.text = int64(len(data))*3/4, nil
	case "resource":
		b.text = rawjson.Member(resource, "text")
		b.size = int64(rawjson.TextLen(b.text)) + int64(len(rawjson.Member(resource, "blob")))*3/4
	default:
		b.size, b.text = int64(len(b.raw)), nil
	}
	return b, end
}

// size returns the bytes that count against the inline budget: all but images and audio, with a
// structuredContent that says the same as the text counted once.
func (r *result) size() int64 {
	var n int64
	for _, b := range r.blocks {
		if !b.isMedia() {
			n += b.size
		}
	}
	if r.structured != nil && !r.structuredIsText() {
		n += int64(len(r.structured))
	}
	return n
}

// structuredIsText reports whether the only text block holds the structured content as JSON.
func (r *result) structuredIsText() bool {
	var text json.RawMessage
	n := 0
	for _, b := range r.blocks {
		if b.kind == "text" {
			n++
			text = b.text
		}
	}
	if n != 1 {
		return false
	}
	said := rawjson.Text(text)
	return rawjson.Valid(said) && bytes.Equal(rawjson.Compact(bytes.TrimSpace(said)), rawjson.Compact(r.structured))
}

func looksLikeJSON(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[')
}

// longest is where the longest text of the result stands.
func (r *result) longest() (at rawjson.Span) {
	for _, b := range r.blocks {
		if b.said.To-b.said.From > at.To-at.From {
			at = b.said
		}
	}
	return at
}

// message returns the text of an error result, at most max bytes.
func (r *result) message(max int) string {
	var parts []string
	for _, b := range r.blocks {
		if b.kind == "text" {
			parts = append(parts, rawjson.Unquote(b.text))
		}
	}
	return clip(strings.Join(parts, "\n"), max)
}

// data is what a result says, as JSON: the structured content, else the only text (as JSON if it is
// JSON), else a list of the texts.
func (r *result) data() json.RawMessage {
	if r.structured != nil {
		return r.structured
	}
	var texts []json.RawMessage
	for _, b := range r.blocks {
		if b.kind == "text" && b.text != nil {
			texts = append(texts, b.text)
		}
	}
	if len(texts) == 1 {
		if said := rawjson.Text(texts[0]); rawjson.Valid(said) {
			return said
		}
		return texts[0]
	}
	list := []byte{'['}
	for _, t := range texts {
		list = appendItems(list, t)
	}
	return append(list, ']')
}

// withMeta returns the raw result with ours under metaKey in its `_meta`; every other byte stays.
func (r *result) withMeta(ours json.RawMessage) Pieces {
	if r.meta == nil {
		return r.withMember(arguments.Object{{Key: "_meta", Value: arguments.Object{{Key: metaKey, Value: ours}}.Raw()}}.Raw())
	}
	obj, err := arguments.ParseObject(r.meta)
	if err != nil { // a `_meta` we can't extend stays as it is
		return Pieces{r.raw}
	}
	return Pieces{r.raw[:r.metaAt], obj.Set(metaKey, ours).Raw(), r.raw[r.metaAt+len(r.meta):]}
}

// withMember puts the member of the object added at the end of the result.
func (r *result) withMember(added json.RawMessage) Pieces {
	end := bytes.LastIndexByte(r.raw, '}')
	if len(bytes.TrimSpace(r.raw[bytes.IndexByte(r.raw, '{')+1:end])) == 0 {
		return Pieces{added}
	}
	return Pieces{r.raw[:end], []byte{','}, added[1:]}
}
