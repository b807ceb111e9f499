package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// Made is a tool of our own that is made of calls of others: a composite, a script. It stands in the catalog of the
// connection view.Own. Implementations are safe for concurrent use.
type Made interface {
	// Definition is its tools/list entry; it does not change.
	Definition() json.RawMessage
	// Run answers one call, whose arguments fit the definition, with any JSON value. An *Error is told as it is. Inside
	// must not be used after Run has returned.
	Run(ctx context.Context, in Inside, args json.RawMessage) (json.RawMessage, error)
}

// Inside is what a Made tool can do. Who wrote the tool runs the proxy, so it reaches, by the servers' own names, what
// the agent's rights leave, also what its view does not show. It is safe for concurrent use.
type Inside interface {
	// Call takes a call through all stations and gives the data of its result, of any size. References in the arguments
	// are data. It fails with an *Error, also where the tool's own result is an error.
	Call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error)
	// Read gives what query, an object with the parameters of readresult, wants of a result that the agent may read.
	Read(ctx context.Context, handle string, query json.RawMessage) (json.RawMessage, error)
	// Search gives the answer to query, an object with the parameters of search.
	Search(ctx context.Context, query json.RawMessage) (json.RawMessage, error)
	// Log writes a line to our log.
	Log(level, line string)
	// Progress sends the agent the params of a progress notification.
	Progress(params json.RawMessage)
}

// behind is the view of calls made inside of our own tools: none, whatever views the agent is held to.
const behind = "\x00"

// madeTools are the tools of our own by view, as entries with what they do.
type madeTools map[string]map[*catalog.Entry]Made

func readMade(all map[string][]Made) (madeTools, error) {
	out := madeTools{}
	for name, tools := range all {
		out[name] = map[*catalog.Entry]Made{}
		for _, m := range tools {
			e, err := catalog.NewEntry(view.Own, catalog.Tool, false, m.Definition())
			if err != nil {
				return nil, fmt.Errorf("a tool of our own: %w", err)
			}
			out[name][e] = m
		}
	}
	return out, nil
}

// madeFor returns the tool of our own that stands behind an entry an agent sees, nil if a server does. It goes by name:
// the rules may have been replaced since the entry was found.
func (d *Dispatcher) madeFor(a Agent, e *catalog.Entry) Made {
	if e.Server != view.Own {
		return nil
	}
	for own, m := range d.book.Load().made[a.View] {
		if own.Name == e.Name {
			return m
		}
	}
	return nil
}

// inside is the Inside of one call.
type inside struct {
	d       *Dispatcher
	agent   Agent // as it came
	contact Contact
	held    spill.Sources // of what kept data it was given

	mu   sync.Mutex
	from spill.Sources // of what was called
}

// runMade answers a call of a tool of our own with a result.
func (d *Dispatcher) runMade(ctx context.Context, in *inside, m Made, args json.RawMessage) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v, err := m.Run(ctx, in, args)
	if err != nil {
		e := *withFate(err, Ran)
		e.Suggestions = nil
		return nil, &e
	}
	return valueResult(v), nil
}

// valueResult is a value as a call's result: an object also as structured content.
func valueResult(v json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return contentResult([]json.RawMessage{textBlock(text)}, false)
	}
	if len(v) > 0 && v[0] == '{' {
		return contentResult([]json.RawMessage{textBlock(string(v))}, false, member("structuredContent", v))
	}
	return contentResult([]json.RawMessage{textBlock(string(v))}, false)
}

// Call is a call like any other, but for the view.
func (in *inside) Call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error) {
	a := in.agent
	a.View = behind
	r := CallRequest{Tool: tool, Arguments: args, Literal: true, held: in.held, Contact: in.contact.alone()}
	r.Progress = nil
	ctx, end := in.d.record(ctx, a, r)
	c, err := in.d.perform(ctx, a, r)
	if err != nil {
		_, err = end(nil, err)
		return nil, err
	}
	in.mu.Lock()
	in.from = in.from.With(c.from()...)
	in.mu.Unlock()
	if _, err := end(c.answer(in.d.o.Tokens.Count), nil); err != nil {
		return nil, err
	}
	if c.res.isError {
		return nil, &Error{Code: Internal, Message: fmt.Sprintf("%s said: %s", c.entry.Ref, c.res.message(errorHead)), Fate: Ran}
	}
	return c.res.data(), nil
}

// Read reads as the agent does.
func (in *inside) Read(ctx context.Context, handle string, query json.RawMessage) (json.RawMessage, error) {
	r, err := parseInside("readresult", query, member("resultFile", mustJSON(handle)))
	if err != nil {
		return nil, err
	}
	if r.Op == "" || r.Op == "stat" || r.Op == "read" || r.Op == "jq" || r.Op == "get" {
		take := &intake{d: in.d, agent: in.agent}
		v, err := take.lookup(ctx, []string{handle}, spill.Want{Path: r.Path, JQ: r.JQ})
		in.mu.Lock()
		in.from = in.from.With(take.from...)
		in.mu.Unlock()
		return v, err
	}
	a, err := in.d.ReadResult(ctx, in.agent, readRequest(r))
	if err != nil {
		return nil, err
	}
	return mustJSON(a.body()), nil
}

// Search ranks what can be called here.
func (in *inside) Search(ctx context.Context, query json.RawMessage) (json.RawMessage, error) {
	r, err := parseInside("search", query)
	if err != nil {
		return nil, err
	}
	a := in.agent
	a.View = behind
	found, err := in.d.Search(ctx, a, searchRequest(r))
	if err != nil {
		return nil, err
	}
	return marshal(found)
}

// Log writes to our log.
func (in *inside) Log(level, line string) {
	in.d.o.Log.Info(line, "level", level)
}

// Progress goes to the agent, if it wants any.
func (in *inside) Progress(params json.RawMessage) {
	if in.contact.Progress != nil {
		in.contact.Progress(params)
	}
}

// entries returns the entries of a view's tools, ordered by name.
func (m madeTools) entries(name string) []*catalog.Entry {
	return slices.SortedFunc(maps.Keys(m[name]), func(a, b *catalog.Entry) int { return strings.Compare(a.Name, b.Name) })
}

// parseInside reads the parameters of an action as code gives them.
func parseInside(action string, query json.RawMessage, more ...arguments.Member) (*request, error) {
	obj := append(arguments.Object{member("action", mustJSON(action))}, more...)
	if len(query) > 0 && string(query) != "null" {
		given, err := arguments.ParseObject(query)
		if err != nil {
			return nil, &Error{Code: BadRequest, Message: action + " takes an object: " + err.Error(), Err: err}
		}
		for _, m := range given {
			if _, taken := obj.Get(m.Key); !taken {
				obj = append(obj, m)
			}
		}
	}
	return parseRequest(obj.Raw())
}

func member(key string, v json.RawMessage) arguments.Member {
	return arguments.Member{Key: key, Value: v}
}
