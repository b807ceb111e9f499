package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// Limits of a batch that runs one call for each element of a list.
const (
	defaultElements = 100
	maxElements     = 1000
	maxConcurrent   = 32
)

// itemName is how the arguments of such a call name the element: {"$from":"item"}.
const itemName = "item"

// expand turns a batch with ForEach into one call for each element. left is how many elements the cap
// leaves out.
func (d *Dispatcher) expand(ctx context.Context, a Agent, q BatchRequest) (out BatchRequest, left int, err error) {
	switch {
	case len(q.Calls) != 1 || q.bad[0] != nil:
		return q, 0, &Error{Code: BadRequest, Message: fmt.Sprintf("forEach needs exactly one call in calls, not %d", len(q.Calls)), Err: q.bad[0]}
	case q.Max > maxElements:
		return q, 0, &Error{Code: BadRequest, Message: fmt.Sprintf("max is %d, the most is %d", q.Max, maxElements)}
	case q.Concurrency > maxConcurrent:
		return q, 0, &Error{Code: BadRequest, Message: fmt.Sprintf("concurrency is %d, the most is %d", q.Concurrency, maxConcurrent)}
	}
	list, err := d.elements(ctx, a, q.ForEach)
	if err == nil {
		err = d.checkElements(a, list.from, q.Calls[0])
	}
	if err != nil {
		return q, 0, err
	}
	most := limitOr(q.Max, defaultElements)
	call, id := q.Calls[0], "item"
	if len(q.IDs) > 0 && q.IDs[0] != "" {
		id = q.IDs[0]
	}
	q.Calls, q.IDs, q.bad = nil, nil, nil
	for v := range rawjson.Elements(list.data) {
		if len(q.Calls) == most {
			left++
			continue
		}
		call.item = &element{v, list.from}
		q.IDs = append(q.IDs, fmt.Sprintf("%s%d", id, len(q.Calls)))
		q.Calls = append(q.Calls, call)
	}
	if len(q.Calls) == 0 {
		return q, 0, &Error{Code: BadRequest, Message: "the list of forEach is empty", Do: "Nothing was called"}
	}
	return q, left, nil
}

// element is what one call of a forEach runs for, or the list of all.
type element struct {
	data json.RawMessage
	from spill.Sources
}

// elements returns the list that forEach stands for: a reference, or the list itself.
func (d *Dispatcher) elements(ctx context.Context, a Agent, raw json.RawMessage) (*element, error) {
	wrapped := arguments.Object{{Key: "list", Value: raw}}.Raw() // a binding is of an object
	in := &intake{d: d, agent: a}
	bound, _, err := arguments.Bind(ctx, wrapped, nil, in.reference)
	if err != nil {
		return nil, bindError(err)
	}
	list := rawjson.Member(bound, "list")
	if len(list) == 0 || list[0] != '[' {
		return nil, &Error{Code: BadRequest, Message: "forEach does not stand for a list", Do: `Send {"$from": HANDLE, "path": P} of a list of records`}
	}
	return &element{list, in.from}, nil
}

// checkElements refuses a forEach whose call may not be given the elements, rather than each of its calls.
func (d *Dispatcher) checkElements(a Agent, from spill.Sources, call CallRequest) error {
	uses := slices.ContainsFunc(arguments.References(call.Arguments), func(r arguments.Reference) bool { return slices.Contains(r.From, itemName) })
	if !uses && call.ArgumentsFile != itemName {
		return nil
	}
	if e := d.known(a, call); e != nil {
		return d.book.Load().flow.check(from, d.Seen(a).Origin(e).Entry.Ref)
	}
	return nil // the calls themselves will say what is wrong
}

type elementKey struct{}

// elementOf returns the element that a forEach runs for, where names name it.
func elementOf(ctx context.Context, names []string) (*element, bool) {
	if len(names) != 1 || names[0] != itemName {
		return nil, false
	}
	el, ok := ctx.Value(elementKey{}).(*element)
	return el, ok
}

// extract returns what is wanted of an element.
func (d *Dispatcher) extract(ctx context.Context, el json.RawMessage, w spill.Want) (json.RawMessage, error) {
	v, err := d.o.Shelf.Apply(ctx, el, w)
	if err != nil {
		return nil, shelfError(itemName, err)
	}
	return v, nil
}

// tally says how many of the elements a forEach ran for failed, and how many it left out.
func (a *BatchAnswer) tally(left int) string {
	failed := 0
	for _, it := range a.Items {
		if it.IsError {
			failed++
		}
	}
	note := fmt.Sprintf("%d elements, %d failed", len(a.Items), failed)
	if left > 0 {
		note += fmt.Sprintf("; %d more were left out: raise max, at most %d", left, maxElements)
	}
	return note
}

// maxListed is how many items of a kept batch are listed; of more only those that failed are.
const maxListed = 50

// shown returns the items that an agent sees one by one.
func (a *BatchAnswer) shown() []BatchItem {
	if a.Handle == "" || len(a.Items) <= maxListed {
		return a.Items
	}
	var failed []BatchItem
	for _, it := range a.Items {
		if it.IsError && len(failed) < maxListed {
			failed = append(failed, it)
		}
	}
	return failed
}
