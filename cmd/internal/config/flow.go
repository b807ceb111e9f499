package config

import (
	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
)

// Flow says which server's kept data may go into which call; see the dispatcher's option of that name.
type Flow struct{ Allow, Deny []FlowRule }

// FlowRule is one way of data; both are globs.
type FlowRule struct{ From, To string }

// flow reads which server's kept data may go into which call.
func (d *decoder) flow(f *fields) {
	_, n := f.take("flow")
	if n == nil || n.AsksNothing() {
		return
	}
	s := d.mapping(n, "flow.")
	d.out.Flow = Flow{Allow: d.flowRules(s, "allow"), Deny: d.flowRules(s, "deny")}
	s.done()
}

func (d *decoder) flowRules(f *fields, key string) (out []FlowRule) {
	_, n := f.take(key)
	if n == nil {
		return nil
	}
	if n.Kind != notation.List {
		d.add(n.Line, "flow.%s must be a list of {from, to}, not %s", key, n.Kind)
		return nil
	}
	for _, item := range n.Items {
		r := d.mapping(item, "flow."+key+".")
		rule := FlowRule{From: r.glob("from"), To: r.glob("to")}
		r.done()
		if item.Kind == notation.Mapping || item.Kind == notation.Null {
			out = append(out, rule)
		}
	}
	return out
}

// glob reads one pattern, which must be there.
func (f *fields) glob(key string) string {
	text := f.text(key)
	switch _, err := glob.Compile(text); {
	case f.node == nil || f.lost:
	case text == "":
		f.add(f.node.Line, "%s%s is missing", f.where, key)
	case err != nil:
		f.add(f.node.Get(key).Line, "%s%s: bad pattern %q: %v", f.where, key, text, err)
	}
	return text
}

func (w writer) flow(n *notation.Node, f Flow) {
	w.section(n, "flow", func(n *notation.Node) {
		for _, rules := range []struct {
			key  string
			list []FlowRule
		}{{"allow", f.Allow}, {"deny", f.Deny}} {
			list := &notation.Node{Kind: notation.List}
			for _, r := range rules.list {
				rule := &notation.Node{Kind: notation.Mapping}
				w.string(rule, "from", r.From)
				w.string(rule, "to", r.To)
				list.Items = append(list.Items, rule)
			}
			if len(list.Items) > 0 {
				n.Put(rules.key, list)
			}
		}
	})
}
