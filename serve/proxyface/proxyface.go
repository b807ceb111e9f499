// Package proxyface is the face `proxy`: the one tool of the MCP Proxy Extension draft, which lists, describes and calls
// what the servers behind it offer.
//
// A use of the tool goes straight: readOperation holds it against the draft's rules, then answer takes it to list, info,
// call or batch. What servers answer travels raw; annotations are spliced in beside it.
package proxyface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// ToolName is the tool's name where the options give none.
const ToolName = "proxy"

// Options of a Face. Only Dispatcher is required.
type Options struct {
	Dispatcher *dispatch.Dispatcher
	// ToolName is the tool's name; default "proxy".
	ToolName string
	// Prefix is what stands before the names of a server's offers, its separator included; it may change while the face
	// is used. nil: the server's name and "_".
	Prefix func(server string) string
	// StringArguments makes `args` a JSON string in the definition, for strict hosts. Both forms are taken in any case.
	StringArguments bool
}

// Face is the face `proxy`. It is safe for concurrent use.
type Face struct {
	serve.Defaults
	o          Options
	definition json.RawMessage
	names      nameCache
}

// New returns the face; it fails without a dispatcher.
func New(o Options) (*Face, error) {
	if o.Dispatcher == nil {
		return nil, errors.New("proxyface: Dispatcher is required")
	}
	if o.ToolName == "" {
		o.ToolName = ToolName
	}
	if o.Prefix == nil {
		o.Prefix = func(server string) string { return server + defaultSeparator }
	}
	return &Face{o: o, definition: define(o.ToolName, o.StringArguments)}, nil
}

// Tools returns the one tool; it never changes.
func (f *Face) Tools(dispatch.Agent) []json.RawMessage { return []json.RawMessage{f.definition} }

// Instructions say how to work with the tool.
func (f *Face) Instructions(dispatch.Agent) string { return instructions(f.o.ToolName) }

// Call uses the one tool.
func (f *Face) Call(ctx context.Context, c serve.Call) (dispatch.Pieces, error) {
	if c.Name != f.o.ToolName {
		return nil, fmt.Errorf("unknown tool %q: the only tool is %q", c.Name, f.o.ToolName)
	}
	if most := f.o.Dispatcher.MaxInput(); len(c.Arguments) > most {
		return failure(&dispatch.Error{Code: dispatch.TooLarge, Message: fmt.Sprintf("the input has %d bytes, the limit is %d", len(c.Arguments), most),
			Do: "Pass large values by $from"}), nil
	}
	return f.use(ctx, use{Call: c}), nil
}

// use is one use of the tool, by an agent or by the tool itself.
type use struct {
	serve.Call
	depth int // how many uses of the tool it is inside of
}

// use answers one use of the tool with a complete CallToolResult.
func (f *Face) use(ctx context.Context, u use) dispatch.Pieces {
	o, err := readOperation(u.Arguments)
	if err != nil {
		_, done := f.o.Dispatcher.Begin(ctx, dispatch.CallInfo{Agent: u.Agent, Action: o.record(), Tool: o.path, Arguments: u.Arguments, Meta: u.Meta})
		done(dispatch.Outcome{Code: codeOf(err)})
		return failure(err)
	}
	return f.answer(ctx, u, o)
}

func (f *Face) answer(ctx context.Context, u use, o operation) dispatch.Pieces {
	switch o.action {
	case actionList:
		return f.list(ctx, u, o)
	case actionInfo:
		return f.info(ctx, u, o)
	case actionBatch:
		return f.batch(ctx, u, o)
	}
	return f.call(ctx, u, o)
}

// failure is a complete result for what went wrong.
func failure(err error) dispatch.Pieces {
	e, ok := errors.AsType[*dispatch.Error](err)
	if !ok {
		e = &dispatch.Error{Code: dispatch.Internal, Message: err.Error(), Err: err}
	}
	return dispatch.Pieces{e.Result()}
}

func codeOf(err error) dispatch.Code {
	if e, ok := errors.AsType[*dispatch.Error](err); ok {
		return e.Code
	}
	return dispatch.Internal
}
