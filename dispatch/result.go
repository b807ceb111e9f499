package dispatch

import (
	"bytes"
	"encoding/json"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
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
	kind string // "text", "image", "audio", "resource", "resource_link" or what the server said
	size int64  // bytes of what it carries: decoded text, or raw data
	text gjson.Result
}

// isMedia reports whether the block is an image or audio, which have a budget of their own.
func (b block) isMedia() bool { return b.kind == "image" || b.kind == "audio" }

// readResult looks at a raw result. The error says why it is not one.
func readResult(raw json.RawMessage) (*result, error) {
	top := gjson.Parse(alias(raw))
	if !top.IsObject() {
		return nil, &Error{Code: Internal, Message: "the server's result is not an object"}
	}
	r := &result{raw: raw}
	top.ForEach(func(k, v gjson.Result) bool {
		switch k.String() {
		case "content":
			v.ForEach(func(_, b gjson.Result) bool {
				r.blocks = append(r.blocks, readBlock(raw, b))
				return true
			})
		case "structuredContent":
			if v.Type != gjson.Null {
				r.structured = within(raw, v.Raw)
			}
		case "_meta":
			if v.IsObject() {
				r.meta, r.metaAt = within(raw, v.Raw), position(raw, v.Raw)
			}
		case "isError":
			r.isError = v.Type == gjson.True
		}
		return true
	})
	return r, nil
}

func readBlock(whole json.RawMessage, v gjson.Result) block {
	b := block{raw: within(whole, v.Raw), kind: v.Get("type").String()}
	switch b.kind {
	case "text":
		b.text = v.Get("text")
		b.size = decodedLen(b.text.Raw)
	case "image", "audio":
		b.size = int64(len(v.Get("data").Raw)) * 3 / 4
	case "resource":
		b.text = v.Get("resource.text")
		b.size = decodedLen(b.text.Raw) + int64(len(v.Get("resource.blob").Raw))*3/4
	default:
		b.size = int64(len(v.Raw))
	}
	return b
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
	text, n := "", 0
	for _, b := range r.blocks {
		if b.kind == "text" {
			n++
			text = b.text.String()
		}
	}
	if n != 1 || !looksLikeJSON(text) {
		return false
	}
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(text)) == nil && json.Compact(&b, r.structured) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

func looksLikeJSON(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[')
}

// message returns the text of an error result, at most max bytes.
func (r *result) message(max int) string {
	var parts []string
	for _, b := range r.blocks {
		if b.kind == "text" {
			parts = append(parts, b.text.String())
		}
	}
	return clip(strings.Join(parts, "\n"), max)
}

// withMeta returns the raw result with ours under metaKey in its `_meta`; every other byte stays.
func (r *result) withMeta(ours json.RawMessage) json.RawMessage {
	if r.meta == nil {
		return appendMember(r.raw, "_meta", arguments.Object{{Key: metaKey, Value: ours}}.Raw())
	}
	obj, err := arguments.ParseObject(r.meta)
	if err != nil { // a `_meta` we can't extend stays as it is
		return r.raw
	}
	meta := obj.Set(metaKey, ours).Raw()
	at := r.metaAt
	out := make(json.RawMessage, 0, len(r.raw)+len(meta)-len(r.meta))
	out = append(append(out, r.raw[:at]...), meta...)
	return append(out, r.raw[at+len(r.meta):]...)
}

// appendMember adds a member at the end of a raw object.
func appendMember(obj json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	end := bytes.LastIndexByte(obj, '}')
	out := make(json.RawMessage, 0, len(obj)+len(key)+len(value)+5)
	out = append(out, obj[:end]...)
	if len(bytes.TrimSpace(obj[bytes.IndexByte(obj, '{')+1:end])) > 0 {
		out = append(out, ',')
	}
	out = append(append(append(out, '"'), key...), '"', ':')
	return append(append(out, value...), '}')
}

// within returns the bytes of whole that part, a substring of alias(whole), stands for.
func within(whole json.RawMessage, part string) json.RawMessage {
	at := position(whole, part)
	return whole[at : at+len(part) : at+len(part)]
}

// position returns where part, a substring of alias(whole), begins in whole.
func position(whole json.RawMessage, part string) int {
	return int(uintptr(unsafe.Pointer(unsafe.StringData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole))))
}

// alias returns b as a string without copying it: results may be hundreds of megabytes, and nothing
// writes to one after it has arrived.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// decodedLen returns the bytes a raw JSON string stands for; 0 for anything else.
func decodedLen(raw string) int64 {
	if len(raw) < 2 || raw[0] != '"' {
		return 0
	}
	s := raw[1 : len(raw)-1]
	n := int64(len(s))
	for {
		at := strings.IndexByte(s, '\\')
		if at < 0 || at+1 >= len(s) {
			return n
		}
		if s[at+1] != 'u' {
			n--
			s = s[at+2:]
			continue
		}
		n -= 3 // \uXXXX is 1 to 3 bytes, a pair 4: near enough to hold a budget
		s = s[min(at+6, len(s)):]
	}
}
