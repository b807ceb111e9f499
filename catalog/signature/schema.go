package signature

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Schemas come from outside, so reading them has bounds. A schema beyond them is not refused: what is not read counts
// as unsaid.
const (
	maxSchema = 1 << 20  // bytes; a larger schema is not read at all
	maxFold   = 200      // schema objects that allOf and $ref may fold into one
	maxTokens = 64       // steps of one JSON pointer
	maxText   = 16 << 10 // bytes of one string as written: a name, a reference, a description
)

// node is one value inside a schema document, taken apart when first looked into. Each place of the document has one
// node, however it is reached: so a cycle shows as a node met again.
type node struct {
	raw     json.RawMessage
	opened  bool
	keys    []member // of an object
	at      map[string]int
	items   []*node          // of an array
	anchors map[string]*node // of a root, once asked for
	folded  map[*node]*facts // of a root, see fold
}

type member struct {
	name string
	node *node
}

// parse returns the root of a schema document, nil if it is not valid JSON or larger than maxSchema.
func parse(schema json.RawMessage) *node {
	if len(schema) > maxSchema || !rawjson.Valid(schema) {
		return nil
	}
	return &node{raw: bytes.TrimSpace(schema)}
}

func (n *node) is(opening byte) bool { return n != nil && len(n.raw) > 0 && n.raw[0] == opening }

// text returns the value of a string of at most maxText bytes.
func (n *node) text() (string, bool) {
	if !n.is('"') || len(n.raw) > maxText {
		return "", false
	}
	return rawjson.Unquote(n.raw), true
}

func (n *node) open() {
	if n.opened {
		return
	}
	n.opened = true
	if n.is('{') {
		n.at = map[string]int{}
		for key, v := range rawjson.Members(n.raw) {
			if i, twice := n.at[key]; twice {
				n.keys[i].node = &node{raw: v} // the last one wins, as with other readers
				continue
			}
			n.at[key] = len(n.keys)
			n.keys = append(n.keys, member{key, &node{raw: v}})
		}
		return
	}
	for v := range rawjson.Elements(n.raw) {
		n.items = append(n.items, &node{raw: v})
	}
}

// get returns the value of a key, nil if n is no object or lacks it.
func (n *node) get(key string) *node {
	if !n.is('{') {
		return nil
	}
	n.open()
	if i, ok := n.at[key]; ok {
		return n.keys[i].node
	}
	return nil
}

// members returns the members of an object in their order.
func (n *node) members() []member {
	if !n.is('{') {
		return nil
	}
	n.open()
	return n.keys
}

// elements returns the elements of an array.
func (n *node) elements() []*node {
	if !n.is('[') {
		return nil
	}
	n.open()
	return n.items
}

// resolve returns what a $ref in the document points to, with the name a reader would give it. References that lead out
// of the document are not followed: nil.
func (n *node) resolve(ref string) (*node, string) {
	base, fragment, found := strings.Cut(ref, "#")
	if id, _ := n.get("$id").text(); !found || base != "" && base != strings.TrimSuffix(id, "#") {
		return nil, ""
	}
	if fragment == "" {
		return n, "Root"
	}
	if fragment[0] != '/' {
		return n.anchor(fragment), fragment
	}
	fragment, err := url.PathUnescape(fragment)
	tokens := strings.Split(fragment[min(1, len(fragment)):], "/")
	if err != nil || len(tokens) > maxTokens {
		return nil, ""
	}
	for i, t := range tokens {
		t = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
		tokens[i] = t
		if k, err := strconv.Atoi(t); err == nil && n.is('[') && k >= 0 && k < len(n.elements()) {
			n = n.elements()[k]
		} else {
			n = n.get(t)
		}
	}
	return n, tokens[len(tokens)-1]
}

// anchor returns the definition with that $anchor (or, in older drafts, $id) in the document.
func (n *node) anchor(name string) *node {
	if n.anchors != nil {
		return n.anchors[name]
	}
	n.anchors = map[string]*node{}
	for _, place := range []string{"$defs", "definitions"} {
		for _, m := range n.get(place).members() {
			if a, ok := m.node.get("$anchor").text(); ok {
				n.anchors[a] = m.node
			}
			if id, ok := m.node.get("$id").text(); ok && strings.HasPrefix(id, "#") {
				n.anchors[id[1:]] = m.node
			}
		}
	}
	return n.anchors[name]
}
