package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// check repairs the form of arguments and holds them against the input schema. A schema that can't be
// used checks nothing: the server itself has the last word.
func check(e *catalog.Entry, s *arguments.Schema, args json.RawMessage, notes []string) (json.RawMessage, []string, error) {
	if _, err := arguments.ParseObject(args); err != nil {
		return nil, nil, &Error{Code: InvalidArguments, Message: "arguments: " + err.Error(), Err: err, Do: "Signature: " + usage(e)}
	}
	if s == nil {
		return args, notes, nil
	}
	if s.Check(args) == nil { // nearly every call: there is nothing to repair
		return args, notes, nil
	}
	fixed, repairs := s.Repair(args)
	notes = append(notes, repairs...)
	err := s.Check(fixed)
	if err == nil {
		return fixed, notes, nil
	}
	out := &Error{Code: InvalidArguments, Message: err.Error(), Do: "Signature: " + usage(e), Repairs: notes, Err: err}
	if invalid, ok := errors.AsType[*arguments.Invalid](err); ok {
		for _, p := range invalid.Problems {
			out.Suggestions = append(out.Suggestions, p.Near...)
		}
	}
	return nil, nil, out
}

// shadowed adds to a refusal the likely mistake: a parameter of the tool that was written beside the
// arguments, where the call has one of the same name.
func shadowed(err error, s *arguments.Schema, r CallRequest) error {
	e := *asError(err)
	for _, key := range r.reads {
		if s != nil && s.Has(key) {
			e.Do = fmt.Sprintf("Beside arguments, %s narrows the result; the tool's own %s belongs into arguments. %s", key, key, e.Do)
			return &e
		}
	}
	return &e
}

// usage is how an error shows a tool's parameters.
func usage(e *catalog.Entry) string {
	return fmt.Sprintf("%s(%s)", e.Ref, clip(e.Signature(), 600))
}

// schemaCache holds compiled input schemas. It is safe for concurrent use.
type schemaCache struct {
	mu  sync.Mutex
	all map[*catalog.Entry]*compiled
}

type compiled struct {
	once   sync.Once
	schema *arguments.Schema
	err    error
}

func newSchemaCache() *schemaCache { return &schemaCache{all: map[*catalog.Entry]*compiled{}} }

func (c *schemaCache) of(e *catalog.Entry) (*arguments.Schema, error) {
	c.mu.Lock()
	k := c.all[e]
	if k == nil {
		k = &compiled{}
		c.all[e] = k
	}
	c.mu.Unlock()
	k.once.Do(func() { k.schema, k.err = arguments.Compile(e.InputSchema) })
	return k.schema, k.err
}

// schema returns the compiled input schema of an entry that an agent sees.
func (d *Dispatcher) schema(a Agent, e *catalog.Entry) (*arguments.Schema, error) {
	if e.InputSchema == nil {
		return nil, errors.New("no input schema")
	}
	l := d.lens(a)
	l.mu.Lock()
	if l.checks == nil { // the rules were replaced after the entry was found: this lens has not been looked through
		l.checks = newSchemaCache()
	}
	cache := l.checks
	l.mu.Unlock()
	return cache.of(e)
}

// schemaOf is schema for a call: nil where the entry has no schema that can be used.
func (d *Dispatcher) schemaOf(a Agent, e *catalog.Entry) *arguments.Schema {
	s, err := d.schema(a, e)
	if err != nil {
		d.o.Log.Debug("input schema can't be used", "tool", e.Ref.String(), "error", err)
		return nil
	}
	return s
}
