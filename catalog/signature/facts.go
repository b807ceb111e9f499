package signature

import "slices"

// maxKept bounds the facts remembered, in steps it took to fold them: a thousand references to one huge object must not
// keep it a thousand times.
const maxKept = 256

// facts are what a schema says once its local references and allOf parts are folded into it.
type facts struct {
	never    bool
	types    []string // nil: not said
	nullable bool
	values   []*node // of enum or const; nil: not said
	props    []prop
	at       map[string]int
	required []string
	closed   bool  // additionalProperties: false
	extra    *node // the schema of further properties
	patterns []member
	names    *node // propertyNames
	items    *node
	tuple    []*node
	unions   [][]*node
	said     []*node // the schema objects folded, the nearest first
	work     int     // steps it took to fold
}

// prop is one property; several schemas all hold for it.
type prop struct {
	name    string
	schemas []*node
}

// fold reads schemas that all hold. root is the document they stand in; it remembers what a single one said, for a
// rendering asks more than once. The facts must not be changed.
func fold(root *node, schemas ...*node) *facts {
	if len(schemas) == 1 {
		if f := root.folded[schemas[0]]; f != nil {
			return f
		}
	}
	f := &facts{at: map[string]int{}}
	for _, n := range schemas {
		f.add(root, n)
	}
	if len(schemas) == 1 && f.work <= maxKept {
		if root.folded == nil {
			root.folded = map[*node]*facts{}
		}
		root.folded[schemas[0]] = f
	}
	return f
}

func (f *facts) add(root, n *node) {
	f.work++
	if n != nil && string(n.raw) == "false" {
		f.never = true
	}
	if !n.is('{') || len(f.said) >= maxFold || slices.Contains(f.said, n) {
		return
	}
	f.said = append(f.said, n)
	f.addTypes(n)
	f.addObject(n)
	f.addArray(n)
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := n.get(key).elements()
		if len(branches) == 1 {
			f.add(root, branches[0])
		} else if len(branches) > 1 {
			f.unions = append(f.unions, branches)
		}
	}
	if ref, ok := n.get("$ref").text(); ok {
		target, _ := root.resolve(ref)
		f.add(root, target)
	}
	for _, part := range n.get("allOf").elements() {
		f.add(root, part)
	}
}

func (f *facts) addTypes(n *node) {
	var types []string
	if t, ok := n.get("type").text(); ok {
		types = []string{t}
	}
	for _, e := range n.get("type").elements() {
		if t, ok := e.text(); ok && !slices.Contains(types, t) && len(types) < 7 {
			types = append(types, t)
		}
	}
	if types != nil && f.types != nil {
		both := slices.DeleteFunc(slices.Clone(f.types), func(t string) bool {
			return !slices.Contains(types, t) && !(t == "integer" && slices.Contains(types, "number"))
		})
		if slices.Contains(f.types, "number") && slices.Contains(types, "integer") {
			both = append(both, "integer")
		}
		f.never = f.never || len(both) == 0
		types = both
	}
	if types != nil {
		f.types = types
	}
	if v := n.get("nullable"); v != nil && string(v.raw) == "true" {
		f.nullable = true
	}
	if v := n.get("const"); v != nil {
		f.values = []*node{v}
	} else if v := n.get("enum").elements(); v != nil && (f.values == nil || len(v) < len(f.values)) {
		f.values = v
	}
}

func (f *facts) addObject(n *node) {
	f.work += len(n.get("properties").members()) + len(n.get("required").elements())
	for _, m := range n.get("properties").members() {
		i, ok := f.at[m.name]
		if !ok {
			i = len(f.props)
			f.at[m.name] = i
			f.props = append(f.props, prop{name: m.name})
		}
		f.props[i].schemas = append(f.props[i].schemas, m.node)
	}
	for _, e := range n.get("required").elements() {
		if name, ok := e.text(); ok {
			f.required = append(f.required, name)
		}
	}
	if v := n.get("additionalProperties"); v != nil {
		if string(v.raw) == "false" {
			f.closed = true
		} else if f.extra == nil {
			f.extra = v
		}
	}
	f.patterns = append(f.patterns, n.get("patternProperties").members()...)
	if v := n.get("propertyNames"); v != nil && f.names == nil {
		f.names = v
	}
}

func (f *facts) addArray(n *node) {
	items := n.get("items")
	if tuple := n.get("prefixItems").elements(); tuple != nil && f.tuple == nil {
		f.tuple = tuple
	}
	if old := items.elements(); old != nil { // before 2020-12
		if f.tuple == nil {
			f.tuple = old
		}
		items = n.get("additionalItems")
	}
	if items != nil && f.items == nil {
		f.items = items
	}
}

// requires returns the required names as a set.
func (f *facts) requires() map[string]bool {
	set := make(map[string]bool, len(f.required))
	for _, name := range f.required {
		set[name] = true
	}
	return set
}

// object reports that f says something about properties.
func (f *facts) object() bool {
	return len(f.props) > 0 || f.extra != nil || len(f.patterns) > 0 || f.closed || f.names != nil
}

// array reports that f says something about elements.
func (f *facts) array() bool { return f.items != nil || f.tuple != nil }

// first returns the nearest value of a key among the folded schemas, nil if none has it.
func (f *facts) first(key string) *node {
	for _, n := range f.said {
		if v := n.get(key); v != nil {
			return v
		}
	}
	return nil
}
