package arguments

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	maxExampleDepth = 8
	maxExampleBytes = 4 << 10
	maxExampleItems = 20
)

// Example returns one minimal arguments object: what is required, filled with the schema's own
// constants, defaults and examples where it has any. It fits the schema except where only a pattern
// or a condition knows what does; it is at most 4 KiB.
func (s *Schema) Example() json.RawMessage {
	var first json.RawMessage
	for i, all := range s.place {
		if i == 8 {
			break
		}
		if ownAll(all)&object == 0 {
			continue
		}
		e := exampler{left: maxExampleBytes}
		example := e.object(all, 0)
		if len(example) > maxExampleBytes {
			continue
		}
		if s.Check(example) == nil {
			return example
		}
		if first == nil {
			first = example
		}
	}
	if first == nil {
		return json.RawMessage("{}")
	}
	return first
}

type exampler struct{ left int }

// value returns an example for a place.
func (e *exampler) value(at place, depth int) json.RawMessage {
	if e.left -= 8; e.left < 0 || depth > maxExampleDepth {
		return json.RawMessage("null")
	}
	all := preferred(at)
	if fixed := given(all); fixed != nil {
		e.left -= len(fixed)
		return fixed
	}
	switch k := ownAll(all); {
	case k == everything && wantsObject(all), k&(text|integer|number|boolean|list) == 0 && k&object != 0:
		return e.object(all, depth)
	case k&text != 0:
		return e.text(all)
	case k&(integer|number) != 0:
		return numberExample(all, k)
	case k&boolean != 0:
		return json.RawMessage("true")
	case k&list != 0:
		return e.list(all, depth)
	}
	return json.RawMessage("null")
}

// preferred is the first alternative that allows more than null.
func preferred(at place) []*jsonschema.Schema {
	for _, all := range at {
		if ownAll(all)&^null != 0 {
			return all
		}
	}
	return nil
}

// given returns a value that the schema itself names and allows: nil if it names none.
func given(all []*jsonschema.Schema) json.RawMessage {
	var named []any
	for _, s := range all {
		if s.Const != nil {
			named = append(named, *s.Const)
		}
	}
	for _, s := range all {
		if s.Enum != nil {
			named = append(named, s.Enum.Values...)
		}
	}
	for _, s := range all {
		if s.Default != nil && *s.Default != nil {
			named = append(named, *s.Default)
		}
		named = append(named, s.Examples...)
	}
	for _, v := range named {
		if kindsOfValues([]any{v})&ownAll(all) != 0 {
			return encoded(v)
		}
	}
	return nil
}

func encoded(v any) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil || b.Len() > maxExampleBytes {
		return nil
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

func wantsObject(all []*jsonschema.Schema) bool {
	return slices.ContainsFunc(all, func(s *jsonschema.Schema) bool {
		return len(s.Properties) > 0 || len(s.Required) > 0
	})
}

// object holds what is required, in the order the schemas require it.
func (e *exampler) object(all []*jsonschema.Schema, depth int) json.RawMessage {
	var o Object
	for _, s := range all {
		for _, name := range s.Required {
			if _, ok := o.Get(name); !ok && e.left > 0 {
				e.left -= len(name)
				o = o.Set(name, e.value(place{all}.member(name), depth+1))
			}
		}
	}
	return o.Raw()
}

func (e *exampler) list(all []*jsonschema.Schema, depth int) json.RawMessage {
	n := 0
	for _, s := range all {
		if s.MinItems != nil {
			n = max(n, min(*s.MinItems, maxExampleItems))
		}
	}
	items := make([]string, n)
	for i := range items {
		items[i] = string(e.value(place{all}.item(i), depth+1))
	}
	return json.RawMessage("[" + strings.Join(items, ",") + "]")
}

var formatExamples = map[string]string{
	"date": "2024-01-31", "date-time": "2024-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "PT1H",
	"email": "name@example.com", "idn-email": "name@example.com", "hostname": "example.com", "ipv4": "192.0.2.1",
	"ipv6": "2001:db8::1", "uri": "https://example.com/", "uri-reference": "/path", "iri": "https://example.com/",
	"uuid": "123e4567-e89b-12d3-a456-426614174000", "json-pointer": "/a", "semver": "1.0.0",
}

// patternTries are strings that satisfy many patterns seen in the wild.
var patternTries = []string{"a", "A", "1", "abc", "12", "123", "1234", "a1", "a-b", "a/b", "a.b", "/a", "#a", "2024-01-31",
	"12:00", "example.com", "name@example.com", "https://example.com/", "0x1", "1.0.0", "2024-01-31T12:00:00Z", "ABC-1", ""}

func (e *exampler) text(all []*jsonschema.Schema) json.RawMessage {
	example, least, most := "string", 0, -1
	for _, s := range all {
		if s.Format != nil && formatExamples[s.Format.Name] != "" {
			example = formatExamples[s.Format.Name]
		}
		if s.MinLength != nil {
			least = max(least, min(*s.MinLength, e.left))
		}
		if s.MaxLength != nil && *s.MaxLength >= 0 && (most < 0 || *s.MaxLength < most) {
			most = *s.MaxLength
		}
		if s.Pattern != nil && !s.Pattern.MatchString(example) {
			if i := slices.IndexFunc(patternTries, s.Pattern.MatchString); i >= 0 {
				example = patternTries[i]
			}
		}
	}
	if len(example) < least {
		example += strings.Repeat("x", least-len(example))
	}
	if most >= 0 && len(example) > most {
		example = example[:most]
	}
	e.left -= len(example)
	return rawjson.Quote(example)
}

// numberExample is 1, moved into the bounds and onto a multiple.
func numberExample(all []*jsonschema.Schema, k kinds) json.RawMessage {
	v, one := big.NewRat(1, 1), big.NewRat(1, 1)
	for _, s := range all {
		if s.Maximum != nil && v.Cmp(s.Maximum) > 0 {
			v.Set(s.Maximum)
		}
		if s.ExclusiveMaximum != nil && v.Cmp(s.ExclusiveMaximum) >= 0 {
			v.Sub(s.ExclusiveMaximum, one)
		}
		if s.Minimum != nil && v.Cmp(s.Minimum) < 0 {
			v.Set(s.Minimum)
		}
		if s.ExclusiveMinimum != nil && v.Cmp(s.ExclusiveMinimum) <= 0 {
			v.Add(s.ExclusiveMinimum, one)
		}
		if m := s.MultipleOf; m != nil && m.Sign() > 0 {
			v.Mul(m, ceil(new(big.Rat).Quo(v, m)))
		}
	}
	if k&number == 0 {
		v = ceil(v)
	}
	if v.IsInt() {
		return json.RawMessage(v.Num().String())
	}
	return json.RawMessage(strings.TrimRight(v.FloatString(12), "0"))
}

func ceil(v *big.Rat) *big.Rat {
	q := new(big.Int).Neg(v.Num())
	q.Div(q, v.Denom()) // rounds down, so the negative rounds up
	return new(big.Rat).SetInt(q.Neg(q))
}
