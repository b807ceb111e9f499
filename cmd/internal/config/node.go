package config

import (
	"bytes"
	"path/filepath"
	"strings"
)

// Bounds of what a file may hold. They exist so that no file can exhaust the process; the size is
// generous because some clients keep their history in the same file.
const (
	maxFile  = 64 << 20
	maxNodes = 2_000_000
	maxDepth = 200
)

type kind string

const (
	aMapping kind = "a mapping"
	aList    kind = "a list"
	aText    kind = "text"
	aNumber  kind = "a number"
	aBool    kind = "true or false"
	aNull    kind = "nothing"
)

// node is one value of a configuration, whatever notation it was written in. All notations become
// nodes, so that everything after parsing is written once.
type node struct {
	kind    kind
	text    string   // of text, numbers and booleans: as written
	members []member // of mappings: in file order, keys unique
	items   []*node  // of lists
	line    int      // 1-based
}

type member struct {
	key   string
	line  int
	value *node
}

// get returns the value of key in a mapping, nil if n is no mapping or lacks it.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// insert adds a member, or reports that the key is already there.
func (n *node) insert(m member, seen map[string]int, p *problems) {
	if first, dup := seen[m.key]; dup {
		p.add(m.line, "duplicate key %q (first on line %d)", m.key, first)
		return
	}
	seen[m.key] = m.line
	n.members = append(n.members, m)
}

// notation is how a file is written.
type notation string

const (
	inYAML notation = "yaml"
	inJSON notation = "json"
	inTOML notation = "toml"
)

// notationOf goes by the extension; without a telling one, a leading brace means JSON.
func notationOf(path string, data []byte) notation {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return inYAML
	case ".json", ".jsonc", ".json5":
		return inJSON
	case ".toml":
		return inTOML
	}
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if bytes.HasPrefix(trimmed, []byte("{")) || bytes.HasPrefix(trimmed, []byte("//")) || bytes.HasPrefix(trimmed, []byte("/*")) {
		return inJSON
	}
	return inYAML
}

// parse turns a file into nodes. It returns nil when the file cannot be understood, and then at
// least one problem was added.
func parse(path string, data []byte, p *problems) *node {
	if len(data) > maxFile {
		p.add(0, "file is larger than %d MiB", maxFile>>20)
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		p.add(1, "file is empty")
		return nil
	}
	switch notationOf(path, data) {
	case inJSON:
		return parseJSON(data, p)
	case inTOML:
		return parseTOML(data, p)
	}
	return parseYAML(data, p)
}
