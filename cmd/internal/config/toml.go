package config

import (
	"bytes"
	"errors"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads a TOML document, the notation of one client. The whole document is checked first;
// the tree is then built from its expressions, because only they know the lines.
func parseTOML(data []byte, p *problems) *node {
	if nested(data) {
		p.add(1, "nested more than %d levels deep", maxDepth)
		return nil
	}
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		line := 0
		if de, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = de.Position()
		}
		p.add(line, "not valid TOML: %s", bytes.TrimPrefix([]byte(err.Error()), []byte("toml: ")))
		return nil
	}
	return tomlTree(data)
}

// nested says whether brackets nest beyond the limit, those in strings counted too.
func nested(data []byte) bool {
	depth := 0
	for _, b := range data {
		switch b {
		case '[', '{':
			if depth++; depth > maxDepth {
				return true
			}
		case ']', '}':
			depth--
		}
	}
	return false
}

// tomlTree builds the tree of a document known to be valid.
func tomlTree(data []byte) *node {
	root := &node{kind: aMapping, line: 1}
	at := root
	var parser unstable.Parser
	parser.Reset(data)
	c := tomlConverter{&parser}
	for parser.NextExpression() {
		e := parser.Expression()
		switch e.Kind {
		case unstable.Table:
			at = walk(root, c.path(e.Key()))
		case unstable.ArrayTable:
			path := c.path(e.Key())
			parent, last := walk(root, path[:len(path)-1]), path[len(path)-1]
			at = &node{kind: aMapping, line: last.line}
			list := parent.get(last.key)
			if list == nil {
				list = &node{kind: aList, line: last.line}
				parent.members = append(parent.members, member{last.key, last.line, list})
			}
			list.items = append(list.items, at)
		case unstable.KeyValue:
			c.set(at, e)
		}
	}
	return root
}

// walk follows a dotted key from n and makes the mappings missing on the way.
func walk(n *node, path []member) *node {
	for _, step := range path {
		next := n.get(step.key)
		if next == nil {
			next = &node{kind: aMapping, line: step.line}
			n.members = append(n.members, member{step.key, step.line, next})
		}
		if next.kind == aList && len(next.items) > 0 {
			next = next.items[len(next.items)-1]
		}
		n = next
	}
	return n
}

type tomlConverter struct{ parser *unstable.Parser }

// path returns the parts of a dotted key, without values.
func (c tomlConverter) path(key unstable.Iterator) []member {
	var path []member
	for key.Next() {
		path = append(path, member{key: string(key.Node().Data), line: c.line(key.Node())})
	}
	return path
}

func (c tomlConverter) set(n *node, keyValue *unstable.Node) {
	path := c.path(keyValue.Key())
	last := path[len(path)-1]
	value := c.value(keyValue.Value())
	if value.line == 0 {
		value.line = last.line
	}
	parent := walk(n, path[:len(path)-1])
	parent.members = append(parent.members, member{last.key, last.line, value})
}

func (c tomlConverter) value(v *unstable.Node) *node {
	n := &node{kind: aText, text: string(v.Data), line: c.line(v)}
	switch v.Kind {
	case unstable.Array:
		n.kind, n.text = aList, ""
		for it := v.Children(); it.Next(); {
			if it.Node().Kind != unstable.Comment {
				n.items = append(n.items, c.value(it.Node()))
			}
		}
	case unstable.InlineTable:
		n.kind, n.text = aMapping, ""
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				c.set(n, it.Node())
			}
		}
	case unstable.Bool:
		n.kind = aBool
	case unstable.Integer, unstable.Float:
		n.kind = aNumber
	}
	return n
}

// line returns the line of v, 0 for what carries no position.
func (c tomlConverter) line(v *unstable.Node) int {
	if v.Raw.Length == 0 {
		return 0
	}
	return c.parser.Shape(v.Raw).Start.Line
}
