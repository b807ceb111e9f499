package serve

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Dispatcher is the one tool; *dispatch.Dispatcher is one. All methods must be safe for concurrent use.
type Dispatcher interface {
	KeptReader
	// Handle answers one use of the tool with a complete CallToolResult.
	Handle(ctx context.Context, in dispatch.Input) dispatch.Pieces
	// Definition is the tool's tools/list entry.
	Definition(a dispatch.Agent) json.RawMessage
	// Instructions is the text for the answer to initialize.
	Instructions(a dispatch.Agent) string
}

// DispatchFace shows the one tool, and kept results as resources.
func DispatchFace(d Dispatcher) Face {
	return dispatchFace{tool: d, name: rawjson.Unquote(rawjson.Member(d.Definition(dispatch.Agent{}), "name"))}
}

type dispatchFace struct {
	Defaults
	tool Dispatcher
	name string
}

// Tools returns the definition of the one tool.
func (f dispatchFace) Tools(a dispatch.Agent) []json.RawMessage {
	return []json.RawMessage{f.tool.Definition(a)}
}

// Instructions are the tool's own.
func (f dispatchFace) Instructions(a dispatch.Agent) string { return f.tool.Instructions(a) }

// Capabilities are those of one tool.
func (f dispatchFace) Capabilities(dispatch.Agent) json.RawMessage { return OneToolCapabilities }

// Handle reads kept results.
func (f dispatchFace) Handle(ctx context.Context, r Request) (dispatch.Pieces, error) {
	return HandleKept(ctx, f.tool, r)
}

// Call uses the one tool.
func (f dispatchFace) Call(ctx context.Context, c Call) (dispatch.Pieces, error) {
	if c.Name != f.name {
		return nil, fmt.Errorf("unknown tool %q: the only tool is %q", c.Name, f.name)
	}
	return f.tool.Handle(ctx, dispatch.Input{Agent: c.Agent, Arguments: c.Arguments, Meta: c.Meta, Contact: c.Contact}), nil
}
