package dispatch

import (
	"bytes"
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// marshal encodes v on one line without HTML escapes; raw JSON inside keeps its spelling.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// textBlock is a content block that holds a text.
func textBlock(text string) json.RawMessage {
	return mustJSON(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", text})
}

// contentResult is a complete MCP result around content blocks.
func contentResult(blocks []json.RawMessage, isError bool, more ...arguments.Member) json.RawMessage {
	out := append(json.RawMessage(nil), `{"content":[`...)
	for i, b := range blocks {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, b...)
	}
	out = append(out, ']')
	if isError {
		out = append(out, `,"isError":true`...)
	}
	for _, m := range more {
		out = append(out, ",\""+m.Key+"\":"...)
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

// textResult is a complete MCP result with one text block.
func textResult(text string) json.RawMessage {
	return contentResult([]json.RawMessage{textBlock(text)}, false)
}

// jsonResult is a complete MCP result whose only text is v as JSON, for programs.
func jsonResult(v any, isError bool) json.RawMessage {
	b, err := marshal(v)
	if err != nil {
		return errorResult(&Error{Code: Internal, Message: "encode the answer: " + err.Error(), Err: err}, true)
	}
	return contentResult([]json.RawMessage{textBlock(string(b))}, isError)
}

// errorResult is a complete MCP result for a failure.
func errorResult(e *Error, asJSON bool) json.RawMessage {
	if asJSON {
		return jsonResult(e, true)
	}
	return contentResult([]json.RawMessage{textBlock(e.Error())}, true)
}

// withRepairs puts the repairs made before an answer of ours.
func withRepairs(notes []string, text string) string {
	if len(notes) == 0 {
		return text
	}
	return repairedLine(notes) + "\n" + text
}

// wantedJSON reports whether an input that could not be read asked for answers as JSON.
func wantedJSON(raw json.RawMessage) bool {
	var in struct {
		Format string `json:"format"`
	}
	return json.Unmarshal(raw, &in) == nil && in.Format == "json"
}
