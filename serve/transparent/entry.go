package transparent

import (
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// proxyKey is the member of `_meta`, and of the params of notifications, that says what comes from where.
const proxyKey = "proxy"

// keyOf is the member of an entry that names it.
func keyOf(e *catalog.Entry) string {
	switch {
	case e.Template:
		return "uriTemplate"
	case e.Kind == catalog.Resource:
		return "uri"
	}
	return "name"
}

// shownEntry is an entry as agents see it, on one line: under the name shown, with its origin in `_meta`. All else
// stays as the server wrote it.
func shownEntry(e *catalog.Entry, shown string) json.RawMessage {
	raw, key := rawjson.Compact(e.Raw), keyOf(e)
	out := make([]byte, 0, len(raw)+len(shown)+len(e.Name)+len(e.Server)+64)
	at, tagged := 0, false
	for k, v := range rawjson.Spans(raw, 0) {
		switch rawjson.Unquote(k.Of(raw)) {
		case key:
			out = append(append(out, raw[at:v.From]...), rawjson.Quote(shown)...)
			at = v.To
		case "_meta":
			out = append(append(out, raw[at:v.From]...), withOrigin(v.Of(raw), e)...)
			at, tagged = v.To, true
		}
	}
	out = append(out, raw[at:]...)
	if tagged {
		return out
	}
	out = append(out[:len(out)-1], `,"_meta":`...) // an entry has a name: it is never empty
	return append(append(out, withOrigin(nil, e)...), '}')
}

// withOrigin puts where an entry comes from into its `_meta`. What a proxy behind us said there is kept as `behind`.
func withOrigin(meta json.RawMessage, e *catalog.Entry) json.RawMessage {
	original := "originalName"
	if e.Kind == catalog.Resource {
		original = "originalUri"
	}
	origin := `{"server":` + string(rawjson.Quote(e.Server)) + `,"` + original + `":` + string(rawjson.Quote(e.Name))
	if theirs := rawjson.Member(meta, proxyKey); theirs != nil {
		origin += `,"behind":` + string(theirs)
	}
	return withMember(meta, proxyKey, json.RawMessage(origin+"}"))
}

// withMember sets one member of an object as its last one; what is no object is taken for an empty one. The rest stays
// as written.
func withMember(object json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	out := append(make([]byte, 0, len(object)+len(key)+len(value)+4), '{')
	add := func(k, v []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, k...), ':'), v...)
	}
	for k, v := range rawjson.Spans(object, rawjson.Space(object, 0)) {
		if written := k.Of(object); len(written) > 0 && rawjson.Unquote(written) != key {
			add(written, v.Of(object))
		}
	}
	add(rawjson.Quote(key), value)
	return append(out, '}')
}
