package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// The transparent form. Names are those that lists give: of a proxy SERVER_NAME, of proxy-dispatch SERVER/NAME; a
// resource is called by its URI.

// ListedTool is a tool as the proxy lists it.
type ListedTool struct {
	mcp.Tool
	// Raw is the whole entry.
	Raw json.RawMessage
}

// ListedResource is a resource, or a template of resources, as the proxy lists it.
type ListedResource struct {
	// Resource is zero for a template.
	mcp.Resource
	// Template is nil for a resource.
	Template *mcp.ResourceTemplate
	// Raw is the whole entry.
	Raw json.RawMessage
}

// ListedPrompt is a prompt as the proxy lists it.
type ListedPrompt struct {
	mcp.Prompt
	// Raw is the whole entry.
	Raw json.RawMessage
}

// Call is the call of a tool, or the getting of a prompt.
type Call struct {
	Name string
	// Arguments: anything that encodes as a JSON object, json.RawMessage as it is; nil means none.
	Arguments any
	// Timeout bounds the request; 0 means the client's.
	Timeout time.Duration
	// Progress hears the params of each progress notification; nil: none is asked for.
	Progress func(params json.RawMessage)
}

// CallResult is what a tool gave, in its own error (IsError) too.
type CallResult struct {
	mcp.CallToolResult
	// Raw is the result as the server gave it.
	Raw json.RawMessage
	// Lost are content items of kinds that mcp-go does not know; Content lacks them.
	Lost []json.RawMessage
	// Handle names a result that the proxy kept; Content is then its report. See Options.Whole.
	Handle string
}

// ReadResourceResult is what a resource holds.
type ReadResourceResult struct {
	mcp.ReadResourceResult
	// Raw is the result as the server gave it, but for the white space of text that is JSON.
	Raw json.RawMessage
	// Lost are contents that mcp-go does not know; Contents lacks them.
	Lost []json.RawMessage
}

// PromptResult is a prompt filled in.
type PromptResult struct {
	mcp.GetPromptResult
	// Raw is the result as the server gave it.
	Raw json.RawMessage
	// Lost are messages that mcp-go does not know; Messages lacks them.
	Lost []json.RawMessage
}

// ListTools lists the tools of all servers, the proxy's own among them if it lists itself. All pages are read.
func (c *Client) ListTools(ctx context.Context) ([]ListedTool, error) {
	return listed(ctx, c, TypeTool, func(raw json.RawMessage) (t ListedTool, err error) {
		t.Raw = raw
		return t, json.Unmarshal(raw, &t.Tool)
	})
}

// ListResources lists the resources of all servers, and behind them the templates.
func (c *Client) ListResources(ctx context.Context) ([]ListedResource, error) {
	return listed(ctx, c, TypeResource, func(raw json.RawMessage) (r ListedResource, err error) {
		r.Raw = raw
		if rawjson.Member(raw, "uriTemplate") != nil {
			r.Template = &mcp.ResourceTemplate{}
			return r, json.Unmarshal(raw, r.Template)
		}
		return r, json.Unmarshal(raw, &r.Resource)
	})
}

// ListPrompts lists the prompts of all servers.
func (c *Client) ListPrompts(ctx context.Context) ([]ListedPrompt, error) {
	return listed(ctx, c, TypePrompt, func(raw json.RawMessage) (p ListedPrompt, err error) {
		p.Raw = raw
		return p, json.Unmarshal(raw, &p.Prompt)
	})
}

// listed reads all pages of a list. One entry that can't be read fails the whole: a list with holes looks complete.
func listed[T any](ctx context.Context, c *Client, t Type, read func(json.RawMessage) (T, error)) ([]T, error) {
	raw, err := c.entries(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("list %ss: %w", t, err)
	}
	out := make([]T, 0, len(raw))
	for _, entry := range raw {
		v, err := read(entry)
		if err != nil {
			return nil, fmt.Errorf("list %ss: %w: %w", t, ErrShape, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// CallTool calls a tool.
func (c *Client) CallTool(ctx context.Context, call Call) (*CallResult, error) {
	r, err := c.call(ctx, TypeTool, call)
	if err != nil {
		return nil, fmt.Errorf("call tool %s: %w", call.Name, err)
	}
	out := &CallResult{Raw: r.ToolResult(), Handle: r.Handle()}
	if err := out.read(); err != nil {
		return nil, fmt.Errorf("call tool %s: %w: %w", call.Name, ErrShape, err)
	}
	return out, nil
}

// ReadResource reads a resource, listed or described by a template. An answer that says isError is a *ToolError.
func (c *Client) ReadResource(ctx context.Context, uri string) (*ReadResourceResult, error) {
	r, err := c.call(ctx, TypeResource, Call{Name: uri})
	if err != nil {
		return nil, fmt.Errorf("read resource %s: %w", uri, err)
	}
	out := &ReadResourceResult{}
	if out.Raw, err = r.ResourceResult(); err != nil {
		return nil, fmt.Errorf("read resource %s: %w", uri, err)
	}
	if err := out.read(); err != nil {
		return nil, fmt.Errorf("read resource %s: %w: %w", uri, ErrShape, err)
	}
	return out, nil
}

// GetPrompt gets a prompt. An answer that says isError is a *ToolError.
func (c *Client) GetPrompt(ctx context.Context, call Call) (*PromptResult, error) {
	r, err := c.call(ctx, TypePrompt, call)
	if err != nil {
		return nil, fmt.Errorf("get prompt %s: %w", call.Name, err)
	}
	out := &PromptResult{}
	if out.Raw, err = r.PromptResult(); err != nil {
		return nil, fmt.Errorf("get prompt %s: %w", call.Name, err)
	}
	if err := out.read(); err != nil {
		return nil, fmt.Errorf("get prompt %s: %w: %w", call.Name, ErrShape, err)
	}
	return out, nil
}
