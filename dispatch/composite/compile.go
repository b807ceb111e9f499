package composite

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// compiler gathers what is wrong with a definition.
type compiler struct {
	problems  Problems
	names     map[string]*step // steps that may be named; nil: one of Parallel that is still to come
	mentioned map[string]mention
}

// mention is an input that a template names.
type mention struct {
	line     int
	optional bool // each template has a default for it
	kind     string
	fallback json.RawMessage
}

func (c *compiler) add(line int, format string, args ...any) {
	c.problems = append(c.problems, Problem{Line: line, Msg: fmt.Sprintf(format, args...)})
}

var stepName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// step compiles a step; those before it may be named in it, and itself afterwards.
func (c *compiler) step(s Step) *step {
	out := &step{Step: s}
	if !stepName.MatchString(s.Name) {
		c.add(s.Line, "a step's name is letters, digits, dashes and underscores, not %q", s.Name)
	}
	if done := c.names[s.Name]; done != nil {
		c.add(s.Line, "two steps are called %q (first on line %d)", s.Name, done.Line)
	}
	if server, tool, ok := strings.Cut(s.Tool, "."); !ok && !strings.ContainsAny(s.Tool, "/:") || server == "" || ok && tool == "" {
		c.add(s.Line, "step %s: tool is SERVER.TOOL, not %q", s.Name, s.Tool)
	}
	if s.Retry < 0 || s.Retry > maxRetries {
		c.add(s.Line, "step %s: retry is 0 to %d", s.Name, maxRetries)
	}
	args := s.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if args[rawjson.Space(args, 0)] != '{' {
		c.add(s.Line, "step %s: args is not a mapping", s.Name)
	}
	each := s.ForEach != ""
	out.args = c.value(args, s.Line, "step "+s.Name, each)
	if each {
		out.forEach = c.value(rawjson.Quote(s.ForEach), s.Line, "step "+s.Name+": forEach", false)
		if t := out.forEach; t.kind != 't' || len(t.text) != 1 || t.text[0].ref == nil {
			c.add(s.Line, "step %s: forEach is one template of a list", s.Name)
		} else if r := t.text[0].ref; r.root == "inputs" && len(r.path) == 1 {
			c.note(*r, s.Line, "array")
		}
	}
	if s.When != "" {
		out.when = c.condition(s)
	}
	c.names[s.Name] = out
	return out
}

// value compiles a JSON value.
func (c *compiler) value(raw json.RawMessage, line int, where string, each bool) *value {
	v := &value{raw: raw, line: line}
	i := rawjson.Space(raw, 0)
	if !rawjson.Valid(raw) {
		c.add(line, "%s: not JSON", where)
		return v
	}
	switch raw[i] {
	case '{':
		v.kind = '{'
		for key, m := range rawjson.Members(raw) {
			v.members = append(v.members, valueMember{key, c.value(m, line, where+"."+key, each)})
		}
	case '[':
		v.kind = '['
		for item := range rawjson.Elements(raw) {
			v.items = append(v.items, c.value(item, line, where, each))
		}
	case '"':
		text, err := parseText(rawjson.Unquote(raw[i:]))
		if err != nil {
			c.add(line, "%s: %v", where, err)
			return v
		}
		v.kind, v.text = 't', text
		for _, seg := range text {
			if seg.ref != nil {
				c.reference(*seg.ref, line, where, each)
			}
		}
	}
	return v
}

// reference checks that what a template names is there.
func (c *compiler) reference(r reference, line int, where string, each bool) {
	switch r.root {
	case "inputs":
		c.note(r, line, "")
	case "steps":
		if _, known := c.names[r.path[0]]; !known {
			c.add(line, "%s: %s: there is no step %q before it", where, r, r.path[0])
		}
	default:
		if !each {
			c.add(line, "%s: %s is for a step with forEach", where, r)
		}
	}
}

// note remembers that an input is named, and with what it must agree.
func (c *compiler) note(r reference, line int, kind string) {
	m, again := c.mentioned[r.path[0]]
	if !again {
		m = mention{line: line, optional: true}
	}
	m.optional = m.optional && r.fallback != nil
	if len(r.path) == 1 && r.fallback != nil {
		m.fallback = r.fallback
	}
	if kind != "" {
		m.kind, m.line = kind, line
	}
	c.mentioned[r.path[0]] = m
}

// connect finds which steps of a Parallel need others of it, and that they do so in no circle.
func (c *compiler) connect(steps []*step) {
	for _, s := range steps {
		for _, r := range references(s) {
			if other := c.names[r.path[0]]; r.root == "steps" && other != nil && !slices.Contains(s.needs, other) {
				s.needs = append(s.needs, other)
			}
		}
	}
	state := map[*step]int{}
	var visit func(s *step) bool
	visit = func(s *step) bool {
		if state[s] != 0 {
			return state[s] == 2
		}
		state[s] = 1
		for _, n := range s.needs {
			if !visit(n) {
				return false
			}
		}
		state[s] = 2
		return true
	}
	for _, s := range steps {
		if !visit(s) {
			c.add(s.Line, "step %s waits for itself, by the steps it names", s.Name)
			return
		}
	}
}

// references are the templates of a step.
func references(s *step) []reference {
	var out []reference
	var walk func(v *value)
	walk = func(v *value) {
		if v == nil {
			return
		}
		for _, seg := range v.text {
			if seg.ref != nil {
				out = append(out, *seg.ref)
			}
		}
		for _, m := range v.members {
			walk(m.value)
		}
		for _, item := range v.items {
			walk(item)
		}
	}
	walk(s.args)
	walk(s.forEach)
	if s.when != nil {
		walk(s.when.left)
		walk(s.when.right)
	}
	return out
}
