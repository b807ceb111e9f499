package config

import (
	"slices"
	"strconv"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// listed reads servers written as a list, each with its name as id and its command as one list of program and
// arguments. Such files give times in seconds; a number that would be hours is taken for milliseconds, as in our own.
func (d *decoder) listed(list *notation.Node) {
	block := &notation.Node{Kind: notation.Mapping, Line: list.Line}
	for i, item := range list.Items {
		where := "servers[" + strconv.Itoa(i) + "]"
		if item.Kind != notation.Mapping {
			d.add(item.Line, "%s must be a mapping, not %s", where, item.Kind)
			continue
		}
		entry, name := entryOf(item)
		switch {
		case name == nil:
			d.add(item.Line, "%s has no id", where)
		case name.Kind != notation.Text && name.Kind != notation.Number:
			d.add(name.Line, "%s.id must be text, not %s", where, name.Kind)
		case block.Get(name.Text) != nil:
			d.add(name.Line, "duplicate server %q", name.Text)
		default:
			block.Members = append(block.Members, notation.Member{Key: name.Text, Line: item.Line, Value: entry})
		}
	}
	d.servers(block, "servers")
}

// entryOf is an item of the list as an entry of a mapping, and its name, nil if it has none.
func entryOf(item *notation.Node) (entry, name *notation.Node) {
	entry = &notation.Node{Kind: notation.Mapping, Line: item.Line}
	var rest []*notation.Node // arguments that stand in the command
	for _, m := range item.Members {
		switch {
		case m.Key == "id":
			name = m.Value
			continue
		case m.Key == "name" && item.Get("id") == nil:
			name = m.Value
			continue
		case m.Key == "command" && m.Value.Kind == notation.List:
			if len(m.Value.Items) == 0 {
				continue // which is then missing
			}
			rest = m.Value.Items[1:]
			m.Value = m.Value.Items[0]
		case m.Key == "timeout" && m.Value.Kind == notation.Number:
			m.Value = seconds(m.Value)
		}
		entry.Members = append(entry.Members, m)
	}
	if len(rest) == 0 {
		return entry, name
	}
	if args := slices.IndexFunc(entry.Members, func(m notation.Member) bool { return m.Key == "args" }); args >= 0 {
		own := entry.Members[args].Value
		if own.Kind == notation.List {
			rest = slices.Concat(rest, own.Items)
		} else {
			rest = append(slices.Clone(rest), own)
		}
		entry.Members = slices.Delete(entry.Members, args, args+1)
	}
	list := &notation.Node{Kind: notation.List, Items: rest, Line: rest[0].Line}
	entry.Members = append(entry.Members, notation.Member{Key: "args", Line: list.Line, Value: list})
	return entry, name
}

const mostSeconds = 1000 // a larger number is of milliseconds

func seconds(n *notation.Node) *notation.Node {
	v, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || v <= 0 || v >= mostSeconds {
		return n
	}
	return &notation.Node{Kind: notation.Text, Text: n.Text + "s", Line: n.Line}
}
