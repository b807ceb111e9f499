package shape

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
)

// A shape is the schema inferred from values: what types they have, which keys and how often, how long the lists are,
// which few values there are or between which they lie. All values at one place are merged into one node. Of a long list
// the first elements and a thinning spread of the others are looked at, so a rare key may be missed and a range be too
// narrow; that is said. The lengths are always exact.

const (
	MaxShort     = 400  // bytes of the shape in a report
	maxLongShape = 6000 // bytes of the one op shape shows
	shapeDepth   = 6
	shapeKeys    = 40 // keys noted of one object
	shapeNodes   = 6000
	shapeSamples = 500 // elements looked at before the spread thins out
)

// scope bounds how much is looked at.
type scope struct{ depth, keys, nodes, samples int }

var (
	shortScope = scope{shapeDepth, shapeKeys, shapeNodes, shapeSamples}
	longScope  = scope{12, 200, 400_000, 20_000}
)

type node struct {
	seen    int // values merged
	objects int // of them
	lists   int
	scalars []string // type names, in the order seen
	values  values
	keys    []*key
	byName  map[string]*key
	more    int // keys not noted, of the object with the most
	min     int // lengths of the lists
	max     int
	elem    *node
	bytes   int  // of all values merged
	thinned bool // not all elements were looked at
}

type key struct {
	name string
	seen int
	node node
}

// newShape infers the shape of the value at i, in valid JSON.
func newShape(b []byte, i int) *node { return shapeWithin(b, i, shortScope) }

func shapeWithin(b []byte, i int, s scope) *node {
	n := &node{}
	l := looker{scope: s, b: b}
	l.add(n, rawjson.Span{From: i, To: len(bytes.TrimRight(b, " \n\t\r"))}, 0)
	n.thinned = l.thinned
	return n
}

// looker adds values to nodes.
type looker struct {
	scope
	b       []byte
	thinned bool
}

func (l *looker) add(n *node, at rawjson.Span, depth int) {
	n.seen++
	n.bytes += at.To - at.From
	l.nodes--
	switch l.b[at.From] {
	case '{':
		n.objects++
		if depth < l.depth && l.nodes > 0 {
			l.object(n, at.From, depth)
		}
	case '[':
		l.list(n, at.From, depth)
	default:
		name := n.values.add(at.Of(l.b))
		if !slices.Contains(n.scalars, name) {
			n.scalars = append(n.scalars, name)
		}
	}
}

func (l *looker) object(n *node, i, depth int) {
	if n.byName == nil {
		n.byName = map[string]*key{}
	}
	count := 0
	for name, value := range rawjson.Spans(l.b, i) {
		count++
		k := n.byName[string(name.Of(l.b))]
		if k == nil {
			if len(n.keys) >= l.keys {
				continue
			}
			quoted := string(name.Of(l.b))
			k = &key{name: string(rawjson.Text([]byte(quoted)))}
			n.byName[quoted] = k
			n.keys = append(n.keys, k)
		}
		k.seen++
		l.add(&k.node, value, depth+1)
	}
	n.more = max(n.more, count-len(n.keys))
}

func (l *looker) list(n *node, i, depth int) {
	length, stride := 0, 1
	for _, value := range rawjson.Spans(l.b, i) {
		if length%stride == 0 && depth < l.depth && l.nodes > 0 {
			if n.elem == nil {
				n.elem = &node{}
			}
			l.add(n.elem, value, depth+1)
			if length >= l.samples*stride {
				stride *= 2
			}
		} else {
			l.thinned = true
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
		names = append(names, brief.Clip(k.name, MaxKey))
	}
	return names
}

// scalar names a field with single values, preferably one that tells records apart.
func (n *node) scalar() string {
	best, rank := "", -1
	for _, k := range n.keys {
		if k.node.objects+k.node.lists > 0 || k.seen < n.objects || len(k.name) > MaxKey {
			continue
		}
		r := 1 + slices.Index([]string{"url", "status", "type", "summary", "message", "path", "key", "id", "title", "name"}, strings.ToLower(k.name))
		if r > rank {
			best, rank = k.name, r
		}
	}
	return best
}

// group names a field of few values, by which records can be counted.
func (n *node) group() string {
	for _, k := range n.keys {
		v := k.node.values
		if k.node.objects+k.node.lists == 0 && k.seen == n.objects && len(k.name) <= MaxKey && v.enum() && len(v.distinct) > 1 && v.dates == 0 && v.texts == k.seen {
			return k.name
		}
	}
	return ""
}

// question is a jq program that says something of records, "" if they are not all records. prefix leads to them.
func (n *node) question(prefix string) string {
	if n == nil || n.objects < n.seen {
		return ""
	}
	if name := n.group(); name != "" {
		return fmt.Sprintf("%sgroup_by(%s)|map({value:.[0]%[2]s,n:length})", prefix, jqKey(name))
	}
	if name := n.scalar(); name != "" {
		return fmt.Sprintf("%smap(%s)|.[:20]", prefix, jqKey(name))
	}
	return ""
}

var jqName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// jqKey is a key as a jq program takes it from an object.
func jqKey(key string) string {
	if jqName.MatchString(key) {
		return "." + key
	}
	return ".[" + brief.JSON(key) + "]"
}

// table finds the largest list in an object, at most two keys deep: its path, and a field if it holds
// records, and a question about them. Without a list it is the largest member.
func (n *node) table() (path, field, question string) {
	var list, member *node
	var listPath, memberPath, listJQ string
	var visit func(n *node, prefix, jq string, depth int)
	visit = func(n *node, prefix, jq string, depth int) {
		for _, k := range n.keys {
			p := prefix + PathKey(k.name)
			if len(p) > 2*MaxKey {
				continue
			}
			if k.node.lists > 0 && k.node.elem != nil && (list == nil || k.node.bytes > list.bytes) {
				list, listPath, listJQ = &k.node, p, jq+jqKey(k.name)
			}
			if depth == 0 && (member == nil || k.node.bytes > member.bytes) {
				member, memberPath = &k.node, p
			}
			if depth < 1 {
				visit(&k.node, p+".", jq+jqKey(k.name), depth+1)
			}
		}
	}
	visit(n, "", "", 0)
	if list == nil || member != nil && list.bytes*2 < member.bytes {
		return memberPath, "", ""
	}
	if list.elem.objects > 0 {
		field = list.elem.scalar()
	}
	return listPath + ".#", field, list.elem.question(listJQ + "|")
}
