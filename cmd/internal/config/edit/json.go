package edit

import (
	"bytes"
	"encoding/json"
	"errors"
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

var errNumber = errors.New("a number that JSON does not have")

// asJSON writes a node as JSON, members in their order.
func asJSON(n *notation.Node) (json.RawMessage, error) {
	var b bytes.Buffer
	err := writeJSON(&b, n)
	return b.Bytes(), err
}

func writeJSON(b *bytes.Buffer, n *notation.Node) error {
	switch n.Kind {
	case notation.Mapping:
		b.WriteByte('{')
		for i, m := range n.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, m.Key)
			b.WriteByte(':')
			if err := writeJSON(b, m.Value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case notation.List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case notation.Number, notation.Bool:
		if !json.Valid([]byte(n.Text)) {
			return fmt.Errorf("%w: %s", errNumber, n.Text)
		}
		b.WriteString(n.Text)
	case notation.Null:
		b.WriteString("null")
	default:
		writeText(b, n.Text)
	}
	return nil
}

func writeText(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // texts always encode
	}
	b.Truncate(b.Len() - 1) // the line break
}
