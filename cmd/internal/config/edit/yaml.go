package edit

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// changeYAML changes lines, or, where that does not give what is wanted, the tree of the file.
func changeYAML(file []byte, c Change, want *notation.Node) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Load(file, &doc); err != nil && !isBare(file) {
		return nil, err
	}
	if text, ok := changeLines(file, &doc, c); ok {
		if got, err := read("x.yaml", text); err == nil && got.Same(want) {
			return text, nil
		}
	}
	if err := changeNodes(&doc, c); err != nil {
		return nil, err
	}
	return notation.PrintYAML(&doc)
}

// member finds a key in a mapping: its index in Content, -1 if it is not there.
func member(n *yaml.Node, key string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// top is the mapping a document holds, nil if it holds none.
func top(doc *yaml.Node) *yaml.Node {
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode {
		return doc.Content[0]
	}
	return nil
}

// changeLines makes the change in the lines of the file. False: the lines do not tell where.
func changeLines(file []byte, doc *yaml.Node, c Change) ([]byte, bool) {
	lines := strings.SplitAfter(string(file), "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	} else {
		lines[n-1] += "\n"
	}
	at, depth := top(doc), 0
	for ; at != nil && depth < len(c.Path)-1; depth++ {
		i := member(at, c.Path[depth])
		if i < 0 || at.Content[i+1].Kind != yaml.MappingNode || len(at.Content[i+1].Content) == 0 {
			break
		}
		at = at.Content[i+1]
	}
	if at == nil {
		return appendLines(lines, c)
	}
	if at.Style&yaml.FlowStyle != 0 || len(at.Content) == 0 || at.Content[0].Column < 1 {
		return nil, false
	}
	i := member(at, c.Path[depth])
	if i < 0 {
		if c.Value == nil {
			return nil, false
		}
		last := at.Content[len(at.Content)-2]
		text, err := render(c.Path[depth:], c.Value, at.Content[0].Column-1)
		return splice(lines, valueEnd(lines, last), 0, text), err == nil
	}
	return changeMember(lines, at.Content[i], c, depth)
}

// changeMember changes the lines of one key and its value.
func changeMember(lines []string, key *yaml.Node, c Change, depth int) ([]byte, bool) {
	begin, end := key.Line-1, valueEnd(lines, key)
	switch {
	case depth < len(c.Path)-1 && c.Value == nil:
		return nil, false
	case c.Remove:
		for begin > 0 && comments(lines[begin-1], key.Column-1) {
			begin-- // what stands above a key is about it
		}
		return splice(lines, begin, end-begin, nil), true
	case c.Rename != "":
		before, rest := lines[begin][:key.Column-1], lines[begin][key.Column-1:]
		width := len(key.Value)
		if key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			width += 2
		}
		if len(rest) < width || rest[width:] == "" || rest[width] != ':' {
			return nil, false
		}
		name, err := scalar(c.Rename)
		return splice(lines, begin, 1, []string{before + name + rest[width:]}), err == nil
	}
	text, err := render(c.Path[depth:], c.Value, key.Column-1)
	return splice(lines, begin, end-begin, text), err == nil
}

// appendLines puts a value into a file that holds no mapping yet, below its comments.
func appendLines(lines []string, c Change) ([]byte, bool) {
	if c.Value == nil {
		return nil, false
	}
	text, err := render(c.Path, c.Value, 0)
	return splice(lines, len(lines), 0, text), err == nil
}

// comments says if a line is a comment at that indentation or deeper.
func comments(line string, indent int) bool {
	rest := strings.TrimLeft(line, " ")
	return strings.HasPrefix(rest, "#") && len(line)-len(rest) == indent
}

// valueEnd is the line after the value of a key in block style: the value's lines are deeper than the key, or items of
// a list at its own indentation. Blank lines and comments that follow belong to what comes next.
func valueEnd(lines []string, key *yaml.Node) int {
	indent := key.Column - 1
	end := key.Line
	for i := key.Line; i < len(lines); i++ {
		rest := strings.TrimLeft(lines[i], " ")
		depth := len(lines[i]) - len(rest)
		rest = strings.TrimSpace(rest)
		item := depth == indent && (rest == "-" || strings.HasPrefix(rest, "- "))
		switch {
		case rest == "":
		case depth > indent && strings.HasPrefix(rest, "#"):
		case depth > indent || item:
			end = i + 1
		default:
			return end
		}
	}
	return end
}

// render writes a value under its keys, indented.
func render(path []string, value *notation.Node, indent int) ([]string, error) {
	for _, key := range slices.Backward(path) {
		value = &notation.Node{Kind: notation.Mapping, Members: []notation.Member{{Key: key, Value: value}}}
	}
	text, err := notation.PrintYAML(value.YAML())
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		out = append(out, strings.Repeat(" ", indent)+line)
	}
	return out, nil
}

func scalar(text string) (string, error) {
	out, err := notation.PrintYAML(notation.YAMLText(text, ""))
	return strings.TrimSpace(string(out)), err
}

func splice(lines []string, at, remove int, insert []string) []byte {
	return []byte(strings.Join(slices.Concat(lines[:at], insert, lines[at+remove:]), ""))
}

// changeNodes makes the change in the tree of the file.
func changeNodes(doc *yaml.Node, c Change) error {
	if top(doc) == nil {
		if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 && doc.Content[0].Tag != "!!null" {
			return errors.New("the file is not a mapping")
		}
		*doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}, HeadComment: doc.HeadComment, FootComment: doc.FootComment}
	}
	at, last := top(doc), c.Path[len(c.Path)-1]
	for _, key := range c.Path[:len(c.Path)-1] {
		i := member(at, key)
		if i < 0 {
			at.Content = append(at.Content, notation.YAMLText(key, ""), &yaml.Node{Kind: yaml.MappingNode})
			i = len(at.Content) - 2
		}
		if at = at.Content[i+1]; at.Kind != yaml.MappingNode {
			*at = yaml.Node{Kind: yaml.MappingNode, HeadComment: at.HeadComment, LineComment: at.LineComment}
		}
	}
	i := member(at, last)
	switch {
	case c.Value != nil && i < 0:
		at.Content = append(at.Content, notation.YAMLText(last, ""), c.Value.YAML())
	case i < 0:
		return ErrNoKey
	case c.Value != nil:
		at.Content[i+1] = c.Value.YAML()
	case c.Remove:
		at.Content = slices.Delete(at.Content, i, i+2)
	default:
		at.Content[i].Value = c.Rename
	}
	return nil
}
