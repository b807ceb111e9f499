package transparent

import (
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// ofTheHop are the members of `_meta` that speak of the way between an agent and us, not of the request.
var ofTheHop = map[string]bool{
	"progressToken": true,
	"io.modelcontextprotocol/protocolVersion":    true,
	"io.modelcontextprotocol/clientInfo":         true,
	"io.modelcontextprotocol/clientCapabilities": true,
}

// reworded are params for the server: without `_meta`, and with value, which is JSON, in the place of key's. All else
// stays as the agent wrote it.
func reworded(params json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	out := append(make([]byte, 0, len(params)+len(value)), '{')
	for k, v := range rawjson.Spans(params, rawjson.Space(params, 0)) {
		name, written := rawjson.Unquote(k.Of(params)), v.Of(params)
		switch {
		case name == "_meta":
			continue
		case name == key && key != "":
			written = value
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, k.Of(params)...), ':'), written...)
	}
	return append(out, '}')
}

// onward is what of a request's `_meta` concerns the server; nil if nothing does.
func onward(meta json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	for k, v := range rawjson.Spans(meta, rawjson.Space(meta, 0)) {
		if written := k.Of(meta); len(written) > 0 && !ofTheHop[rawjson.Unquote(written)] {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, written...), ':'), v.Of(meta)...)
		}
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, '}')
}

// modern reports whether a request says itself which protocol it speaks, as it does since 2026-07-28.
func modern(meta json.RawMessage) bool {
	return rawjson.Member(meta, "io.modelcontextprotocol/protocolVersion") != nil
}

// text is a member of params that must be a non-empty string.
func text(params json.RawMessage, key string) (string, error) {
	v := rawjson.Member(params, key)
	if s := rawjson.Unquote(v); s != "" {
		return s, nil
	}
	return "", wrongParams("params.%s must be a string", key)
}
