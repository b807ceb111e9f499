package notation

import (
	"bytes"
	"errors"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// YAML returns n as a tree to print or to put into another file: mappings in blocks, lists in a line.
func (n *Node) YAML() *yaml.Node {
	switch n.Kind {
	case Mapping:
		out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", HeadComment: cleanComment(n.Comment)}
		for _, m := range n.Members {
			out.Content = append(out.Content, YAMLText(m.Key, ""), m.Value.YAML())
		}
		return out
	case List:
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, item := range n.Items {
			out.Content = append(out.Content, item.YAML())
		}
		return out
	case Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: n.Text}
	case Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	case Null:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
	return YAMLText(n.Text, "")
}

// YAMLText returns a text that no reader of YAML takes for another kind of value, with a comment
// above it unless that is empty.
func YAMLText(text, comment string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, HeadComment: cleanComment(comment)}
}

// cleanComment leaves out of a comment what YAML cannot hold; the printer would panic at it.
func cleanComment(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// PrintYAML writes a YAML tree as this program writes all its files.
func PrintYAML(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	d, err := yaml.NewDumper(&out, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(d.Dump(n), d.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
