package config

import (
	"errors"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/composite"
)

// Composite is a tool made of calls to others.
type Composite struct {
	View string // "" = for agents without a view
	Line int
	Tool *composite.Tool
	Name string
}

// made reads the tools of our own of a part of the file.
func (d *decoder) made(f *fields, view string) {
	d.composites(f, view)
	d.custom(f, view)
}

func (d *decoder) composites(f *fields, view string) {
	key, n := f.take("composite_tools", "compositeTools")
	c := d.mapping(n, f.where+key+".")
	if c.node == nil {
		return
	}
	for _, m := range c.node.Members {
		before := len(d.list)
		def := d.composite(c.where+m.Key, m)
		if len(d.list) > before {
			continue
		}
		tool, err := composite.Compile(def)
		if problems, ok := errors.AsType[composite.Problems](err); ok {
			for _, p := range problems {
				d.add(p.Line, "%s%s: %s", c.where, m.Key, p.Msg)
			}
			continue
		}
		for _, s := range append(def.Parallel, def.Steps...) {
			d.stepServer(s, c.where+m.Key)
		}
		d.out.Composites = append(d.out.Composites, Composite{View: view, Name: m.Key, Line: m.Line, Tool: tool})
	}
}

// stepServer reports a step that calls a server which is not configured.
func (d *decoder) stepServer(s composite.Step, where string) {
	var names []string
	for i := range d.out.Servers {
		name := d.out.Servers[i].Name
		if strings.HasPrefix(s.Tool, name) && len(s.Tool) > len(name) {
			switch s.Tool[len(name)] {
			case '.', '/', ':', '_':
				return
			}
		}
		names = append(names, name)
	}
	server, _, _ := strings.Cut(s.Tool, ".")
	d.near(s.Line, server, names, "%s: step %s references unknown tool '%s': there is no server %q", where, s.Name, s.Tool, server)
}

func (d *decoder) composite(where string, m notation.Member) composite.Definition {
	f := d.mapping(m.Value, where+".")
	def := composite.Definition{Name: m.Key, Line: m.Line, Description: f.literal("description"), Inputs: f.value("inputs"),
		Annotations: f.value("annotations"), Output: f.value("output")}
	_, parallel := f.take("parallel")
	def.Parallel = d.steps(parallel, where+".parallel")
	_, steps := f.take("steps")
	def.Steps = d.steps(steps, where+".steps")
	f.done()
	return def
}

// steps reads steps by name, or a list of steps with names.
func (d *decoder) steps(n *notation.Node, where string) []composite.Step {
	if n == nil {
		return nil
	}
	var out []composite.Step
	if n.Kind == notation.List {
		for _, item := range n.Items {
			f := d.mapping(item, where+".")
			out = append(out, d.step(f, f.text("name", "id"), item.Line))
		}
		return out
	}
	for _, m := range d.mapping(n, where+".").members() {
		out = append(out, d.step(d.mapping(m.Value, where+"."+m.Key+"."), m.Key, m.Line))
	}
	return out
}

func (d *decoder) step(f *fields, name string, line int) composite.Step {
	s := composite.Step{Name: name, Line: line, Tool: f.text("tool"), Args: f.value("args"), Optional: f.bool("optional"),
		AtOnce: int(f.count("concurrency", 1, 100)), Timeout: f.duration("timeout")}
	key, when := f.take("when")
	if when != nil {
		s.When = d.scalar(when, f.where+key)
	}
	s.ForEach = f.text("forEach", "for_each")
	_, retry := f.take("retry")
	if retry != nil && retry.Kind == notation.Mapping {
		r := d.mapping(retry, f.where+"retry.")
		s.Retry, s.Delay = int(r.count("times", 1, 10)), r.duration("delay")
		r.done()
	} else {
		s.Retry = int(f.count("retry", 0, 10))
	}
	if len(s.Args) > 0 && s.Args[0] != '{' {
		d.add(line, "%sargs must be a mapping", f.where)
		s.Args = nil
	}
	f.done()
	return s
}
