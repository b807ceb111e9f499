package jq

import (
	"strings"

	"github.com/itchyny/gojq"
)

// function is a call of a builtin function: there are no others where a program is read to its end.
func (r *needsReader) function(f *gojq.Func, in places, vars variables) places {
	switch len(f.Args) {
	case 0:
		if strings.HasPrefix(f.Name, "$") {
			return r.variable(f.Name, vars)
		}
		return plainFunction(f.Name, in)
	case 1:
		if out, ok := r.filtering(f.Name, f.Args[0], in, vars); ok {
			return out
		}
	case 2:
		if f.Name == "limit" {
			r.query(f.Args[0], in, vars).all()
			return r.query(f.Args[1], in, vars)
		}
	}
	in = in.all()
	for _, q := range f.Args {
		r.query(q, in, vars).all()
	}
	return places{}
}

// plainFunction is a function without arguments.
func plainFunction(name string, in places) places {
	switch name {
	case "empty", "not", "type", "true", "false", "null", "now":
		return places{}
	case "length":
		for _, n := range in.nodes {
			n.listed = true
		}
		return places{}
	case "first", "last":
		return in.element()
	case "reverse":
		return listOf(in.element())
	case "add":
		return in.element().all()
	case "any", "all":
		in.element()
		return places{}
	case "values", "nulls", "arrays", "objects", "iterables", "booleans", "numbers", "strings", "scalars":
		return in
	}
	return in.all()
}

// filtering is a function with a filter as its one argument. It is not ok where the function is another one.
func (r *needsReader) filtering(name string, f *gojq.Query, in places, vars variables) (out places, ok bool) {
	switch name {
	case "map":
		return listOf(r.query(f, in.element(), vars)), true
	case "select":
		r.query(f, in, vars)
		return in, true
	case "group_by":
		r.query(f, in.element(), vars).all()
		return listOf(listOf(in.element())), true
	case "sort_by", "unique_by":
		r.query(f, in.element(), vars).all()
		return listOf(in.element()), true
	case "min_by", "max_by":
		r.query(f, in.element(), vars).all()
		return in.element(), true
	case "add":
		return r.query(f, in, vars).all(), true
	case "any", "all":
		r.query(f, in.element(), vars)
		return places{}, true
	case "first", "last":
		return r.query(f, in, vars), true
	case "isempty":
		r.query(f, in, vars)
		return places{}, true
	case "has":
		if isLiteral(f) {
			in.member(f.Term.Str.Str)
			return places{}, true
		}
	}
	return places{}, false
}
