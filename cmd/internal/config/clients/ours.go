package clients

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// ourBlock is the key that our own file keeps its servers under, unless it has another spelling.
const ourBlock = "mcpServers"

// addToOurs adds servers to our own YAML file and returns it with the names they got there. A server
// that is there already is not added again; a different one of the same name gets the client's name
// as a suffix.
func (m Move) addToOurs(moving []entry) ([]byte, []string, error) {
	if notation.Of(m.Config, m.Ours) != notation.YAML {
		return nil, nil, fmt.Errorf("add servers to %s: only YAML files can be added to", m.Config)
	}
	doc, block, err := m.oursBlock()
	if err != nil {
		return nil, nil, err
	}
	added := &yaml.Node{Kind: yaml.MappingNode}
	var names []string
	for _, e := range moving {
		value := e.value.YAML()
		name, there := placeFor(block, e.name, m.Client, value)
		names = append(names, name)
		if there {
			continue
		}
		key := notation.YAMLText(name, e.comment)
		added.Content = append(added.Content, key, value)
		block.Content = append(block.Content, key, value)
	}
	if len(m.Ours) > 0 && len(added.Content) == 0 {
		return m.Ours, names, nil
	}
	whole, err := notation.PrintYAML(doc)
	if err != nil {
		return nil, nil, fmt.Errorf("write configuration: %w", err)
	}
	if text, ok := insertText(m.Ours, added); ok && sameYAML(text, whole) {
		whole = text
	}
	anything := func(string) (string, bool) { return "1", true }
	if _, err := config.Parse(filepath.Base(m.Config), whole, anything); err != nil {
		return nil, nil, fmt.Errorf("servers of %s do not fit our configuration: %w", m.Path, err)
	}
	return whole, names, nil
}

// insertText puts entries at the end of the server block of a file as text, so that everything else
// in the file stays as it is, blank lines included. It works only where the block is written in
// lines of its own; the caller checks what came of it.
func insertText(file []byte, added *yaml.Node) ([]byte, bool) {
	var doc yaml.Node
	if yaml.Load(file, &doc) != nil || doc.Kind != yaml.DocumentNode {
		return nil, false
	}
	root := doc.Content[0]
	lines := strings.SplitAfter(string(file), "\n")
	for i := 0; i+1 < len(root.Content); i += 2 {
		block := root.Content[i+1]
		if !config.IsServerBlock(root.Content[i].Value) {
			continue
		}
		if block.Kind != yaml.MappingNode || block.Style&yaml.FlowStyle != 0 || len(block.Content) == 0 {
			return nil, false
		}
		end := len(lines)
		if i+2 < len(root.Content) {
			end = root.Content[i+2].Line - 1
		}
		// Blank lines and comments at the margin belong to what follows.
		for end > block.Line && (strings.TrimSpace(lines[end-1]) == "" || strings.HasPrefix(lines[end-1], "#")) {
			end--
		}
		if end < 1 || !strings.HasSuffix(lines[end-1], "\n") {
			return nil, false
		}
		text, err := notation.PrintYAML(added)
		if err != nil {
			return nil, false
		}
		var indented strings.Builder
		for line := range strings.Lines(string(text)) {
			indented.WriteString(strings.Repeat(" ", block.Content[0].Column-1) + line)
		}
		return []byte(strings.Join(lines[:end], "") + indented.String() + strings.Join(lines[end:], "")), true
	}
	return nil, false
}

// sameYAML says whether two files mean the same to us.
func sameYAML(a, b []byte) bool {
	x, wrong := notation.ParseYAML(a)
	y, also := notation.ParseYAML(b)
	return x != nil && y != nil && len(wrong)+len(also) == 0 && x.Same(y)
}

// oursBlock returns our file as a document, and the mapping in it that holds the servers.
func (m Move) oursBlock() (doc, block *yaml.Node, err error) {
	doc = &yaml.Node{}
	if len(bytes.TrimSpace(m.Ours)) == 0 {
		block = &yaml.Node{Kind: yaml.MappingNode}
		key := notation.YAMLText(ourBlock, "Servers behind proxy-dispatch, moved here from "+m.Path)
		return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, block}}, block, nil
	}
	if err := yaml.Load(m.Ours, doc); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", m.Config, err)
	}
	root := doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		root = doc.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return nil, nil, fmt.Errorf("read %s: it is not a mapping", m.Config)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if !config.IsServerBlock(root.Content[i].Value) {
			continue
		}
		block = root.Content[i+1]
		if block.Kind != yaml.MappingNode {
			*block = yaml.Node{Kind: yaml.MappingNode}
		}
		block.Style &^= yaml.FlowStyle
		return doc, block, nil
	}
	block = &yaml.Node{Kind: yaml.MappingNode}
	root.Content = append(root.Content, notation.YAMLText(ourBlock, ""), block)
	return doc, block, nil
}

// placeFor returns the name under which a server goes into block, and whether it is there already.
func placeFor(block *yaml.Node, name, client string, value *yaml.Node) (string, bool) {
	want, _ := yaml.Dump(value)
	free := name
	for n := 1; ; n++ {
		taken := false
		for i := 0; i+1 < len(block.Content); i += 2 {
			if block.Content[i].Value != free {
				continue
			}
			taken = true
			if have, _ := yaml.Dump(block.Content[i+1]); bytes.Equal(have, want) {
				return free, true
			}
		}
		if !taken {
			return free, false
		}
		if free = name + "-" + client; n > 1 {
			free = fmt.Sprintf("%s-%s-%d", name, client, n)
		}
	}
}

// plainComment takes the marks of a notation off a comment.
func plainComment(text string, marks ...string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, mark := range marks {
			line = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(line, mark), mark))
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
