package jq

import (
	"maps"
	"strings"

	"github.com/itchyny/gojq"
)

// Most programs look at a few members of many records. Which ones can be read off the program: so only they are made
// into values, which takes a fraction of the time and memory. The reading errs on the side of more: what it does not
// understand needs everything.
//
// It goes through the program with places of the data in place of values. A place whose value is compared, handed to a
// function or given out is needed as a whole; of one where only a member is taken, that member is looked at.

// need is what a program looks at of one place in its data. The zero need is nothing but that there is something.
type need struct {
	whole   bool
	listed  bool             // its elements or members are gone through or counted: an object is needed as a whole then
	elem    *need            // of a list, each element
	members map[string]*need // of an object
}

func (n *need) member(name string) *need {
	if n.whole {
		return n
	}
	if n.members == nil {
		n.members = map[string]*need{}
	}
	if n.members[name] == nil {
		n.members[name] = &need{}
	}
	return n.members[name]
}

func (n *need) element() *need {
	if n.whole {
		return n
	}
	n.listed = true
	if n.elem == nil {
		n.elem = &need{}
	}
	return n.elem
}

// places is what a value may be: one of the places, a list of one of the lists' elements, or, with both empty, a value
// that is made of nothing that is needed in part only.
type places struct {
	nodes []*need
	lists []places
}

func (p places) or(q places) places {
	return places{append(p.nodes[:len(p.nodes):len(p.nodes)], q.nodes...), append(p.lists[:len(p.lists):len(p.lists)], q.lists...)}
}

func listOf(p places) places { return places{lists: []places{p}} }

// all marks the places as needed as a whole. Nothing of what it returns must be watched any more.
func (p places) all() places {
	for _, n := range p.nodes {
		n.whole = true
	}
	for _, l := range p.lists {
		l.all()
	}
	return places{}
}

func (p places) member(name string) (out places) {
	for _, n := range p.nodes {
		out.nodes = append(out.nodes, n.member(name))
	}
	for _, l := range p.lists {
		l.all() // a fault, whose words show it
	}
	return out
}

func (p places) element() (out places) {
	for _, n := range p.nodes {
		out.nodes = append(out.nodes, n.element())
	}
	for _, l := range p.lists {
		out = out.or(l)
	}
	return out
}

// needsOf returns what a program needs of its data.
func needsOf(program *gojq.Query) *need {
	root := &need{}
	r := &needsReader{}
	r.query(program, places{nodes: []*need{root}}, nil).all()
	if r.lost {
		return &need{whole: true}
	}
	return root
}

// needsReader reads a program. lost says that it holds something that is not understood.
type needsReader struct{ lost bool }

type variables map[string]places

func (v variables) with(name string, p places) variables {
	out := maps.Clone(v)
	if out == nil {
		out = variables{}
	}
	out[name] = p
	return out
}

func (r *needsReader) giveUp() places {
	r.lost = true
	return places{}
}

func (r *needsReader) query(q *gojq.Query, in places, vars variables) places {
	switch {
	case q == nil:
		return places{}
	case len(q.FuncDefs) > 0 || len(q.Imports) > 0 || len(in.nodes)+len(in.lists) > 100:
		return r.giveUp()
	case len(q.Patterns) > 0:
		name := nameOf(q.Patterns...)
		if name == "" {
			return r.giveUp()
		}
		return r.query(q.Right, in, vars.with(name, r.query(q.Left, in, vars)))
	case q.Term != nil:
		return r.term(q.Term, in, vars)
	}
	switch q.Op {
	case gojq.OpPipe:
		return r.query(q.Right, r.query(q.Left, in, vars), vars)
	case gojq.OpComma, gojq.OpAlt:
		return r.query(q.Left, in, vars).or(r.query(q.Right, in, vars))
	case gojq.OpAnd, gojq.OpOr: // only whether they are true
		r.query(q.Left, in, vars)
		r.query(q.Right, in, vars)
		return places{}
	case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		in = in.all()
	}
	r.query(q.Left, in, vars).all()
	r.query(q.Right, in, vars).all()
	return places{}
}

// nameOf is the variable of a plain pattern.
func nameOf(patterns ...*gojq.Pattern) string {
	if len(patterns) != 1 || len(patterns[0].Array) > 0 || len(patterns[0].Object) > 0 {
		return ""
	}
	return patterns[0].Name
}

func (r *needsReader) term(t *gojq.Term, in places, vars variables) places {
	out := r.bare(t, in, vars)
	for _, s := range t.SuffixList {
		switch {
		case s.Iter:
			out = out.element()
		case s.Index != nil:
			out = r.index(s.Index, out, in, vars)
		}
	}
	return out
}

// bare is a term without what follows it.
func (r *needsReader) bare(t *gojq.Term, in places, vars variables) places {
	switch t.Type {
	case gojq.TermTypeIdentity:
		return in
	case gojq.TermTypeRecurse:
		return in.all()
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber, gojq.TermTypeBreak:
		return places{}
	case gojq.TermTypeIndex:
		return r.index(t.Index, in, in, vars)
	case gojq.TermTypeFunc:
		return r.function(t.Func, in, vars)
	case gojq.TermTypeObject:
		return r.object(t.Object, in, vars)
	case gojq.TermTypeArray:
		return listOf(r.query(t.Array.Query, in, vars))
	case gojq.TermTypeUnary:
		return r.term(t.Unary.Term, in, vars).all()
	case gojq.TermTypeFormat, gojq.TermTypeString:
		return r.text(t, in, vars)
	case gojq.TermTypeIf:
		return r.branches(t.If, in, vars)
	case gojq.TermTypeReduce:
		return r.fold(t.Reduce.Query, t.Reduce.Patterns, []*gojq.Query{t.Reduce.Start}, []*gojq.Query{t.Reduce.Update}, in, vars)
	case gojq.TermTypeForeach:
		return r.fold(t.Foreach.Query, t.Foreach.Patterns, []*gojq.Query{t.Foreach.Start}, []*gojq.Query{t.Foreach.Update, t.Foreach.Extract}, in, vars)
	case gojq.TermTypeQuery:
		return r.query(t.Query, in, vars)
	case gojq.TermTypeTry:
		if t.Try.Catch == nil { // else the words of the fault may show what is there
			return r.query(t.Try.Body, in, vars)
		}
	}
	return r.giveUp()
}

// index is what .name, .[…] or a slice takes out of a value.
func (r *needsReader) index(x *gojq.Index, of, in places, vars variables) places {
	switch {
	case x.Name != "":
		return of.member(x.Name)
	case x.Str != nil && x.Str.Queries == nil:
		return of.member(x.Str.Str)
	case x.Str != nil:
		r.strings(x.Str, in, vars)
		return of.all()
	case x.IsSlice:
		r.query(x.Start, in, vars).all()
		r.query(x.End, in, vars).all()
		return listOf(of.element())
	case isNumber(x.Start):
		return of.element()
	case isLiteral(x.Start):
		return of.member(x.Start.Term.Str.Str)
	}
	r.query(x.Start, in, vars).all()
	return of.all()
}

// isNumber and isLiteral tell constants.
func isNumber(q *gojq.Query) bool {
	if q == nil || q.Term == nil || len(q.FuncDefs) > 0 || len(q.Term.SuffixList) > 0 {
		return false
	}
	t := q.Term
	if t.Type == gojq.TermTypeUnary && len(t.Unary.Term.SuffixList) == 0 {
		t = t.Unary.Term
	}
	return t.Type == gojq.TermTypeNumber
}

func isLiteral(q *gojq.Query) bool {
	return q != nil && q.Term != nil && len(q.FuncDefs) == 0 && q.Term.Type == gojq.TermTypeString && len(q.Term.SuffixList) == 0 && q.Term.Str.Queries == nil
}

func (r *needsReader) text(t *gojq.Term, in places, vars variables) places {
	if t.Str == nil { // a format alone: of its input
		return in.all()
	}
	r.strings(t.Str, in, vars)
	return places{}
}

func (r *needsReader) strings(s *gojq.String, in places, vars variables) {
	for _, q := range s.Queries {
		r.query(q, in, vars).all()
	}
}

func (r *needsReader) object(o *gojq.Object, in places, vars variables) places {
	for _, kv := range o.KeyVals {
		switch {
		case kv.KeyQuery != nil:
			r.query(kv.KeyQuery, in, vars).all()
		case kv.KeyString != nil:
			r.strings(kv.KeyString, in, vars)
		}
		switch {
		case kv.Val != nil:
			r.query(kv.Val, in, vars).all()
		case strings.HasPrefix(kv.Key, "$"):
			r.variable(kv.Key, vars).all()
		case kv.Key != "":
			in.member(kv.Key).all()
		case kv.KeyString != nil && kv.KeyString.Queries == nil:
			in.member(kv.KeyString.Str).all()
		default:
			return r.giveUp()
		}
	}
	return places{}
}

func (r *needsReader) variable(name string, vars variables) places {
	p, ok := vars[name]
	if !ok {
		return r.giveUp()
	}
	return p
}

func (r *needsReader) branches(b *gojq.If, in places, vars variables) places {
	r.query(b.Cond, in, vars) // only whether it is true
	out := r.query(b.Then, in, vars)
	for _, e := range b.Elif {
		r.query(e.Cond, in, vars)
		out = out.or(r.query(e.Then, in, vars))
	}
	if b.Else == nil {
		return out.or(in)
	}
	return out.or(r.query(b.Else, in, vars))
}

// fold is reduce and foreach: what is carried on from step to step is needed as a whole.
func (r *needsReader) fold(over *gojq.Query, patterns []*gojq.Pattern, start, steps []*gojq.Query, in places, vars variables) places {
	name := nameOf(patterns...)
	if name == "" {
		return r.giveUp()
	}
	inner := vars.with(name, r.query(over, in, vars))
	for _, q := range start {
		r.query(q, in, vars).all()
	}
	for _, q := range steps {
		r.query(q, places{}, inner).all()
	}
	return places{}
}
