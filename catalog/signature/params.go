package signature

import (
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
)

// Param is one top-level parameter of a tool, as a search index or a form wants it.
type Param struct {
	Name        string // exact, as the server wrote it
	Description string // cleaned, at most 1 KiB
	Required    bool
	Enum        []string // the allowed values that are strings, at most 100
}

// maxParams bounds the parameters Params returns.
const maxParams = 500

// Params returns the top-level parameters of the schema of an arguments object in its order, those of alternatives after
// the common ones. At most 500; nil if there is no readable schema.
func Params(schema json.RawMessage) []Param {
	root := parse(schema)
	if root == nil {
		return nil
	}
	var params []Param
	seen := map[string]bool{}
	var collect func(f *facts, common bool, depth int)
	collect = func(f *facts, common bool, depth int) {
		required := f.requires()
		for _, x := range f.all() {
			if seen[x.name] || len(params) == maxParams {
				continue
			}
			seen[x.name] = true
			params = append(params, describeParam(root, x, common && required[x.name]))
		}
		for _, branches := range f.unions {
			for i, b := range branches {
				if i < maxTokens && depth > 0 && len(params) < maxParams {
					collect(fold(root, b), false, depth-1)
				}
			}
		}
	}
	collect(fold(root, root), true, 2)
	return params
}

func describeParam(root *node, x prop, required bool) Param {
	f := fold(root, x.schemas...)
	p := Param{Name: x.name, Required: required}
	s, _ := f.first("description").text()
	p.Description = clean.Clip(clean.Text(s), 1<<10)
	values := f.values
	for _, branches := range f.unions { // an optional enumeration is often an alternative to null
		for i, b := range branches {
			if i < maxTokens {
				values = append(values[:len(values):len(values)], fold(root, b).values...)
			}
		}
	}
	for _, v := range values {
		if s, ok := v.text(); ok && len(p.Enum) < 100 {
			p.Enum = append(p.Enum, s)
		}
	}
	return p
}
