package arguments

import "github.com/proxy-dispatch/proxy-dispatch/rawjson"

// The functions of this package go through JSON found valid at the door. They keep to positions, so that a change can
// be spliced in and the rest stays as written.

// member is one member of an object: its key, where that begins, and where the value stands.
type member struct {
	key   string
	keyAt int
	rawjson.Span
}

// members returns the members of the object that begins at i, with positions in b.
func members(b []byte, i int) []member {
	var out []member
	for key, value := range rawjson.Spans(b, i) {
		out = append(out, member{rawjson.Unquote(key.Of(b)), key.From, value})
	}
	return out
}

// elements returns where the elements of the list that begins at i stand in b.
func elements(b []byte, i int) []rawjson.Span {
	var out []rawjson.Span
	for _, value := range rawjson.Spans(b, i) {
		out = append(out, value)
	}
	return out
}

// edit replaces b[start:end] by text.
type edit struct {
	start, end int
	text       []byte
}

// splice applies edits, which stand in order and do not overlap. Without any it returns b itself.
func splice(b []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return b
	}
	size := len(b)
	for _, e := range edits {
		size += len(e.text) - (e.end - e.start)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, e := range edits {
		out = append(append(out, b[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, b[at:]...)
}
