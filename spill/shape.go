package spill

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// A shape is the schema inferred from values: what types they have, which keys, how long the lists are.
// All values at one place are merged into one node. Of a long list the first elements and a thinning
// spread of the others are looked at, so a rare key may be missed; the lengths are always exact.

const (
	maxShape     = 400 // bytes of a rendered shape
	shapeDepth   = 6
	shapeKeys    = 40 // keys noted of one object
	shapeNodes   = 2000
	shapeSamples = 64 // elements looked at before the spread thins out
)

type node struct {
	seen    int // values merged
	objects int // of them
	lists   int
	scalars []string // type names, in the order seen
	keys    []*key
	byName  map[string]*key
	more    int // keys not noted, of the object with the most
	min     int // lengths of the lists
	max     int
	elem    *node
	bytes   int // of all values merged
}

type key struct {
	name string
	seen int
	node node
}

// newShape infers the shape of the value at i, in valid JSON.
func newShape(b []byte, i int) *node {
	n := &node{}
	left := shapeNodes
	n.add(b, rawjson.Span{From: i, To: len(b)}, 0, &left)
	return n
}

func (n *node) add(b []byte, at rawjson.Span, depth int, left *int) {
	n.seen++
	n.bytes += at.To - at.From
	*left--
	switch c := b[at.From]; c {
	case '{':
		n.objects++
		if depth < shapeDepth && *left > 0 {
			n.addObject(b, at.From, depth, left)
		}
	case '[':
		n.addList(b, at.From, depth, left)
	case '"':
		n.scalar1("str")
	case 't', 'f':
		n.scalar1("bool")
	case 'n':
		n.scalar1("null")
	default:
		for _, d := range b[at.From:at.To] {
			if d == '.' || d == 'e' || d == 'E' {
				n.scalar1("num")
				return
			}
		}
		n.scalar1("int")
	}
}

func (n *node) scalar1(name string) {
	if !slices.Contains(n.scalars, name) {
		n.scalars = append(n.scalars, name)
	}
}

func (n *node) addObject(b []byte, i, depth int, left *int) {
	if n.byName == nil {
		n.byName = map[string]*key{}
	}
	count := 0
	for name, value := range rawjson.Spans(b, i) {
		count++
		k := n.byName[string(name.Of(b))]
		if k == nil {
			if len(n.keys) >= shapeKeys {
				continue
			}
			quoted := string(name.Of(b))
			k = &key{name: string(rawjson.Text([]byte(quoted)))}
			n.byName[quoted] = k
			n.keys = append(n.keys, k)
		}
		k.seen++
		k.node.add(b, value, depth+1, left)
	}
	n.more = max(n.more, count-len(n.keys))
}

func (n *node) addList(b []byte, i, depth int, left *int) {
	length, stride := 0, 1
	for _, value := range rawjson.Spans(b, i) {
		if length%stride == 0 && depth < shapeDepth && *left > 0 {
			if n.elem == nil {
				n.elem = &node{}
			}
			n.elem.add(b, value, depth+1, left)
			if length >= shapeSamples*stride {
				stride *= 2
			}
		}
		length++
	}
	if n.lists == 0 {
		n.min = length
	}
	n.lists++
	n.min, n.max = min(n.min, length), max(n.max, length)
}

// names lists the keys of an object, clipped.
func (n *node) names() []string {
	var names []string
	for _, k := range n.keys[:min(len(n.keys), maxKeys)] {
		names = append(names, clip(k.name, maxKey))
	}
	return names
}

// scalar names a field with single values, preferably one that tells records apart.
func (n *node) scalar() string {
	best, rank := "", -1
	for _, k := range n.keys {
		if k.node.objects+k.node.lists > 0 || k.seen < n.objects || len(k.name) > maxKey {
			continue
		}
		r := 1 + slices.Index([]string{"url", "status", "type", "summary", "message", "path", "key", "id", "title", "name"}, strings.ToLower(k.name))
		if r > rank {
			best, rank = k.name, r
		}
	}
	return best
}

// table finds the largest list in an object, at most two keys deep: its path, and a field if it holds
// records. Without a list it is the largest member.
func (n *node) table() (path, field string) {
	var list, member *node
	var listPath, memberPath string
	var visit func(n *node, prefix string, depth int)
	visit = func(n *node, prefix string, depth int) {
		for _, k := range n.keys {
			p := prefix + pathKey(k.name)
			if len(p) > 2*maxKey {
				continue
			}
			if k.node.lists > 0 && k.node.elem != nil && (list == nil || k.node.bytes > list.bytes) {
				list, listPath = &k.node, p
			}
			if depth == 0 && (member == nil || k.node.bytes > member.bytes) {
				member, memberPath = &k.node, p
			}
			if depth < 1 {
				visit(&k.node, p+".", depth+1)
			}
		}
	}
	visit(n, "", 0)
	if list == nil || member != nil && list.bytes*2 < member.bytes {
		return memberPath, ""
	}
	if list.elem.objects > 0 {
		field = list.elem.scalar()
	}
	return listPath + ".#", field
}

// String renders the shape in at most maxShape bytes, with less detail the more there is.
func (n *node) String() string {
	for _, d := range []detail{{6, 40, 40}, {4, 20, 40}, {3, 12, 30}, {2, 10, 24}, {2, 5, 20}, {1, 8, 20}, {1, 3, 16}} {
		if s := n.render(d); len(s) <= maxShape {
			return s
		}
	}
	return n.render(detail{0, 0, 0})
}

// detail bounds a rendering: depth, keys of one object, bytes of a key.
type detail struct{ depth, keys, name int }

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
			types = append(types, s)
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
	if n.more > 0 && n.objects == 1 { // a dictionary: what matters is the form of its values
		return fmt.Sprintf("{%d keys like %s:%s}", total, renderKey(n.keys[0].name, d.name), n.keys[0].node.render(inner))
	}
	var parts []string
	for i, k := range n.keys {
		if i == d.keys {
			parts = append(parts, fmt.Sprintf("…+%d", total-i))
			break
		}
		mark := ""
		if k.seen < n.objects {
			mark = "?"
		}
		parts = append(parts, renderKey(k.name, d.name)+mark+":"+k.node.render(inner))
	}
	if d.keys >= len(n.keys) && n.more > 0 {
		parts = append(parts, fmt.Sprintf("…+%d", n.more))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func renderKey(name string, max int) string {
	name = clip(name, max)
	if name == "" || strings.ContainsAny(name, " {}[]:,|?\"") {
		return strconv.Quote(name)
	}
	return name
}
