package config

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"
)

// parseYAML reads one YAML document. Anchors, aliases and merge keys work.
func parseYAML(data []byte, p *problems) *node {
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		line, msg := yamlPosition(err)
		if strings.Contains(msg, "no documents in stream") {
			p.add(1, "file is empty")
			return nil
		}
		p.add(line, "not valid YAML: %s", msg)
		return nil
	}
	if doc.Kind == yaml.DocumentNode {
		if len(doc.Content) != 1 {
			p.add(1, "file is empty")
			return nil
		}
		doc = *doc.Content[0]
	}
	c := yamlConverter{problems: p, left: maxNodes}
	n := c.node(&doc, 0)
	if c.left < 0 {
		p.add(0, "aliases make the file larger than %d values", maxNodes)
		return nil
	}
	if n.kind == aNull {
		p.add(1, "file is empty")
		return nil
	}
	return n
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
	problems *problems
	left     int // values that may still be made; aliases multiply them
}

func (c *yamlConverter) node(y *yaml.Node, depth int) *node {
	n := &node{line: y.Line, kind: aNull}
	c.left--
	if c.left < 0 {
		return n
	}
	if depth > maxDepth {
		c.problems.add(y.Line, "nested more than %d levels deep", maxDepth)
		c.left = 0
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		if y.Alias != nil {
			return c.node(y.Alias, depth+1)
		}
	case yaml.SequenceNode:
		n.kind = aList
		for _, item := range y.Content {
			n.items = append(n.items, c.node(item, depth+1))
		}
	case yaml.MappingNode:
		n.kind = aMapping
		c.mapping(n, y, depth)
	case yaml.ScalarNode:
		n.kind, n.text = scalarKind(y), y.Value
	}
	return n
}

// mapping fills n; what a merge key brings in stands after the mapping's own keys and never
// overrides them.
func (c *yamlConverter) mapping(n *node, y *yaml.Node, depth int) {
	seen := make(map[string]int, len(y.Content)/2)
	var merged []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		value := c.node(y.Content[i+1], depth+1)
		if key.Kind == yaml.AliasNode && key.Alias != nil {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			c.problems.add(key.Line, "a key must be text")
			continue
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		n.insert(member{key.Value, key.Line, value}, seen, c.problems)
	}
	for len(merged) > 0 {
		from := merged[0]
		merged = merged[1:]
		if from.kind == aList {
			merged = append(from.items[:len(from.items):len(from.items)], merged...)
			continue
		}
		for _, m := range from.members {
			if _, own := seen[m.key]; !own {
				n.insert(m, seen, c.problems)
			}
		}
	}
}

func scalarKind(y *yaml.Node) kind {
	switch y.ShortTag() {
	case "!!null":
		return aNull
	case "!!bool":
		return aBool
	case "!!int", "!!float":
		return aNumber
	}
	return aText
}
