// Package edit changes single keys of a configuration file and leaves everything else as it is written.
//
// YAML is changed as text, line by line; what came of it is read again and compared with what was wanted. Where the
// lines cannot be told apart (flow style, anchors), the file is written anew from its tree, comments and order kept.
// JSON with comments is patched in its syntax tree.
package edit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

var (
	// ErrNoKey is the error for a key to remove or to rename that is not there.
	ErrNoKey = errors.New("there is no such key")
	// ErrTaken is the error for a new name that another key has.
	ErrTaken = errors.New("the key is there already")
	// ErrNotation is the error for a file in a notation that is only read.
	ErrNotation = errors.New("only YAML and JSON files can be changed")
)

// Change is one change of a file. Exactly one of Value, Rename and Remove is given.
type Change struct {
	// Path leads from the top of the file to the key, by mapping keys.
	Path []string
	// Value is put at the path. Mappings on the way are made where they are missing; what was there is replaced.
	Value *notation.Node
	// Rename gives the last key of the path another name.
	Rename string
	// Remove takes the key out with its value.
	Remove bool
}

// Set puts a value at a path.
func Set(value *notation.Node, path ...string) Change { return Change{Path: path, Value: value} }

// Remove takes out the key at a path.
func Remove(path ...string) Change { return Change{Path: path, Remove: true} }

// Rename gives the key at a path another name.
func Rename(to string, path ...string) Change { return Change{Path: path, Rename: to} }

// Apply makes the changes in order and returns the new file. The name tells the notation as in notation.Parse; an
// empty file is an empty mapping. The errors wrap ErrNoKey, ErrTaken, ErrNotation, or say what is wrong with the file.
func Apply(name string, file []byte, changes ...Change) ([]byte, error) {
	for _, c := range changes {
		var err error
		if file, err = apply(name, file, c); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(c.Path, "."), err)
		}
	}
	return file, nil
}

func apply(name string, file []byte, c Change) ([]byte, error) {
	tree, err := read(name, file)
	if err != nil {
		return nil, err
	}
	if err := changeTree(tree, c); err != nil {
		return nil, err
	}
	var out []byte
	switch notation.Of(name, file) {
	case notation.YAML:
		out, err = changeYAML(file, c, tree)
	case notation.JSON:
		out, err = changeJSON(file, c)
	default:
		return nil, ErrNotation
	}
	if err != nil {
		return nil, err
	}
	if got, err := read(name, out); err != nil || !got.Same(tree) {
		return nil, errors.New("the file cannot be changed without changing more than that; please edit it by hand")
	}
	return out, nil
}

func read(name string, file []byte) (*notation.Node, error) {
	if isBare(file) {
		return &notation.Node{Kind: notation.Mapping}, nil
	}
	tree, faults := notation.Parse(name, file)
	if len(faults) > 0 {
		return nil, fmt.Errorf("line %d: %s", faults[0].Line, faults[0].Msg)
	}
	if tree.Kind != notation.Mapping {
		return nil, fmt.Errorf("the file is %s, not a mapping", tree.Kind)
	}
	return tree, nil
}

// isBare says if a file holds nothing but comments of YAML.
func isBare(file []byte) bool {
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// changeTree makes the change in the tree: what the file is to mean afterwards.
func changeTree(tree *notation.Node, c Change) error {
	if len(c.Path) == 0 || c.Value == nil && c.Rename == "" && !c.Remove {
		return errors.New("neither a path nor a change was given")
	}
	at, last := tree, c.Path[len(c.Path)-1]
	for i, key := range c.Path[:len(c.Path)-1] {
		next := at.Get(key)
		switch {
		case next == nil && c.Value == nil:
			return ErrNoKey
		case next == nil:
			next = &notation.Node{Kind: notation.Mapping}
			at.Put(key, next)
		case next.Kind == notation.Null:
			next.Kind, next.Text = notation.Mapping, ""
		case next.Kind != notation.Mapping:
			return fmt.Errorf("%s is %s, not a mapping", strings.Join(c.Path[:i+1], "."), next.Kind)
		}
		at = next
	}
	for i := range at.Members {
		m := &at.Members[i]
		if m.Key != last {
			continue
		}
		switch {
		case c.Remove:
			at.Members = append(at.Members[:i:i], at.Members[i+1:]...)
		case c.Rename != "" && at.Get(c.Rename) != nil:
			return fmt.Errorf("%w: %s", ErrTaken, c.Rename)
		case c.Rename != "":
			m.Key = c.Rename
		default:
			m.Value = c.Value
		}
		return nil
	}
	if c.Value == nil {
		return ErrNoKey
	}
	at.Put(last, c.Value)
	return nil
}
