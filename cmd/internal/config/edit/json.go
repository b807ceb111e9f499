package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// changeJSON patches the file (RFC 6902); comments and layout of the rest stay.
func changeJSON(file []byte, c Change) ([]byte, error) {
	root, err := hujson.Parse(file)
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	operations, err := patch(&root, c)
	if err != nil {
		return nil, err
	}
	if operations != nil {
		if err := root.Patch(operations); err != nil {
			return nil, fmt.Errorf("patch JSON: %w", err)
		}
	}
	out := root.Pack()
	tidy, err := hujson.Format(out)
	if err == nil && formatted(file) {
		out = tidy
	}
	return out, nil
}

// formatted says if a file is laid out as the formatter does it: then what was added is to be as well.
func formatted(file []byte) bool {
	tidy, err := hujson.Format(bytes.Clone(file))
	return err == nil && bytes.Equal(bytes.TrimSpace(tidy), bytes.TrimSpace(file))
}

type operation struct {
	Op    string          `json:"op"`
	From  string          `json:"from,omitempty"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// patch is the change as JSON Patch operations.
func patch(root *hujson.Value, c Change) ([]byte, error) {
	var all []operation
	pointer := ""
	for _, key := range c.Path[:len(c.Path)-1] {
		pointer += "/" + escape(key)
		if v := root.Find(pointer); len(all) > 0 || v == nil || isNull(v) {
			all = append(all, operation{Op: "add", Path: pointer, Value: json.RawMessage("{}")})
		}
	}
	last := pointer + "/" + escape(c.Path[len(c.Path)-1])
	switch {
	case c.Remove:
		all = append(all, operation{Op: "remove", Path: last})
	case c.Rename != "":
		return nil, rename(root.Find(pointer), c.Path[len(c.Path)-1], c.Rename)
	default:
		value, err := asJSON(c.Value)
		if err != nil {
			return nil, err
		}
		op := "add"
		if root.Find(last) != nil && len(all) == 0 {
			op = "replace"
		}
		all = append(all, operation{Op: op, Path: last, Value: value})
	}
	return json.Marshal(all)
}

func isNull(v *hujson.Value) bool {
	l, ok := v.Value.(hujson.Literal)
	return ok && l.Kind() == 'n'
}

// rename changes a key in place, which no patch does without moving the member. Nothing is left to patch.
func rename(in *hujson.Value, from, to string) error {
	o, ok := in.Value.(*hujson.Object)
	if !ok {
		return ErrNoKey
	}
	for i := range o.Members {
		if l, ok := o.Members[i].Name.Value.(hujson.Literal); ok && l.String() == from {
			o.Members[i].Name.Value = hujson.String(to)
			return nil
		}
	}
	return ErrNoKey
}

func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// asJSON writes a node as JSON, members in their order.
func asJSON(n *notation.Node) (json.RawMessage, error) {
	return n.JSON(func(text *notation.Node) string { return text.Text })
}
