package arguments

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// maxProblems is how many problems an Invalid lists.
const maxProblems = 10

// Problem is one thing wrong with the arguments.
type Problem struct {
	Path    string   // where, as `rows[3].amount`; empty for the arguments themselves
	Message string   // what is wrong, values clipped
	Near    []string // names or values that may have been meant, best first
}

// String is one line: path, message, nearest names.
func (p Problem) String() string {
	s := p.Message
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if len(p.Near) > 0 {
		s += " (nearest: " + strings.Join(p.Near, ", ") + ")"
	}
	return s
}

// Invalid says why arguments do not fit a schema.
type Invalid struct {
	Problems []Problem // at most 10, in the order of their paths
	More     int       // how many are not listed
}

// Error lists the problems, separated by semicolons, for a model to read; it is at most a few
// hundred bytes a problem.
func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	s := strings.Join(lines, "; ")
	if e.More > 0 {
		s += fmt.Sprintf("; +%d more", e.More)
	}
	return s
}

// Check tells whether args is an object that fits the schema. The error is an *Invalid. A key that
// stands twice in any object is a problem too, because two readers may see different values. What
// cannot be decided in bounded time counts as fitting, and so does everything for a nil Schema.
func (s *Schema) Check(args json.RawMessage) error {
	if s == nil {
		return nil
	}
	if s.plain != nil && s.plain.fits(args) {
		return nil
	}
	if !rawjson.Valid(args) {
		return invalid(Problem{Message: "arguments are not JSON"})
	}
	i := rawjson.Space(args, 0)
	if args[i] != '{' {
		return invalid(Problem{Message: "arguments: want object, got " + shown(args[i:rawjson.Skip(args, i)])})
	}
	d := &decoder{raw: args}
	var at place // with conditions at the root a place does not tell all
	if applies(s.root) == nil {
		at = s.place
	}
	doc, _ := d.value(i, at, "")
	if len(d.problems) > 0 {
		return invalid(d.problems...)
	}
	if verr := s.evaluate(doc, freeSteps+stepsPerByte*len(args)); verr != nil {
		t := translator{doc: doc, root: s.place}
		t.walk(verr)
		return t.invalid()
	}
	return nil
}

func invalid(ps ...Problem) *Invalid {
	more := max(0, len(ps)-maxProblems)
	return &Invalid{Problems: ps[:len(ps)-more], More: more}
}

// decoder turns valid JSON into the values the validator works on: numbers keep their spelling.
type decoder struct {
	raw      []byte
	problems []Problem
}

// maxPlain is the size above which a value about whose inside the schema says nothing is not
// decoded: an empty one of its kind stands in.
const maxPlain = 64 << 10

// value decodes the value at i and returns the position after it.
func (d *decoder) value(i int, at place, path string) (any, int) {
	switch d.raw[i] {
	case '{':
		return d.object(i, at, path)
	case '[':
		if at.silent(list) {
			if end := rawjson.Skip(d.raw, i); end-i > maxPlain {
				return []any{}, end
			}
		}
		return d.list(i, path)
	case '"':
		end := rawjson.Skip(d.raw, i)
		return rawjson.Unquote(d.raw[i:end]), end
	case 't':
		return true, i + len("true")
	case 'f':
		return false, i + len("false")
	case 'n':
		return nil, i + len("null")
	}
	end := rawjson.Skip(d.raw, i)
	n := string(d.raw[i:end])
	if !sane(n) {
		d.problem(path, "number "+clip(n, maxNote)+" is out of range")
		n = "0"
	}
	return json.Number(n), end
}

func (d *decoder) object(i int, at place, path string) (any, int) {
	if at.silent(object) && path != "" {
		if end := rawjson.Skip(d.raw, i); end-i > maxPlain {
			return map[string]any{}, end
		}
	}
	out := make(map[string]any)
	end := rawjson.Each(d.raw, i, func(name rawjson.Span, start int) (end int) {
		key := rawjson.Unquote(name.Of(d.raw))
		sub := join(path, key)
		if _, twice := out[key]; twice {
			d.problem(sub, "stands twice in its object")
		}
		below := anything
		if path == "" { // deeper a stand-in would rarely pay for finding the place
			below = at.member(key)
		}
		out[key], end = d.value(start, below, sub)
		return end
	})
	return out, end
}

func (d *decoder) list(i int, path string) (any, int) {
	out := []any{}
	end := rawjson.Each(d.raw, i, func(_ rawjson.Span, start int) int {
		v, end := d.value(start, nil, index(path, len(out)))
		out = append(out, v)
		return end
	})
	return out, end
}

func (d *decoder) problem(path, message string) {
	if len(d.problems) <= maxProblems {
		d.problems = append(d.problems, Problem{Path: path, Message: message})
	}
}

// silent reports that the place, the value of a root property, is one schema that allows kind k and
// says nothing about the inside of such a value.
func (p place) silent(k kinds) bool {
	if len(p) != 1 || len(p[0]) != 1 || own(p[0][0])&k == 0 {
		return false
	}
	s := p[0][0]
	if applies(s) != nil || s.Enum != nil || s.Const != nil {
		return false
	}
	if k == list {
		return s.MinItems == nil && s.MaxItems == nil && !s.UniqueItems && s.Contains == nil && s.Items == nil &&
			s.AdditionalItems == nil && s.PrefixItems == nil && s.Items2020 == nil && s.UnevaluatedItems == nil
	}
	open, isBool := s.AdditionalProperties.(bool)
	return s.MaxProperties == nil && s.MinProperties == nil && s.Required == nil && s.PropertyNames == nil &&
		s.Properties == nil && s.PatternProperties == nil && s.DependentRequired == nil &&
		(s.AdditionalProperties == nil || isBool && open)
}

// applies returns a schema that s applies to the same value as itself, nil if there is none.
func applies(s *jsonschema.Schema) *jsonschema.Schema {
	for _, subs := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf,
		{s.Ref, s.RecursiveRef, s.Not, s.If, s.UnevaluatedProperties, s.UnevaluatedItems}} {
		for _, sub := range subs {
			if sub != nil {
				return sub
			}
		}
	}
	if s.DynamicRef != nil || len(s.Dependencies) > 0 || len(s.DependentSchemas) > 0 {
		return s
	}
	return nil
}
