package notation

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ParseYAML is Parse for one YAML document. Anchors, aliases and merge keys work.
func ParseYAML(data []byte) (*Node, []Fault) {
	empty := []Fault{{1, "file is empty"}}
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		line, msg := yamlPosition(err)
		if strings.Contains(msg, "no documents in stream") {
			return nil, empty
		}
		return nil, []Fault{{line, "not valid YAML: " + msg}}
	}
	if doc.Kind == yaml.DocumentNode {
		if len(doc.Content) != 1 {
			return nil, empty
		}
		doc = *doc.Content[0]
	}
	c := yamlConverter{left: maxNodes}
	n := c.node(&doc, 0)
	if c.left < 0 {
		c.add(0, "aliases make the file larger than %d values", maxNodes)
		return nil, c.faults
	}
	if n.Kind == Null {
		return nil, append(c.faults, empty...)
	}
	return n, c.faults
}

// yamlPosition gives the line and the words of a parser's error.
func yamlPosition(err error) (int, string) {
	var one *yaml.LoadError
	if !errors.As(err, &one) {
		return 0, strings.TrimPrefix(err.Error(), "yaml: ")
	}
	msg := strings.TrimPrefix(one.Message, "yaml: ")
	if strings.Contains(msg, "cannot start any token") {
		msg += " (a tab where spaces indent?)"
	}
	return one.Mark.Line, msg
}

type yamlConverter struct {
	faults
	left int // values that may still be made; aliases multiply them
}

func (c *yamlConverter) node(y *yaml.Node, depth int) *Node {
	n := &Node{Line: y.Line, Kind: Null}
	c.left--
	if c.left < 0 {
		return n
	}
	if depth > MaxDepth {
		c.add(y.Line, "%s", tooDeep)
		c.left = 0
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		if y.Alias != nil {
			return c.node(y.Alias, depth+1)
		}
	case yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			n.Items = append(n.Items, c.node(item, depth+1))
		}
	case yaml.MappingNode:
		n.Kind = Mapping
		c.mapping(n, y, depth)
	case yaml.ScalarNode:
		n.Kind, n.Text = scalarKind(y), y.Value
	}
	return n
}

// mapping fills n; what a merge key brings in stands after the mapping's own keys and never
// overrides them.
func (c *yamlConverter) mapping(n *Node, y *yaml.Node, depth int) {
	seen := make(map[string]int, len(y.Content)/2)
	var merged []*Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		value := c.node(y.Content[i+1], depth+1)
		if key.Kind == yaml.AliasNode && key.Alias != nil {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			c.add(key.Line, "a key must be text")
			continue
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		n.insert(Member{key.Value, key.Line, value}, seen, &c.faults)
	}
	for len(merged) > 0 {
		from := merged[0]
		merged = merged[1:]
		if from.Kind == List {
			merged = append(from.Items[:len(from.Items):len(from.Items)], merged...)
			continue
		}
		for _, m := range from.Members {
			if _, own := seen[m.Key]; !own {
				n.insert(m, seen, &c.faults)
			}
		}
	}
}

func scalarKind(y *yaml.Node) Kind {
	switch y.ShortTag() {
	case "!!null":
		return Null
	case "!!bool":
		return Bool
	case "!!int", "!!float":
		return Number
	}
	return Text
}
