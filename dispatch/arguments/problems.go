package arguments

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	maxShown = 60 // bytes of a value in a message
	maxEnum  = 12 // values of an enum listed
)

// translator turns the validator's tree of errors into a flat list of problems.
type translator struct {
	doc      any
	root     place
	problems []Problem
}

func (t *translator) invalid() *Invalid {
	if len(t.problems) == 0 {
		t.problems = []Problem{{Message: "arguments do not fit the schema"}}
	}
	slices.SortStableFunc(t.problems, func(a, b Problem) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	return invalid(slices.CompactFunc(t.problems, func(a, b Problem) bool {
		return a.Path == b.Path && a.Message == b.Message
	})...)
}

// walk collects the problems below e; of alternatives only the nearest counts.
func (t *translator) walk(e *jsonschema.ValidationError) {
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			t.walk(cause)
		}
	case *kind.AnyOf:
		t.nearest(e)
	case *kind.OneOf:
		if k.Subschemas == nil {
			t.nearest(e)
			return
		}
		t.add(e, "fits more than one of the alternatives; exactly one is allowed")
	case *kind.Required:
		for _, name := range k.Missing {
			t.missing(e.InstanceLocation, name)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			t.unknown(e.InstanceLocation, name)
		}
	case *kind.FalseSchema:
		if n := len(e.InstanceLocation); n > 0 {
			t.unknown(e.InstanceLocation[:n-1], e.InstanceLocation[n-1])
			return
		}
		t.add(e, "the tool allows no arguments")
	default:
		t.leaf(e)
	}
}

// leaf says what is wrong with one value.
func (t *translator) leaf(e *jsonschema.ValidationError) {
	got := func() string { return shownValue(t.at(e.InstanceLocation)) }
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		t.add(e, "want %s, got %s", kindsByName(k.Want), got())
	case *kind.Enum:
		t.enum(e, k.Want)
	case *kind.Const:
		t.add(e, "want %s, got %s", shownValue(k.Want), got())
	case *kind.Pattern:
		t.add(e, "want a string matching %s, got %s", clip(k.Want, maxShown), got())
	case *kind.MinLength:
		t.add(e, "want at least %d characters, got %d", k.Want, k.Got)
	case *kind.MaxLength:
		t.add(e, "want at most %d characters, got %d", k.Want, k.Got)
	case *kind.MinItems:
		t.add(e, "want at least %d elements, got %d", k.Want, k.Got)
	case *kind.MaxItems:
		t.add(e, "want at most %d elements, got %d", k.Want, k.Got)
	case *kind.AdditionalItems:
		t.add(e, "%d elements too many", k.Count)
	case *kind.UniqueItems:
		t.add(e, "elements %d and %d are equal, each may stand once", k.Duplicates[0], k.Duplicates[1])
	case *kind.MinProperties:
		t.add(e, "want at least %d keys, got %d", k.Want, k.Got)
	case *kind.MaxProperties:
		t.add(e, "want at most %d keys, got %d", k.Want, k.Got)
	case *kind.Minimum:
		t.add(e, "want at least %s, got %s", spelled(k.Want), got())
	case *kind.Maximum:
		t.add(e, "want at most %s, got %s", spelled(k.Want), got())
	case *kind.ExclusiveMinimum:
		t.add(e, "want more than %s, got %s", spelled(k.Want), got())
	case *kind.ExclusiveMaximum:
		t.add(e, "want less than %s, got %s", spelled(k.Want), got())
	case *kind.MultipleOf:
		t.add(e, "want a multiple of %s, got %s", spelled(k.Want), got())
	case *kind.Dependency:
		t.needs(e, k.Prop, k.Missing)
	case *kind.DependentRequired:
		t.needs(e, k.Prop, k.Missing)
	case *kind.PropertyNames:
		t.add(e, "key %s is not allowed", clip(string(rawjson.Quote(k.Property)), maxShown))
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		t.add(e, "the schema asks for certain elements that are not there")
	default:
		t.add(e, "%s does not fit the schema", got())
	}
}

func (t *translator) add(e *jsonschema.ValidationError, format string, args ...any) {
	t.problems = append(t.problems, Problem{Path: t.path(e.InstanceLocation), Message: fmt.Sprintf(format, args...)})
}

func (t *translator) enum(e *jsonschema.ValidationError, want []any) {
	v := t.at(e.InstanceLocation)
	var listed, names []string
	for _, w := range want {
		if s, ok := w.(string); ok {
			names = append(names, s)
		}
		if len(listed) < maxEnum {
			listed = append(listed, shownValue(w))
		}
	}
	if more := len(want) - len(listed); more > 0 {
		listed = append(listed, fmt.Sprintf("+%d more", more))
	}
	message := fmt.Sprintf("want one of %s, got %s", strings.Join(listed, ", "), shownValue(v))
	var near []string
	if s, ok := v.(string); ok {
		near = clipAll(Nearest(s, names, 2))
	}
	t.problems = append(t.problems, Problem{t.path(e.InstanceLocation), message, near})
}

func (t *translator) missing(loc []string, name string) {
	at := t.place(loc)
	message := "missing, want " + at.declaring(name).member(name).kinds().String()
	var strangers []string
	given, _ := t.at(loc).(map[string]any)
	for key := range given {
		if !at.declares(key) {
			strangers = append(strangers, key)
		}
	}
	near := clipAll(Nearest(name, strangers, 1))
	if len(near) > 0 {
		message += fmt.Sprintf("; %q was given", near[0])
	}
	t.problems = append(t.problems, Problem{Path: t.path(append(slices.Clone(loc), name)), Message: message})
}

func (t *translator) unknown(loc []string, name string) {
	at := t.place(loc)
	names := at.names()
	message := "unknown key"
	near := clipAll(Nearest(name, names, 3))
	switch {
	case at.declares(name):
		message = "not allowed here"
		near = nil
	case len(near) == 0 && len(names) == 0:
		message += ", none is allowed"
	case len(near) == 0 && len(names) <= maxEnum:
		message += ", want one of " + strings.Join(clipAll(names), ", ")
	}
	t.problems = append(t.problems, Problem{t.path(append(slices.Clone(loc), name)), message, near})
}

func (t *translator) needs(e *jsonschema.ValidationError, given string, missing []string) {
	t.add(e, "%s needs %s beside it", clip(given, maxShown), strings.Join(clipAll(missing), ", "))
}

// nearest walks the branch that misses least; where every branch wants another type they are named
// together.
func (t *translator) nearest(e *jsonschema.ValidationError) {
	var best *jsonschema.ValidationError
	least := 0
	var wanted kinds
	for _, cause := range e.Causes {
		if k, ok := cause.ErrorKind.(*kind.Type); ok && len(cause.InstanceLocation) == len(e.InstanceLocation) {
			wanted |= kindsByName(k.Want)
		}
		if m := miss(cause, len(e.InstanceLocation)); best == nil || m < least {
			best, least = cause, m
		}
	}
	switch {
	case best == nil:
		t.add(e, "fits none of the alternatives")
	case least >= missType && wanted != 0:
		t.add(e, "want %s, got %s", wanted, shownValue(t.at(e.InstanceLocation)))
	default:
		t.walk(best)
	}
}

// How far a branch misses, in points: another type says that the branch is not meant at all, a
// wrong fixed value just below that it is probably a neighbour's, the rest are slips.
const (
	missType  = 1000
	missFixed = 50
	missOther = 5
	missKey   = 3
)

func miss(e *jsonschema.ValidationError, depth int) int {
	below := len(e.InstanceLocation) - depth
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		least := missOther
		for i, cause := range e.Causes {
			if m := miss(cause, depth); i == 0 || m < least {
				least = m
			}
		}
		return least + 1
	case *kind.Type:
		if below == 0 {
			return missType
		}
	case *kind.FalseSchema:
		if below == 0 {
			return missType
		}
		return missKey
	case *kind.Const, *kind.Enum:
		if below <= 1 {
			return missFixed
		}
	case *kind.Required:
		return missKey * len(k.Missing)
	case *kind.AdditionalProperties:
		return missKey * len(k.Properties)
	}
	if len(e.Causes) == 0 {
		return missOther
	}
	sum := 0
	for _, cause := range e.Causes {
		sum += miss(cause, depth)
	}
	return sum
}

// at returns the value at a location.
func (t *translator) at(loc []string) any {
	v := t.doc
	for _, token := range loc {
		switch in := v.(type) {
		case map[string]any:
			v = in[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		}
	}
	return v
}

// place returns what the schema says at a location.
func (t *translator) place(loc []string) place {
	at, v := t.root, t.doc
	for n, token := range loc {
		if _, ok := v.([]any); ok {
			i, _ := strconv.Atoi(token)
			at = at.item(i)
		} else {
			at = at.member(token)
		}
		v = t.at(loc[:n+1])
	}
	return at
}

// path writes a location as an agent would.
func (t *translator) path(loc []string) string {
	path := ""
	for n, token := range loc {
		if i, err := strconv.Atoi(token); err == nil {
			if _, ok := t.at(loc[:n]).([]any); ok {
				path = index(path, i)
				continue
			}
		}
		path = join(path, token)
	}
	return path
}

// shownValue describes a value in a message: its kind, and the value itself if it is a scalar.
func shownValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return clip(v.String(), maxShown)
	case string:
		return "string " + string(rawjson.Quote(clip(v, maxShown)))
	case []any:
		return fmt.Sprintf("array of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("object of %d keys", len(v))
	}
	return "a value"
}

// shown is shownValue for a raw scalar or list.
func shown(raw []byte) string {
	if k := kindOf(raw); k&scalars == 0 {
		return k.String()
	}
	return clip(string(raw), maxShown)
}

// spelled writes a bound as a decimal number.
func spelled(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String(), maxShown)
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func clipAll(names []string) []string {
	for i := range names {
		names[i] = clip(names[i], maxShown)
	}
	return names
}
