package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// ConnectOptions say who connects. The zero value works.
type ConnectOptions struct {
	// Name and Version identify the program (clientInfo); default "proxy-client" and "1". A proxy may choose by the name
	// how much it shows at once.
	Name, Version string
	// Capabilities is a JSON object; nil means none. Whoever declares some sets the transport's request handler as well.
	Capabilities json.RawMessage
}

// Connection is a Requester over a transport of mcp-go. It is safe for concurrent use.
type Connection struct {
	t  transport.Interface
	id atomic.Int64

	mu       sync.Mutex
	progress map[string]func(json.RawMessage) // by token
	// Hello is the result of initialize: the proxy's serverInfo, capabilities and instructions. It is not changed.
	Hello json.RawMessage
}

// Connect starts a transport and does the handshake over it. The transport belongs to the connection from then on, even if
// Connect fails; its notification handler is taken.
func Connect(ctx context.Context, t transport.Interface, o ConnectOptions) (*Connection, error) {
	if o.Name == "" {
		o.Name = "proxy-client"
	}
	if o.Version == "" {
		o.Version = "1"
	}
	if o.Capabilities == nil {
		o.Capabilities = json.RawMessage("{}")
	}
	c := &Connection{t: t, progress: map[string]func(json.RawMessage){}}
	t.SetNotificationHandler(c.heard)
	if err := t.Start(ctx); err != nil {
		return nil, fmt.Errorf("start transport: %w", errors.Join(err, t.Close()))
	}
	if err := c.greet(ctx, o); err != nil {
		return nil, fmt.Errorf("initialize: %w", errors.Join(err, t.Close()))
	}
	return c, nil
}

func (c *Connection) greet(ctx context.Context, o ConnectOptions) error {
	params := fields("protocolVersion", mcp.LATEST_LEGACY_PROTOCOL_VERSION, "capabilities", o.Capabilities,
		"clientInfo", fields("name", o.Name, "version", o.Version))
	hello, err := c.Request(ctx, Request{Method: "initialize", Params: params})
	if err != nil {
		return err
	}
	version := rawjson.Unquote(rawjson.Member(hello, "protocolVersion"))
	if !mcp.IsValidProtocolVersion(version) {
		return mcp.UnsupportedProtocolVersionError{Version: version}
	}
	if h, ok := c.t.(transport.HTTPConnection); ok {
		h.SetProtocolVersion(version)
	}
	c.Hello = hello
	return c.notify(ctx, "notifications/initialized", nil)
}

func (c *Connection) notify(ctx context.Context, method string, params map[string]any) error {
	return c.t.SendNotification(ctx, mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{Method: method, Params: mcp.NotificationParams{AdditionalFields: params}}})
}

// Request sends one request and waits for its result. When ctx ends first, the other side is told.
func (c *Connection) Request(ctx context.Context, r Request) (json.RawMessage, error) {
	id := "c" + strconv.FormatInt(c.id.Add(1), 10)
	params := r.Params
	if r.Progress != nil {
		meta := rawjson.Member(params, "_meta")
		if meta == nil {
			meta = json.RawMessage("{}")
		}
		params = rawjson.Set(params, "_meta", rawjson.Set(meta, "progressToken", rawjson.Quote(id)))
		c.listen(id, r.Progress)
		defer c.listen(id, nil)
	}
	answer, err := c.t.SendRequest(ctx, transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Method: r.Method, Params: params})
	switch {
	case err != nil && ctx.Err() != nil && r.Method != "initialize":
		_ = c.notify(context.WithoutCancel(ctx), "notifications/cancelled", map[string]any{"requestId": id}) // as far as it can be told
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case answer.Error != nil:
		bad := &RPCError{Code: answer.Error.Code, Message: answer.Error.Message}
		if answer.Error.Data != nil {
			bad.Data, _ = json.Marshal(answer.Error.Data) // it came as JSON
		}
		return nil, bad
	}
	return answer.Result, nil
}

// listen routes the progress of a token; nil ends it.
func (c *Connection) listen(token string, to func(json.RawMessage)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to == nil {
		delete(c.progress, token)
		return
	}
	c.progress[token] = to
}

// heard passes progress on. The library has decoded it: large numbers in it are rounded.
func (c *Connection) heard(n mcp.JSONRPCNotification) {
	token, _ := n.Params.AdditionalFields["progressToken"].(string)
	if n.Method != "notifications/progress" || token == "" {
		return
	}
	c.mu.Lock()
	to := c.progress[token]
	c.mu.Unlock()
	if to == nil {
		return
	}
	if params, err := json.Marshal(n.Params); err == nil {
		to(params)
	}
}

// Close ends the transport, and a process it has started.
func (c *Connection) Close() error { return c.t.Close() }
