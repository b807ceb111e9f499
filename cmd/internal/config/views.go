package config

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/variable"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// View is a tool view.
type View struct {
	Name string
	Line int
	view.Definition

	toolLines map[[2]string]int // by server and tool, as they are written
}

// ToolLine is the line of a tool's rule; that of the view where it has none.
func (v *View) ToolLine(server, tool string) int {
	if line := v.toolLines[[2]string{server, tool}]; line != 0 {
		return line
	}
	return v.Line
}

// View returns the view of that name, nil if there is none.
func (c *Config) View(name string) *View {
	for i := range c.Views {
		if c.Views[i].Name == name {
			return &c.Views[i]
		}
	}
	return nil
}

// viewNames keeps names that work as part of a path, of a flag and of a tool's name.
var viewNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// views reads the tool views. It runs after the servers are known.
func (d *decoder) views(f *fields) {
	defer d.exposedViews()
	key, n := f.take("views", "tool_views")
	if n == nil || n.AsksNothing() {
		return
	}
	d.mapping(n, key+".")
	d.out.ViewsKey = key
	for _, m := range n.Members {
		if !viewNames.MatchString(m.Key) {
			d.add(m.Line, "%s: a view's name is 1 to 64 letters, digits, dots, dashes and underscores, not %q", key, m.Key)
			continue
		}
		d.out.Views = append(d.out.Views, d.view(key+"."+m.Key+".", m))
	}
	d.out.written.Put("views", d.kept(n))
}

// exposedViews reports views that expose names and that are not there.
func (d *decoder) exposedViews() {
	for _, face := range d.out.Expose {
		if name, ok := strings.CutPrefix(face, "view:"); ok && d.out.View(name) == nil {
			var names []string
			for _, v := range d.out.Views {
				names = append(names, "view:"+v.Name)
			}
			d.near(d.exposed, face, names, "expose: there is no view %q", name)
		}
	}
}

func (d *decoder) view(where string, m notation.Member) View {
	v := View{Name: m.Key, Line: m.Line, toolLines: map[[2]string]int{}}
	f := d.mapping(m.Value, where)
	v.Description = f.literal("description")
	v.Exposure = view.Exposure(f.enumOf([]string{"exposure", "exposure_mode"}, view.Exposures))
	v.IncludeAll = f.bool("include_all", "includeAll")
	v.ExcludeServers = f.globs("exclude_servers", "excludeServers")
	v.Spill = f.bool("spill")
	v.Tools = d.viewTools(f, v)
	v.Resources, v.Prompts = d.patternsOf(f, "resources"), d.patternsOf(f, "prompts")
	d.hooks(f, Hook{level: ofView, Views: []string{glob.QuoteMeta(v.Name)}})
	d.made(f, v.Name)
	f.done()
	return v
}

// enumOf is enum for a key with several spellings.
func (f *fields) enumOf(keys []string, values []view.Exposure) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	key, _ := f.take(keys...)
	return f.enum(key, words...)
}

// viewTools reads the rules for tools by server.
func (d *decoder) viewTools(f *fields, v View) []view.ServerTools {
	_, n := f.take("tools")
	t := d.mapping(n, f.where+"tools.")
	if t.node == nil {
		return nil
	}
	shown := map[string]int{} // lines by name, where each tool needs a name of its own
	var out []view.ServerTools
	for _, m := range t.node.Members {
		d.knownServer(m, t.where)
		st := view.ServerTools{Server: m.Key}
		for _, tool := range d.toolMembers(m.Value, t.where+m.Key+".") {
			rule := d.viewTool(v, t.where+m.Key+"."+tool.Key+".", m.Key, tool)
			st.Tools = append(st.Tools, rule)
			v.toolLines[[2]string{m.Key, tool.Key}] = tool.Line
			d.shownOnce(v, rule, tool.Line, shown)
		}
		out = append(out, st)
	}
	return out
}

// knownServer reports a name or pattern that fits no server.
func (d *decoder) knownServer(m notation.Member, where string) {
	var names []string
	g, err := glob.Compile(m.Key)
	for _, s := range d.out.Servers {
		if s.Name == m.Key || err == nil && g.Match(s.Name) {
			return
		}
		names = append(names, s.Name)
	}
	d.near(m.Line, m.Key, names, "%s: there is no server %q", strings.TrimSuffix(where, "."), m.Key)
}

// toolMembers is the rules of a server, also where they are a list of names or one pattern.
func (d *decoder) toolMembers(n *notation.Node, where string) []notation.Member {
	var out []notation.Member
	switch n.Kind {
	case notation.Text:
		out = append(out, notation.Member{Key: n.Text, Line: n.Line, Value: &notation.Node{Kind: notation.Null, Line: n.Line}})
	case notation.List:
		for _, item := range n.Items {
			out = append(out, notation.Member{Key: d.scalar(item, strings.TrimSuffix(where, ".")), Line: item.Line, Value: &notation.Node{Kind: notation.Null, Line: item.Line}})
		}
	default:
		d.mapping(n, where)
		return n.Members
	}
	return out
}

// shownOnce reports two tools of one name in a view that shows plain names.
func (d *decoder) shownOnce(v View, t view.Tool, line int, seen map[string]int) {
	if t.Disabled || v.Exposure != "" && v.Exposure != view.Direct {
		return
	}
	for _, r := range append([]view.Tool{t}, t.Also...) {
		name := r.Name
		if name == "" {
			name = r.Match
		}
		if strings.ContainsAny(name, "*?[{") {
			continue
		}
		if first, twice := seen[name]; twice {
			d.add(line, "views.%s: two tools are called %q (first on line %d): give one another name", v.Name, name, first)
		}
		seen[name] = line
	}
}

// viewTool reads the rule for one tool.
func (d *decoder) viewTool(v View, where, server string, m notation.Member) view.Tool {
	t := view.Tool{Match: m.Key}
	if _, err := glob.Compile(m.Key); err != nil || m.Key == "" {
		d.add(m.Line, "%s: bad pattern %q", strings.TrimSuffix(where, "."), m.Key)
	}
	if m.Value.Kind == notation.Null {
		return t
	}
	f := d.mapping(m.Value, where)
	_, enabled := f.take("enabled")
	t.Disabled = enabled != nil && !f.bool("enabled")
	d.toolWords(f, &t)
	if strings.ContainsAny(m.Key, "*?[{") && (t.Name != "" || len(t.Also)+len(t.Aliases) > 0) {
		d.add(m.Line, "%s: a pattern can't be given a name", strings.TrimSuffix(where, "."))
	}
	d.hooks(f, Hook{level: ofTool, Views: []string{glob.QuoteMeta(v.Name)}, Servers: []string{server}, Tools: []string{m.Key}})
	f.done()
	return t
}

// toolWords reads what a tool is called and takes: what an alias may have as well.
func (d *decoder) toolWords(f *fields, t *view.Tool) {
	t.Name, t.Description = f.text("name"), f.literal("description")
	_, n := f.take("aliases")
	if n != nil && n.Kind != notation.List {
		n = &notation.Node{Kind: notation.List, Items: []*notation.Node{n}, Line: n.Line}
	}
	if n != nil {
		for _, item := range n.Items {
			if item.Kind != notation.Mapping {
				t.Aliases = append(t.Aliases, d.scalar(item, f.where+"aliases"))
				continue
			}
			a := d.mapping(item, f.where+"aliases.")
			also := view.Tool{}
			d.toolWords(a, &also)
			if also.Name == "" {
				d.add(item.Line, "%saliases: name is missing", f.where)
			}
			a.done()
			t.Also = append(t.Also, also)
		}
	}
	t.Parameters = d.parameters(f)
	for i := range t.Also {
		if t.Also[i].Parameters == nil {
			t.Also[i].Parameters = t.Parameters
		}
	}
}

func (d *decoder) parameters(f *fields) []view.Parameter {
	_, n := f.take("parameters")
	p := d.mapping(n, f.where+"parameters.")
	if p.node == nil {
		return nil
	}
	var out []view.Parameter
	for _, m := range p.node.Members {
		one := d.mapping(m.Value, p.where+m.Key+".")
		r := view.Parameter{Match: m.Key, Hide: one.bool("hide"), Rename: one.text("rename"), Description: one.literal("description"),
			Value: one.value("value"), Default: one.value("default")}
		one.done()
		switch {
		case r.Value != nil && (r.Default != nil || r.Rename != "" || r.Description != ""):
			d.add(m.Line, "%s%s: a parameter with a value is hidden: default, rename and description say nothing", p.where, m.Key)
		case r.Hide && (r.Rename != "" || r.Description != ""):
			d.add(m.Line, "%s%s: a hidden parameter has no name and no description", p.where, m.Key)
		}
		if slices.ContainsFunc(out, func(o view.Parameter) bool {
			return r.Rename != "" && (o.Rename == r.Rename || o.Match == r.Rename && o.Rename == "")
		}) {
			d.add(m.Line, "%s%s: two parameters are called %q", p.where, m.Key, r.Rename)
		}
		out = append(out, r)
	}
	return out
}

// patternsOf reads patterns by server.
func (d *decoder) patternsOf(f *fields, key string) map[string][]string {
	_, n := f.take(key)
	p := d.mapping(n, f.where+key+".")
	if p.node == nil {
		return nil
	}
	out := map[string][]string{}
	for _, m := range p.node.Members {
		d.knownServer(m, p.where)
		out[m.Key] = p.globs(m.Key)
	}
	p.done()
	return out
}

// value reads any value as JSON; nil if it is not there. A null that is written counts as null.
func (f *fields) value(key string) json.RawMessage {
	f.known = append(f.known, key)
	f.asked.note(f.where, []string{key}, "any")
	n := f.node.Get(key)
	if n == nil {
		return nil
	}
	return f.jsonOf(n)
}

// jsonOf is a node as JSON, with the variables in its texts replaced.
func (d *decoder) jsonOf(n *notation.Node) json.RawMessage {
	v, err := n.JSON(d.expanded)
	if err != nil {
		d.add(n.Line, "%v", err)
		return json.RawMessage("null")
	}
	return v
}

// kept is a copy of a node as it is to be printed: with the variables in its texts replaced.
func (d *decoder) kept(n *notation.Node) *notation.Node {
	out := &notation.Node{Kind: n.Kind, Text: n.Text}
	if n.Kind == notation.Text {
		out.Text = variable.Expand(n.Text, d.env).Text
	}
	for _, m := range n.Members {
		if m.Key == "description" && m.Value.Kind == notation.Text { // agents see it as it stands
			out.Put(m.Key, notation.NewText(m.Value.Text))
			continue
		}
		out.Put(m.Key, d.kept(m.Value))
	}
	for _, item := range n.Items {
		out.Items = append(out.Items, d.kept(item))
	}
	return out
}

// SameShape reports whether views, hooks and tools of our own are written alike, but for their lines.
func (c *Config) SameShape(o *Config) bool {
	return c.written.Same(&o.written) && slices.EqualFunc(c.Servers, o.Servers, func(a, b Server) bool {
		return (a.hooks == nil) == (b.hooks == nil) && (a.hooks == nil || a.Name == b.Name && a.hooks.Same(b.hooks))
	})
}

// written prints the parts of a file that are kept as they were written.
func (w writer) written(n *notation.Node, kept *notation.Node) {
	for _, m := range kept.Members {
		n.Put(m.Key, w.shown(m.Value))
	}
}

func (w writer) shown(n *notation.Node) *notation.Node {
	out := &notation.Node{Kind: n.Kind, Text: n.Text}
	if n.Kind == notation.Text {
		out.Text = variable.Escape(w.text(n.Text))
	}
	for _, m := range n.Members {
		if m.Key == "description" && m.Value.Kind == notation.Text {
			out.Put(m.Key, notation.NewText(w.text(m.Value.Text)))
			continue
		}
		out.Put(m.Key, w.shown(m.Value))
	}
	for _, item := range n.Items {
		out.Items = append(out.Items, w.shown(item))
	}
	return out
}
