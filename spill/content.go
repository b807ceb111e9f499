package spill

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// block is one content block of a result: what it is and where its parts lie in the raw bytes.
type block struct {
	Type, MimeType, Name string
	All                  span `json:"-"` // the block
	Text                 span `json:"-"` // the string that holds its text
	Blob                 span `json:"-"` // the string that holds its base64
}

// result is an MCP result taken apart.
type result struct {
	raw        []byte
	blocks     []block
	structured span // structuredContent; empty if absent or null
	other      bool // neither content nor contents: not the result of a tool
}

// dissect takes a result apart; raw is valid JSON. The result of resources/read has its contents as blocks.
func dissect(raw []byte) result {
	r := result{raw: raw, other: true}
	start := skipSpace(raw, 0)
	if raw[start] != '{' {
		return r
	}
	for key, value := range members(raw, start) {
		switch name := string(unquote(key.of(raw))); {
		case name == "structuredContent" && raw[value.from] != 'n':
			r.structured = value
			r.other = false
		case (name == "content" || name == "contents") && raw[value.from] == '[':
			r.blocks = r.blocks[:0]
			for _, b := range members(raw, value.from) {
				r.blocks = append(r.blocks, dissectBlock(raw, b, name == "contents"))
			}
			r.other = false
		}
	}
	return r
}

func dissectBlock(raw []byte, all span, resource bool) block {
	b := block{All: all}
	if raw[all.from] != '{' {
		return b
	}
	inner := span{}
	for key, value := range members(raw, all.from) {
		isString := raw[value.from] == '"'
		switch name := string(unquote(key.of(raw))); {
		case name == "type" && isString:
			b.Type = string(unquote(value.of(raw)))
		case name == "text" && isString:
			b.Text = value
		case (name == "data" || name == "blob" && resource) && isString:
			b.Blob = value
		case name == "mimeType" && isString:
			b.MimeType = string(unquote(value.of(raw)))
		case (name == "uri" || name == "name" && b.Name == "") && isString:
			b.Name = string(unquote(value.of(raw)))
		case name == "resource" && raw[value.from] == '{':
			inner = value
		}
	}
	switch {
	case resource:
		b.Type = "resource"
	case b.Type == "resource" && !inner.empty():
		in := dissectBlock(raw, inner, true)
		in.All = all
		return in
	case b.Type == "text":
		b.Blob = span{}
	case b.Type == "image" || b.Type == "audio":
		b.Text = span{}
	default:
		b.Text, b.Blob = span{}, span{} // of an unknown block nothing is known but its JSON
	}
	return b
}

// payload is the data of a result, or of one of its blocks.
type payload struct {
	bytes    []byte
	json     bool
	binary   bool
	mimeType string
	block    int  // number of the block it is from; 0 = structuredContent, or several
	form     form // how it stands in the raw result,
	coded    span // and where
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
		return payload{bytes: r.raw, json: true, form: asValue, coded: span{0, len(r.raw)}}
	}
	if !r.structured.empty() {
		return payload{bytes: r.structured.of(r.raw), json: true, form: asValue, coded: r.structured}
	}
	var texts, blobs []int
	for i, b := range r.blocks {
		if !b.Text.empty() {
			texts = append(texts, i)
		}
		if !b.Blob.empty() {
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
		return payload{bytes: r.list(texts, func(b block) []byte { return b.Text.of(r.raw) }), json: true}
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
	if b.Blob.empty() {
		return b.All.of(r.raw)
	}
	before, after := r.raw[b.All.from:b.Blob.from+1], r.raw[b.Blob.to-1:b.All.to]
	return append(bytes.Clone(before), after...)
}

// block returns what a content block holds: its text (as JSON if it is JSON), its decoded blob, or, if
// it has neither or the blob is no base64, the block itself.
func (r result) block(i int) payload {
	b := r.blocks[i]
	p := payload{mimeType: b.MimeType, block: i + 1}
	switch {
	case !b.Text.empty():
		p.bytes, p.form, p.coded = unquote(b.Text.of(r.raw)), asText, b.Text
		p.json = isJSON(p.bytes)
		return p
	case !b.Blob.empty():
		if blob, err := decodeBlob(b.Blob.of(r.raw)); err == nil {
			p.bytes, p.form, p.coded, p.binary = blob, asBlob, b.Blob, !isText(blob)
			return p
		}
	}
	return payload{bytes: b.All.of(r.raw), json: true, mimeType: "application/json", block: i + 1}
}

func decodeBlob(quoted []byte) ([]byte, error) {
	coded := unquote(quoted)
	blob := make([]byte, base64.StdEncoding.DecodedLen(len(coded)))
	n, err := base64.StdEncoding.Strict().Decode(blob, coded)
	if err != nil {
		return nil, fmt.Errorf("decode blob: %w", err)
	}
	return blob[:n], nil
}

// isText tells whether bytes may be shown: UTF-8 without NUL, judged by their beginning.
func isText(b []byte) bool {
	head := b[:min(len(b), blockSize)]
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
