// Package client talks to a proxy as if to the servers behind it.
//
// It works with every server that offers the tool of the MCP Proxy Extension draft (usually called `proxy`), and with
// `proxy-dispatch`. Proxy is the natural form: one operation goes to the tool, its raw answer comes back with its
// annotations read. ListTools, CallTool, ListResources, ReadResource, ListPrompts and GetPrompt are the transparent form:
// the same answers as from the servers themselves, restored from the annotations.
//
// Results are types of mcp-go with the raw JSON beside them. The types lose what they do not know: content of unknown kinds
// (named in Lost), unknown fields, the spelling of large numbers, schema keywords beyond theirs. Raw loses nothing but
// what the proxy itself changed: a resource's text that is JSON may come compact.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Requester sends one request of the protocol and returns its raw result. It must be safe for concurrent use, and follow
// ctx. An error of the other side is an *RPCError. Connection is one over the transports of mcp-go.
type Requester interface {
	Request(ctx context.Context, r Request) (json.RawMessage, error)
}

// Request is one request.
type Request struct {
	Method string
	// Params is a JSON object.
	Params json.RawMessage
	// Progress hears the params of each progress notification of this request. Nil: none is asked for.
	Progress func(params json.RawMessage)
}

// RPCError is a JSON-RPC error by which the other side answered.
type RPCError struct {
	Code    int
	Message string
	Data    json.RawMessage // nil if there is none
}

// Error returns the message and the code.
func (e *RPCError) Error() string { return fmt.Sprintf("%s (error %d)", e.Message, e.Code) }

// Errors a caller may ask for with errors.Is.
var (
	// ErrNoProxy: the server offers no tool of a proxy.
	ErrNoProxy = errors.New("no proxy tool offered")
	// ErrInvalid: an operation that breaks the rules; nothing was sent.
	ErrInvalid = errors.New("invalid operation")
	// ErrShape: an answer that is not what it should be.
	ErrShape = errors.New("unexpected answer")
	// ErrTooLarge: a kept result is larger than Options.MaxWhole.
	ErrTooLarge = errors.New("result is too large")
)

// Options of a Client. The zero value works.
type Options struct {
	// Tool is the proxy's tool; the zero Tool: it is looked for in the tool list at first use.
	Tool Tool
	// PageSize is how many entries one page of a list holds; default 100, at most 1000. All pages are followed.
	PageSize int
	// Whole reads results that the proxy kept outside the conversation back, so that the transparent form gives what the
	// server sent, whatever its size.
	Whole bool
	// MaxWhole is the most bytes that are read back of one result; default 64 MiB.
	MaxWhole int64
	// Timeout bounds each request; 0 means that only ctx does.
	Timeout time.Duration
}

// Client is one proxy. It is safe for concurrent use.
type Client struct {
	r Requester
	o Options

	mu   sync.Mutex
	tool Tool
}

const maxPageSize = 1000

// New returns a client that sends its requests through r. Nothing is sent yet.
func New(r Requester, o Options) *Client {
	if o.PageSize <= 0 {
		o.PageSize = 100
	}
	o.PageSize = min(o.PageSize, maxPageSize)
	if o.MaxWhole <= 0 {
		o.MaxWhole = 64 << 20
	}
	return &Client{r: r, o: o, tool: o.Tool}
}

// Tool returns the proxy's tool, looking for it in the tool list the first time. The error is ErrNoProxy if there is none.
func (c *Client) Tool(ctx context.Context) (Tool, error) {
	c.mu.Lock()
	found := c.tool
	c.mu.Unlock()
	if found.Name != "" {
		if found.Kind == "" {
			found.Kind = kindOfName(found.Name)
		}
		return found, nil
	}
	tools, err := c.toolList(ctx)
	if err != nil {
		return Tool{}, fmt.Errorf("list tools: %w", err)
	}
	found, ok := Detect(tools)
	if !ok {
		return Tool{}, ErrNoProxy
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tool = found
	return found, nil
}

// toolList reads the tools that the proxy itself offers.
func (c *Client) toolList(ctx context.Context) (tools []json.RawMessage, err error) {
	params := []byte(`{}`)
	for range maxPages {
		raw, err := c.request(ctx, Request{Method: "tools/list", Params: params}, 0)
		if err != nil {
			return nil, err
		}
		for t := range rawjson.Elements(rawjson.Member(raw, "tools")) {
			tools = append(tools, t)
		}
		next := rawjson.Member(raw, "nextCursor")
		if rawjson.Unquote(next) == "" {
			return tools, nil
		}
		params = rawjson.Set(params, "cursor", next)
	}
	return nil, fmt.Errorf("%w: more than %d pages", ErrShape, maxPages)
}

// request sends one request within its time.
func (c *Client) request(ctx context.Context, r Request, timeout time.Duration) (json.RawMessage, error) {
	if timeout == 0 {
		timeout = c.o.Timeout
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	raw, err := c.r.Request(ctx, r)
	if err == nil && !rawjson.Valid(raw) {
		return nil, fmt.Errorf("%w: the result is no JSON", ErrShape)
	}
	return raw, err
}

// use uses the proxy's tool.
func (c *Client) use(ctx context.Context, name string, arguments json.RawMessage, timeout time.Duration, progress func(json.RawMessage)) (*Result, error) {
	params := rawjson.Set(rawjson.Set([]byte(`{}`), "name", rawjson.Quote(name)), "arguments", arguments)
	raw, err := c.request(ctx, Request{Method: "tools/call", Params: params, Progress: progress}, timeout)
	if err != nil {
		return nil, err
	}
	return ReadResult(raw)
}
