// Package notation reads files in YAML, JSON with comments and TOML into nodes that know their lines,
// and prints nodes as YAML.
//
// It knows nothing of what the files mean. Every notation becomes the same nodes, so that whoever
// decodes them is written once.
package notation

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// MaxFile is the largest file in bytes, and MaxDepth the deepest nesting, that is read. They exist so
// that no file can exhaust the process; the size is generous because some clients keep their history
// in the same file.
const (
	MaxFile  = 64 << 20
	MaxDepth = 200
	maxNodes = 2_000_000
)

// tooDeep is the fault of a file that nests more than MaxDepth levels.
var tooDeep = fmt.Sprintf("nested more than %d levels deep", MaxDepth)

// Kind is what a node holds, in the words of an error.
type Kind string

// The kinds.
const (
	Mapping Kind = "a mapping"
	List    Kind = "a list"
	Text    Kind = "text"
	Number  Kind = "a number"
	Bool    Kind = "true or false"
	Null    Kind = "nothing"
)

// Node is one value of a file. It is not safe for use while it is changed.
type Node struct {
	Kind    Kind
	Text    string   // of text, numbers and booleans: as written
	Members []Member // of mappings: in file order, keys unique
	Items   []*Node  // of lists
	Line    int      // 1-based; 0 of what was not read from a file
	Comment string   // of mappings: put above its members when printed; reading leaves it empty
}

// NewText returns a node that holds a text.
func NewText(text string) *Node { return &Node{Kind: Text, Text: text} }

// Member is a key of a mapping with its value.
type Member struct {
	Key   string
	Line  int // of the key, as a node's
	Value *Node
}

// Get returns the value of key in a mapping, nil if n is no mapping or lacks it.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, m := range n.Members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// AsksNothing says whether n, as a setting, asks for nothing: false, an empty list, an empty mapping.
func (n *Node) AsksNothing() bool {
	switch n.Kind {
	case Bool:
		return n.Text == "false"
	case List:
		return len(n.Items) == 0
	case Mapping:
		return len(n.Members) == 0
	}
	return false
}

// Same says whether two trees are equal but for their lines.
func (n *Node) Same(o *Node) bool {
	return n.Kind == o.Kind && n.Text == o.Text &&
		slices.EqualFunc(n.Members, o.Members, func(a, b Member) bool { return a.Key == b.Key && a.Value.Same(b.Value) }) &&
		slices.EqualFunc(n.Items, o.Items, (*Node).Same)
}

// Put adds a member to a mapping that lacks its key.
func (n *Node) Put(key string, value *Node) {
	n.Members = append(n.Members, Member{Key: key, Value: value})
}

// Fault is something wrong in a file.
type Fault struct {
	Line int // 1-based; 0 when no line is to blame
	Msg  string
}

// faults gathers what is wrong with a file.
type faults []Fault

func (f *faults) add(line int, format string, args ...any) {
	*f = append(*f, Fault{line, fmt.Sprintf(format, args...)})
}

// insert adds a member, or reports that the key is already there.
func (n *Node) insert(m Member, seen map[string]int, p *faults) {
	if first, dup := seen[m.Key]; dup {
		p.add(m.Line, "duplicate key %q (first on line %d)", m.Key, first)
		return
	}
	seen[m.Key] = m.Line
	n.Members = append(n.Members, m)
}

// Name is the name of a notation.
type Name string

// The notations.
const (
	YAML Name = "yaml"
	JSON Name = "json"
	TOML Name = "toml"
)

// Of returns the notation of a file. It goes by the extension of its path; without a telling one, a leading brace means JSON.
func Of(path string, data []byte) Name {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return YAML
	case ".json", ".jsonc", ".json5":
		return JSON
	case ".toml":
		return TOML
	}
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if bytes.HasPrefix(trimmed, []byte("{")) || bytes.HasPrefix(trimmed, []byte("//")) || bytes.HasPrefix(trimmed, []byte("/*")) {
		return JSON
	}
	return YAML
}

// Parse turns a file into nodes; its name and its beginning tell the notation. The node is nil when
// the file cannot be understood, and then there is at least one fault; with faults like a key that
// stands twice there is a node as well.
func Parse(path string, data []byte) (*Node, []Fault) {
	if len(data) > MaxFile {
		return nil, []Fault{{0, fmt.Sprintf("file is larger than %d MiB", MaxFile>>20)}}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, []Fault{{1, "file is empty"}}
	}
	switch Of(path, data) {
	case JSON:
		return ParseJSON(data)
	case TOML:
		return ParseTOML(data)
	}
	return ParseYAML(data)
}
