package arguments

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A place is what a schema says about one value: a list of alternatives, each a list of schemas
// that must all hold. It says at least what is allowed, never less (`not`, `if` and dynamic
// references are left out, and so is what would take more than maxAlternatives), so a value whose
// kind a place refuses is surely wrong. No alternative at all means that nothing is allowed.
type place [][]*jsonschema.Schema

// anything is the place of a value about which nothing is known.
var anything = place{nil}

const (
	maxAlternatives = 64
	maxExpansion    = 2000 // schemas looked at to find one place
	maxRefDepth     = 16
)

func placeOf(s *jsonschema.Schema) place {
	left := maxExpansion
	return expand(s, 0, &left)
}

func expand(s *jsonschema.Schema, depth int, left *int) place {
	if *left--; s == nil || depth > maxRefDepth || *left < 0 {
		return anything
	}
	if s.Bool != nil {
		if *s.Bool {
			return anything
		}
		return nil
	}
	p := place{{s}}
	if s.Ref != nil {
		p = both(p, expand(s.Ref, depth+1, left))
	}
	for _, sub := range s.AllOf {
		p = both(p, expand(sub, depth+1, left))
	}
	for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(branches) == 0 {
			continue
		}
		var any place
		for _, sub := range branches {
			any = append(any, expand(sub, depth+1, left)...)
		}
		p = both(p, any)
	}
	return p
}

// both is the place where p and q hold; where that has too many alternatives it is p alone.
func both(p, q place) place {
	if len(p)*len(q) > maxAlternatives {
		return p
	}
	var out place
	for _, a := range p {
		for _, b := range q {
			out = append(out, slices.Concat(a, b))
		}
	}
	return out
}

// kinds is a set of JSON types; number stands for numbers that are no integers.
type kinds int

const (
	null kinds = 1 << iota
	boolean
	integer
	number
	text
	list
	object
	everything = null | boolean | integer | number | text | list | object
	scalars    = null | boolean | integer | number | text
)

var kindNames = []struct {
	kinds
	name string
}{
	{object, "object"}, {list, "array"}, {text, "string"}, {integer | number, "number"},
	{integer, "integer"}, {boolean, "boolean"}, {null, "null"},
}

// String names the kinds as a schema would.
func (k kinds) String() string {
	if k == everything {
		return "any value"
	}
	var names []string
	for _, n := range kindNames {
		if k&n.kinds == n.kinds {
			names = append(names, n.name)
			k &^= n.kinds
		}
	}
	return strings.Join(names, " or ")
}

func kindsByName(names []string) (k kinds) {
	for _, name := range names {
		for _, n := range kindNames {
			if n.name == name {
				k |= n.kinds
			}
		}
	}
	return k
}

// kindOf returns the kind of a valid raw value without leading space.
func kindOf(raw []byte) kinds {
	switch raw[0] {
	case '{':
		return object
	case '[':
		return list
	case '"':
		return text
	case 't', 'f':
		return boolean
	case 'n':
		return null
	}
	if isInteger(string(raw)) {
		return integer
	}
	return number
}

// isInteger reports whether a number has no fraction: 5, 5.0 and 5e0 have none.
func isInteger(s string) bool {
	if !strings.ContainsAny(s, ".eE") {
		return true
	}
	if !sane(s) {
		return false
	}
	r, ok := new(big.Rat).SetString(s)
	return ok && r.IsInt()
}

// own returns the kinds one schema allows, its branches not asked.
func own(s *jsonschema.Schema) kinds {
	k := everything
	if s.Types != nil && !s.Types.IsEmpty() {
		k &= kindsByName(s.Types.ToStrings())
	}
	if s.Enum != nil {
		k &= kindsOfValues(s.Enum.Values)
	}
	if s.Const != nil {
		k &= kindsOfValues([]any{*s.Const})
	}
	return k
}

func kindsOfValues(values []any) (k kinds) {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			k |= null
		case bool:
			k |= boolean
		case string:
			k |= text
		case []any:
			k |= list
		case map[string]any:
			k |= object
		case json.Number:
			k |= kindOf([]byte(v))
		default:
			return everything
		}
	}
	return k
}

func ownAll(all []*jsonschema.Schema) kinds {
	k := everything
	for _, s := range all {
		k &= own(s)
	}
	return k
}

// kinds returns the kinds the place allows.
func (p place) kinds() (k kinds) {
	for _, all := range p {
		k |= ownAll(all)
	}
	return k
}

// member is the place of the value of key in an object that stands at p.
func (p place) member(key string) place {
	return p.below(object, func(s *jsonschema.Schema) ([]*jsonschema.Schema, bool) {
		var subs []*jsonschema.Schema
		if sub, ok := s.Properties[key]; ok {
			subs = append(subs, sub)
		}
		for re, sub := range s.PatternProperties {
			if re.MatchString(key) {
				subs = append(subs, sub)
			}
		}
		if len(subs) > 0 {
			return subs, true
		}
		switch more := s.AdditionalProperties.(type) {
		case bool:
			return nil, more
		case *jsonschema.Schema:
			return []*jsonschema.Schema{more}, true
		}
		return nil, true
	})
}

// item is the place of element i of a list that stands at p.
func (p place) item(i int) place {
	return p.below(list, func(s *jsonschema.Schema) ([]*jsonschema.Schema, bool) {
		rest, first := any(s.Items2020), s.PrefixItems
		if s.DraftVersion < 2020 {
			rest = s.Items
			if tuple, ok := s.Items.([]*jsonschema.Schema); ok {
				first, rest = tuple, s.AdditionalItems
			}
		}
		if i < len(first) {
			return []*jsonschema.Schema{first[i]}, true
		}
		switch more := rest.(type) {
		case bool:
			return nil, more
		case *jsonschema.Schema:
			if more != nil {
				return []*jsonschema.Schema{more}, true
			}
		}
		return nil, true
	})
}

// below collects what the alternatives that allow a container of kind k say of one value in it.
// subs returns a schema's part of that, or false if the schema forbids such a value.
func (p place) below(k kinds, subs func(*jsonschema.Schema) ([]*jsonschema.Schema, bool)) place {
	left := maxExpansion
	var out place
next:
	for _, all := range p {
		if ownAll(all)&k == 0 {
			continue
		}
		at := anything
		for _, s := range all {
			found, ok := subs(s)
			if !ok {
				continue next
			}
			for _, sub := range found {
				at = both(at, expand(sub, 0, &left))
			}
		}
		if out = append(out, at...); len(out) > maxAlternatives {
			return anything
		}
	}
	return out
}

// declares reports whether some alternative names key as a property.
func (p place) declares(key string) bool {
	return p.some(func(s *jsonschema.Schema) bool { return s.Properties[key] != nil })
}

// declaring leaves the alternatives that name key, all if none does.
func (p place) declaring(key string) place {
	var out place
	for _, all := range p {
		if (place{all}).declares(key) {
			out = append(out, all)
		}
	}
	if out == nil {
		return p
	}
	return out
}

// requires reports whether some alternative requires key.
func (p place) requires(key string) bool {
	return p.some(func(s *jsonschema.Schema) bool { return slices.Contains(s.Required, key) })
}

func (p place) some(is func(*jsonschema.Schema) bool) bool {
	return slices.ContainsFunc(p, func(all []*jsonschema.Schema) bool { return slices.ContainsFunc(all, is) })
}

// names returns all properties the alternatives name, sorted.
func (p place) names() []string {
	set := make(map[string]bool)
	p.some(func(s *jsonschema.Schema) bool {
		for name := range s.Properties {
			set[name] = true
		}
		return false
	})
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
