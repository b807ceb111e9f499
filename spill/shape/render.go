package shape

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
)

// detail bounds a rendering: depth, keys of one object, bytes of a key, what is said of values, and whether each key
// gets a line.
type detail struct {
	depth, keys, name int
	say               saying
	lines             bool
	indent            int
}

// String renders the shape in at most MaxShort bytes, with less detail the more there is.
func (n *node) String() string {
	for _, d := range []detail{{6, 40, 40, few, false, 0}, {6, 40, 40, nothing, false, 0}, {4, 20, 40, nothing, false, 0}, {3, 12, 30, nothing, false, 0},
		{2, 10, 24, nothing, false, 0}, {2, 5, 20, nothing, false, 0}, {1, 8, 20, nothing, false, 0}, {1, 3, 16, nothing, false, 0}} {
		if s := n.render(d); len(s) <= MaxShort-len(sampled) {
			return n.marked(s)
		}
	}
	return n.render(detail{})
}

const sampled = " (sampled)"

func (n *node) marked(s string) string {
	if n.thinned {
		s += sampled
	}
	return s
}

// long renders the shape for its own sake, a line for each key, in at most so many bytes.
func (n *node) long(limit int) string {
	limit = min(limit, maxLongShape) - len(sampled)
	for _, d := range []detail{{12, 200, 80, ranges, true, 0}, {8, 100, 60, ranges, true, 0}, {6, 60, 40, ranges, true, 0}, {4, 40, 40, ranges, true, 0},
		{3, 30, 40, few, true, 0}, {2, 30, 30, few, true, 0}, {2, 20, 30, nothing, true, 0}} {
		if s := n.render(d); len(s) <= limit {
			return n.marked(s)
		}
	}
	return n.String()
}

func (n *node) render(d detail) string {
	var types []string
	if n.objects > 0 {
		types = append(types, n.renderObject(d))
	}
	if n.lists > 0 {
		types = append(types, n.renderList(d))
	}
	for _, s := range n.scalars {
		if s != "int" || !slices.Contains(n.scalars, "num") {
			types = append(types, n.values.render(s, d.say))
		}
	}
	if i := slices.Index(types, "null"); i >= 0 { // last, as in T|null
		types = append(slices.Delete(types, i, i+1), "null")
	}
	return strings.Join(types, "|")
}

func (n *node) renderList(d detail) string {
	length := strconv.Itoa(n.min)
	if n.max != n.min {
		length += "-" + strconv.Itoa(n.max)
	}
	switch {
	case n.elem == nil:
		return "[" + length + "]"
	case d.depth == 0 && n.elem.objects+n.elem.lists > 0:
		return "[" + length + "]…"
	}
	d.depth = max(d.depth-1, 0)
	if n.elem.objects > 0 {
		d.depth++ // a list of records is one level, not two
	}
	inner := n.elem.render(d)
	if strings.Contains(inner, "|") && !strings.HasPrefix(inner, "{") {
		inner = "(" + inner + ")"
	}
	return "[" + length + "]" + inner
}

func (n *node) renderObject(d detail) string {
	total := len(n.keys) + n.more
	switch {
	case total == 0:
		return "{}"
	case d.depth == 0:
		return fmt.Sprintf("{…%d}", total)
	}
	inner := d
	inner.depth--
	inner.indent++
	if n.more > 0 && n.objects == 1 { // a dictionary: what matters is the form of its values
		inner.lines = false
		return fmt.Sprintf("{%d keys like %s:%s}", total, Key(n.keys[0].name, d.name), n.keys[0].node.render(inner))
	}
	var parts []string
	for i, k := range n.keys {
		if i == d.keys {
			parts = append(parts, fmt.Sprintf("…+%d", total-i))
			break
		}
		parts = append(parts, Key(k.name, d.name)+n.often(k)+":"+k.node.render(inner))
	}
	if d.keys >= len(n.keys) && n.more > 0 {
		parts = append(parts, fmt.Sprintf("…+%d", n.more))
	}
	if d.lines {
		feed := "\n" + strings.Repeat("  ", inner.indent)
		return "{" + feed + strings.Join(parts, ","+feed) + "}"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// often marks a key that not every object has, with how many have it.
func (n *node) often(k *key) string {
	switch {
	case k.seen >= n.objects:
		return ""
	case n.objects < 5:
		return "?"
	}
	return fmt.Sprintf("?%d%%", min(max(k.seen*100/n.objects, 1), 99))
}

// Key is the name of a member as shapes show it: clipped, in quotes where it is no word.
func Key(name string, max int) string {
	name = brief.Clip(name, max)
	if name == "" || strings.ContainsAny(name, " {}[]:,|?\"") {
		return strconv.Quote(name)
	}
	return name
}

// Short is the shape of valid JSON as reports show it, at most MaxShort bytes.
func Short(data []byte) string { return newShape(data, rawjson.Space(data, 0)).String() }

// Long is the shape of valid JSON with all that was found out, in at most limit bytes.
func Long(data []byte, limit int) string {
	return shapeWithin(data, rawjson.Space(data, 0), longScope).long(limit)
}
