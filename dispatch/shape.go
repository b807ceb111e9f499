package dispatch

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// Bounds of the shape of a small result.
const (
	shapedBytes = 16 << 10 // larger results are shaped where they are kept
	shapeDepth  = 4
	shapeKeys   = 25
)

// notice remembers the shape of a result that stays inline, for describe. One look a tool suffices: it costs the calls
// after the first nothing.
func (d *Dispatcher) notice(a Agent, c *performed) {
	ref := shapeKey{a.View, c.entry.Ref}
	if c.res.isError || c.entry.OutputSchema != nil || c.res.size() > shapedBytes || d.noticed(ref) {
		return
	}
	if c.res.structured == nil && (len(c.res.blocks) != 1 || c.res.blocks[0].kind != "text" || c.res.blocks[0].text == nil) {
		return
	}
	if data := bytes.TrimSpace(c.res.data()); data[0] == '{' || data[0] == '[' {
		d.remember(ref, shapeOf(data, shapeDepth))
	}
}

func (d *Dispatcher) noticed(ref shapeKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.results[ref] != ""
}

// shapeOf writes the type of a valid JSON value; of a list that of its first element.
func shapeOf(data json.RawMessage, depth int) string {
	switch data[0] {
	case '{':
		return shapeOfObject(data, depth)
	case '[':
		var items []json.RawMessage
		if depth == 0 || json.Unmarshal(data, &items) != nil || len(items) == 0 {
			return "[]"
		}
		return "[" + shapeOf(items[0], depth-1) + "]"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func shapeOfObject(data json.RawMessage, depth int) string {
	o, err := arguments.ParseObject(data)
	if err != nil || depth == 0 {
		return "{…}"
	}
	var parts []string
	for i, m := range o {
		if i == shapeKeys {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, clip(oneLine(catalog.Clean(m.Key)), 60)+": "+shapeOf(m.Value, depth-1))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
