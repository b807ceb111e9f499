package signature

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// descend finds what stands at path. Several schemas that hold there become alternatives of one.
func descend(root *node, path string) (*node, error) {
	at := []*node{root}
	steps := splitPath(path)
	if len(steps) > maxTokens {
		return nil, fmt.Errorf("%w: more than %d steps", ErrNoPath, maxTokens)
	}
	for i, step := range steps {
		w := walk{root: root, step: step}
		w.from(at, 0)
		if len(w.found) == 0 {
			return nil, w.missing(strings.Join(steps[:i], "."))
		}
		at = w.found
	}
	if len(at) == 1 {
		return at[0], nil
	}
	union := &node{raw: json.RawMessage("{}"), opened: true, at: map[string]int{"anyOf": 0}}
	union.keys = []member{{"anyOf", &node{raw: json.RawMessage("[]"), opened: true, items: at}}}
	return union, nil
}

// walk looks for one step of a path from one or more schemas.
type walk struct {
	root  *node
	step  string
	found []*node
	names []string // of properties passed, for the error
	seen  []*node
}

func (w *walk) from(schemas []*node, depth int) {
	for _, n := range schemas {
		if depth > maxTokens || len(w.seen) > maxFold || slices.Contains(w.seen, n) {
			return
		}
		w.seen = append(w.seen, n)
		f := fold(w.root, n)
		w.look(f)
		for _, branches := range f.unions {
			w.from(branches, depth+1)
		}
	}
}

func (w *walk) look(f *facts) {
	add := func(n *node) {
		if n != nil && !slices.Contains(w.found, n) {
			w.found = append(w.found, n)
		}
	}
	if i, ok := f.at[w.step]; ok {
		for _, n := range f.props[i].schemas {
			add(n)
		}
		return
	}
	for _, x := range f.props[:min(len(f.props), 20)] {
		w.names = append(w.names, clean.Clip(label(x.name), maxLabel))
	}
	index := strings.Trim(w.step, "0123456789") == "" && w.step != ""
	switch {
	case f.array() && (index || w.step == "items" || w.step == "[]"):
		for i, n := range f.tuple {
			if !index || w.step == fmt.Sprint(i) {
				add(n)
			}
		}
		if f.items != nil && (!index || len(f.tuple) == 0) {
			add(f.items)
		}
	case f.extra != nil && w.step != "[]":
		add(f.extra)
	case w.step == "*":
		for _, m := range f.patterns {
			add(m.node)
		}
	}
}

func (w *walk) missing(before string) error {
	place := "at the top"
	if before != "" {
		place = "under " + quote(before)
	}
	slices.Sort(w.names)
	names := slices.Compact(w.names)
	if len(names) == 0 {
		return fmt.Errorf("%w: nothing is said %s about %s", ErrNoPath, place, quote(w.step))
	}
	more := ""
	if len(names) > 20 {
		names, more = names[:20], ", …"
	}
	return fmt.Errorf("%w: no %s %s; there are %s%s", ErrNoPath, quote(w.step), place, strings.Join(names, ", "), more)
}

// splitPath takes a path apart: a.b[].c["d.e"] has the steps a, b, [], c, d.e.
func splitPath(path string) []string {
	var steps []string
	for len(path) > 0 && len(steps) <= maxTokens {
		switch {
		case path[0] == '.':
			path = path[1:]
		case strings.HasPrefix(path, `["`):
			end := rawjson.Skip([]byte(path), 1)
			if end < 0 { // no string: a name of nothing
				return append(steps, path)
			}
			steps = append(steps, rawjson.Unquote([]byte(path[1:end])))
			path = strings.TrimPrefix(path[end:], "]")
		case path[0] == '[':
			inner, rest, _ := strings.Cut(path[1:], "]")
			if inner == "" || inner == "*" {
				inner = "[]"
			}
			steps, path = append(steps, inner), rest
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			steps, path = append(steps, path[:end]), path[end:]
		}
	}
	return steps
}
