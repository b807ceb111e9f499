package spill

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
)

// block is one content block of a result: what it is and where its parts lie in the raw bytes.
type block struct {
	Type, MimeType, Name string
	All                  rawjson.Span `json:"-"` // the block
	Text                 rawjson.Span `json:"-"` // the string that holds its text
	Blob                 rawjson.Span `json:"-"` // the string that holds its base64
}

// result is an MCP result taken apart.
type result struct {
	raw        []byte
	blocks     []block
	structured rawjson.Span // structuredContent; empty if absent or null
	other      bool         // neither content nor contents: not the result of a tool
}

// dissect takes a result apart, passing each byte once; ok is false if raw is not JSON. The result of resources/read
// has its contents as blocks. Strings that are known are not looked through.
func dissect(raw []byte, known []rawjson.Span) (r result, ok bool) {
	r = result{raw: raw, other: true}
	start := rawjson.Space(raw, 0)
	if start == len(raw) || raw[start] != '{' {
		return r, rawjson.Valid(raw)
	}
	end := rawjson.Each(raw, start, func(key rawjson.Span, at int) int {
		name := string(rawjson.Text(key.Of(raw)))
		if at < len(raw) && raw[at] == '[' && (name == "content" || name == "contents") {
			r.blocks = r.blocks[:0]
			r.other = false
			return rawjson.Each(raw, at, func(_ rawjson.Span, at int) int {
				b, end := dissectBlock(raw, at, name == "contents", known)
				r.blocks = append(r.blocks, b)
				return end
			})
		}
		end := rawjson.Skip(raw, at)
		if end >= 0 && name == "structuredContent" && raw[at] != 'n' {
			r.structured = rawjson.Span{From: at, To: end}
			r.other = false
		}
		return end
	})
	return r, end >= 0 && rawjson.Space(raw, end) == len(raw)
}

// dissectBlock looks at the content block that begins at i and returns the index behind it.
func dissectBlock(raw []byte, i int, resource bool, known []rawjson.Span) (block, int) {
	if i >= len(raw) || raw[i] != '{' {
		end := rawjson.Skip(raw, i)
		return block{All: rawjson.Span{From: i, To: end}}, end
	}
	b := block{}
	inner := block{}
	end := rawjson.Each(raw, i, func(key rawjson.Span, at int) int {
		name := string(rawjson.Text(key.Of(raw)))
		if name == "resource" && !resource && at < len(raw) && raw[at] == '{' {
			var end int
			inner, end = dissectBlock(raw, at, true, known)
			return end
		}
		end := skipKnown(raw, at, known)
		if end < 0 || raw[at] != '"' {
			return end
		}
		value := rawjson.Span{From: at, To: end}
		switch {
		case name == "type":
			b.Type = string(rawjson.Text(value.Of(raw)))
		case name == "text":
			b.Text = value
		case name == "data" || name == "blob" && resource:
			b.Blob = value
		case name == "mimeType":
			b.MimeType = string(rawjson.Text(value.Of(raw)))
		case name == "uri" || name == "name" && b.Name == "":
			b.Name = string(rawjson.Text(value.Of(raw)))
		}
		return end
	})
	b.All = rawjson.Span{From: i, To: end}
	return b.settled(inner, resource), end
}

// skipKnown is rawjson.Skip, without work where the end of a string is known.
func skipKnown(raw []byte, at int, known []rawjson.Span) int {
	for _, s := range known {
		if s.From == at && !s.Empty() && s.To <= len(raw) && raw[at] == '"' && raw[s.To-1] == '"' {
			return s.To
		}
	}
	return rawjson.Skip(raw, at)
}

// settled takes out of a block what its type does not have; inner is the resource in it.
func (b block) settled(inner block, resource bool) block {
	switch {
	case resource:
		b.Type = "resource"
	case b.Type == "resource" && !inner.All.Empty():
		inner.All = b.All
		return inner
	case b.Type == "text":
		b.Blob = rawjson.Span{}
	case b.Type == "image" || b.Type == "audio":
		b.Text = rawjson.Span{}
	default:
		b.Text, b.Blob = rawjson.Span{}, rawjson.Span{} // of an unknown block nothing is known but its JSON
	}
	return b
}

// payload is the data of a result, or of one of its blocks.
type payload struct {
	bytes    []byte
	json     bool
	binary   bool
	mimeType string
	block    int          // number of the block it is from; 0 = structuredContent, or several
	form     form         // how it stands in the raw result,
	coded    rawjson.Span // and where
}

// form is how a payload is coded in a raw result.
type form int

const (
	asNothing form = iota // it does not stand there as a whole
	asValue               // a JSON value
	asText                // a string
	asBlob                // a string of base64
)

// data chooses what the handle of a result holds: structuredContent, else the only text, else a list of
// the texts, else the only blob, else a list of the blocks without their blobs.
func (r result) data() payload {
	if r.other {
		return payload{bytes: r.raw, json: true, form: asValue, coded: rawjson.Span{To: len(r.raw)}}
	}
	if !r.structured.Empty() {
		return payload{bytes: r.structured.Of(r.raw), json: true, form: asValue, coded: r.structured}
	}
	var texts, blobs []int
	for i, b := range r.blocks {
		if !b.Text.Empty() {
			texts = append(texts, i)
		}
		if !b.Blob.Empty() {
			blobs = append(blobs, i)
		}
	}
	if len(texts) == 1 {
		return r.block(texts[0])
	}
	if len(texts) == 0 && len(blobs) == 1 {
		if p := r.block(blobs[0]); p.form == asBlob {
			return p
		}
	}
	if len(texts) > 1 {
		return payload{bytes: r.list(texts, func(b block) []byte { return b.Text.Of(r.raw) }), json: true}
	}
	all := make([]int, len(r.blocks))
	for i := range all {
		all[i] = i
	}
	return payload{bytes: r.list(all, r.withoutBlob), json: true}
}

func (r result) list(which []int, element func(block) []byte) []byte {
	var out bytes.Buffer
	out.WriteByte('[')
	for n, i := range which {
		if n > 0 {
			out.WriteByte(',')
		}
		out.Write(element(r.blocks[i]))
	}
	out.WriteByte(']')
	return out.Bytes()
}

// withoutBlob is a block whose blob, kept in a file of its own, is left empty.
func (r result) withoutBlob(b block) []byte {
	if b.Blob.Empty() {
		return b.All.Of(r.raw)
	}
	before, after := r.raw[b.All.From:b.Blob.From+1], r.raw[b.Blob.To-1:b.All.To]
	return append(bytes.Clone(before), after...)
}

// block returns what a content block holds: its text (as JSON if it is JSON), its decoded blob, or, if
// it has neither or the blob is no base64, the block itself.
func (r result) block(i int) payload {
	b := r.blocks[i]
	p := payload{mimeType: b.MimeType, block: i + 1}
	switch {
	case !b.Text.Empty():
		p.bytes, p.form, p.coded = rawjson.Text(b.Text.Of(r.raw)), asText, b.Text
		p.json = rawjson.Valid(p.bytes)
		return p
	case !b.Blob.Empty():
		if blob, err := decodeBlob(b.Blob.Of(r.raw)); err == nil {
			p.bytes, p.form, p.coded, p.binary = blob, asBlob, b.Blob, !isText(blob)
			return p
		}
	}
	return payload{bytes: b.All.Of(r.raw), json: true, mimeType: "application/json", block: i + 1}
}

func decodeBlob(quoted []byte) ([]byte, error) {
	coded := rawjson.Text(quoted)
	blob := make([]byte, base64.StdEncoding.DecodedLen(len(coded)))
	n, err := base64.StdEncoding.Strict().Decode(blob, coded)
	if err != nil {
		return nil, fmt.Errorf("decode blob: %w", err)
	}
	return blob[:n], nil
}

// isText tells whether bytes may be shown: UTF-8 without NUL, judged by their beginning.
func isText(b []byte) bool {
	head := b[:min(len(b), byline.Block)]
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	for n := 0; n < utf8.UTFMax && len(head) > 0 && len(head) < len(b); n++ { // a character may be cut
		if utf8.Valid(head) {
			return true
		}
		head = head[:len(head)-1]
	}
	return utf8.Valid(head)
}

var extensions = map[string]string{
	"application/gzip": ".gz", "application/pdf": ".pdf", "application/xml": ".xml",
	"application/zip": ".zip", "application/yaml": ".yaml", "application/msword": ".doc",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         ".xlsx",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   ".docx",
	"audio/aac": ".aac", "audio/flac": ".flac", "audio/mp4": ".m4a", "audio/mpeg": ".mp3", "audio/ogg": ".ogg",
	"audio/wav": ".wav", "audio/webm": ".weba", "audio/x-wav": ".wav",
	"image/avif": ".avif", "image/bmp": ".bmp", "image/gif": ".gif", "image/jpeg": ".jpg", "image/png": ".png",
	"image/svg+xml": ".svg", "image/tiff": ".tiff", "image/webp": ".webp", "image/x-icon": ".ico",
	"text/css": ".css", "text/csv": ".csv", "text/html": ".html", "text/javascript": ".js", "text/markdown": ".md",
	"text/plain": ".txt", "text/xml": ".xml", "video/mp4": ".mp4", "video/webm": ".webm",
}

// extension is that of the file which holds the payload.
func (p payload) extension() string {
	switch kind, _, _ := strings.Cut(strings.ToLower(p.mimeType), ";"); {
	case p.json:
		return ".json"
	case p.form != asBlob:
		return ".txt"
	case extensions[kind] != "":
		return extensions[kind]
	case !p.binary:
		return ".txt"
	}
	return ".bin"
}
