package dispatch

import (
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// DataOf returns what a raw tool result says, as JSON: its structured content, else its only text (as JSON if it is
// JSON), else the list of its texts. nil: raw is no such result.
func DataOf(raw json.RawMessage) json.RawMessage {
	r, err := readResult(raw)
	if err != nil {
		return nil
	}
	return r.data()
}

// WithData returns a tool result that says v in the place of what raw said. Blocks that hold no text stay, and so does
// isError.
func WithData(raw, v json.RawMessage) json.RawMessage {
	said := valueResult(v)
	r, err := readResult(raw)
	if err != nil {
		return said
	}
	obj, err := arguments.ParseObject(said)
	if err != nil {
		return said
	}
	blocks := []json.RawMessage{}
	if n, err := readResult(said); err == nil {
		blocks = append(blocks, n.blocks[0].raw)
	}
	for _, b := range r.blocks {
		if b.text == nil {
			blocks = append(blocks, b.raw)
		}
	}
	obj = obj.Set("content", mustJSON(blocks))
	if r.isError {
		obj = obj.Set("isError", json.RawMessage("true"))
	}
	if r.meta != nil {
		obj = obj.Set("_meta", r.meta)
	}
	return obj.Raw()
}
