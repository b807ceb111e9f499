package observe

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Bounds of a shape, so that a line stays a line whatever an agent sends.
const (
	shapeDepth = 3
	shapeKeys  = 16
	shapeBytes = 400
	shapeName  = 40
	// Beyond this size counting elements would cost more than the line is worth.
	shapeInput = 1 << 20
)

// Shape describes JSON by the types of its values, never by the values:
// {path: string(23), limit: number, tags: [2 string]}. A string's number is its size in bytes as
// written. What is not JSON is "invalid"; large, deep or wide values are cut with "…".
func Shape(data json.RawMessage) string {
	if len(data) > shapeInput {
		return "large(" + strconv.Itoa(len(data)) + ")"
	}
	if !gjson.ValidBytes(data) {
		return "invalid"
	}
	var b strings.Builder
	writeShape(&b, gjson.ParseBytes(data), 0)
	return b.String()
}

func writeShape(b *strings.Builder, v gjson.Result, depth int) {
	switch {
	case v.IsObject():
		writeObject(b, v, depth)
	case v.IsArray():
		writeArray(b, v, depth)
	case v.Type == gjson.String:
		b.WriteString("string(" + strconv.Itoa(len(v.Raw)-2) + ")")
	case v.Type == gjson.Number:
		b.WriteString("number")
	case v.IsBool():
		b.WriteString("boolean")
	default:
		b.WriteString("null")
	}
}

func writeObject(b *strings.Builder, v gjson.Result, depth int) {
	if depth == shapeDepth {
		b.WriteString("{…}")
		return
	}
	b.WriteByte('{')
	n := 0
	v.ForEach(func(key, value gjson.Result) bool {
		if n++; n > 1 {
			b.WriteString(", ")
		}
		if n > shapeKeys || b.Len() > shapeBytes {
			b.WriteString("…")
			return false
		}
		b.WriteString(name(key.String()) + ": ")
		writeShape(b, value, depth+1)
		return true
	})
	b.WriteByte('}')
}

func writeArray(b *strings.Builder, v gjson.Result, depth int) {
	if depth == shapeDepth {
		b.WriteString("[…]")
		return
	}
	n := 0
	var first gjson.Result
	v.ForEach(func(_, value gjson.Result) bool {
		if n++; n == 1 {
			first = value
		}
		return true
	})
	b.WriteString("[" + strconv.Itoa(n))
	if n > 0 {
		b.WriteByte(' ')
		writeShape(b, first, depth+1)
	}
	b.WriteByte(']')
}

// name writes a key so that nothing in it can be taken for the shape's own signs.
func name(key string) string {
	key = clip(key, shapeName)
	for _, r := range key {
		if !(r == '_' || r == '-' || r == '.' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return strconv.Quote(key)
		}
	}
	if key == "" {
		return `""`
	}
	return key
}
