package notation

import (
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// ParseTOML is Parse for TOML, the notation of one client. The whole document is checked first; the
// tree is then built from its expressions, because only they know the lines.
func ParseTOML(data []byte) (*Node, []Fault) {
	if nested(data) {
		return nil, []Fault{{1, tooDeep}}
	}
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		line := 0
		if de, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = de.Position()
		}
		return nil, []Fault{{line, "not valid TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}}
	}
	return tomlTree(data), nil
}

// nested says whether brackets nest beyond the limit, those in strings counted too.
func nested(data []byte) bool {
	depth := 0
	for _, b := range data {
		switch b {
		case '[', '{':
			if depth++; depth > MaxDepth {
				return true
			}
		case ']', '}':
			depth--
		}
	}
	return false
}

// tomlTree builds the tree of a document known to be valid.
func tomlTree(data []byte) *Node {
	root := &Node{Kind: Mapping, Line: 1}
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
			at = &Node{Kind: Mapping, Line: last.Line}
			list := parent.Get(last.Key)
			if list == nil {
				list = &Node{Kind: List, Line: last.Line}
				parent.Members = append(parent.Members, Member{last.Key, last.Line, list})
			}
			list.Items = append(list.Items, at)
		case unstable.KeyValue:
			c.set(at, e)
		}
	}
	return root
}

// walk follows a dotted key from n and makes the mappings missing on the way.
func walk(n *Node, path []Member) *Node {
	for _, step := range path {
		next := n.Get(step.Key)
		if next == nil {
			next = &Node{Kind: Mapping, Line: step.Line}
			n.Members = append(n.Members, Member{step.Key, step.Line, next})
		}
		if next.Kind == List && len(next.Items) > 0 {
			next = next.Items[len(next.Items)-1]
		}
		n = next
	}
	return n
}

type tomlConverter struct{ parser *unstable.Parser }

// path returns the parts of a dotted key, without values.
func (c tomlConverter) path(key unstable.Iterator) []Member {
	var path []Member
	for key.Next() {
		path = append(path, Member{Key: string(key.Node().Data), Line: c.line(key.Node())})
	}
	return path
}

func (c tomlConverter) set(n *Node, keyValue *unstable.Node) {
	path := c.path(keyValue.Key())
	last := path[len(path)-1]
	value := c.value(keyValue.Value())
	if value.Line == 0 {
		value.Line = last.Line
	}
	parent := walk(n, path[:len(path)-1])
	parent.Members = append(parent.Members, Member{last.Key, last.Line, value})
}

func (c tomlConverter) value(v *unstable.Node) *Node {
	n := &Node{Kind: Text, Text: string(v.Data), Line: c.line(v)}
	switch v.Kind {
	case unstable.Array:
		n.Kind, n.Text = List, ""
		for it := v.Children(); it.Next(); {
			if it.Node().Kind != unstable.Comment {
				n.Items = append(n.Items, c.value(it.Node()))
			}
		}
	case unstable.InlineTable:
		n.Kind, n.Text = Mapping, ""
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				c.set(n, it.Node())
			}
		}
	case unstable.Bool:
		n.Kind = Bool
	case unstable.Integer, unstable.Float:
		n.Kind = Number
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

// Table is the header of a table in a TOML document.
type Table struct {
	Path []string // the parts of its dotted key
	Line int      // 1-based
}

// Tables returns the headers of a valid TOML document in order.
func Tables(data []byte) []Table {
	var tables []Table
	var parser unstable.Parser
	parser.Reset(data)
	c := tomlConverter{&parser}
	for parser.NextExpression() {
		e := parser.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var t Table
		for _, step := range c.path(e.Key()) {
			t.Path, t.Line = append(t.Path, step.Key), step.Line
		}
		tables = append(tables, t)
	}
	return tables
}
