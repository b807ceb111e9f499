// Package serve speaks MCP to agents over stdio or HTTP and shows each of them one face.
//
// Calls and tool lists travel as raw JSON between the agent and the face; the rest of the protocol
// (initialize, ping, server/discover, methods nobody has) is answered by mcp-go.
package serve

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// Face is what an agent sees.
//
// All methods may be called at once from many goroutines. Tools and Instructions answer from what is
// known and never wait for a server.
type Face interface {
	// Tools returns the tools/list entries, each a complete JSON object.
	Tools() []json.RawMessage
	// Call runs one tool and returns a complete CallToolResult object, in pieces. An error means that no tool
	// of that name exists; every other failure is a result with isError.
	Call(ctx context.Context, c Call) (dispatch.Pieces, error)
	// Instructions is the text for the agent in the answer to initialize; it is read once.
	Instructions() string
}

// Call is one tools/call request.
type Call struct {
	Agent dispatch.Agent
	// Name is the tool's name as the agent wrote it.
	Name string
	// Arguments is the raw value the agent sent, nil if absent; it need not be an object.
	Arguments json.RawMessage
	// Meta is the request's `_meta` object, nil if absent.
	Meta json.RawMessage
	// Progress tells the agent how far the call is: an object with progress, total, message, and no
	// token. It may be called from any goroutine and does nothing once Call has returned. Nil means
	// that the agent asked for none.
	Progress func(params json.RawMessage)
}

// Options is what both transports need. Only Face is required.
type Options struct {
	Face Face
	// Name and Version identify us in serverInfo; default "proxy-dispatch" and "dev".
	Name, Version string
	// Log receives what goes wrong; nil discards it.
	Log *slog.Logger
	// MaxMessage bounds one incoming message in bytes; default 256 MiB. All calls waiting or
	// running at one time may hold twice as much.
	MaxMessage int64
	// OnListed is called once, after the first tools/list was answered over stdio: the moment to start
	// what must not compete with the first answers. It must not block.
	OnListed func()
	// MaxCalls bounds the calls running at once; further ones wait. Default 256.
	MaxCalls int
}

const (
	defaultMaxMessage = 256 << 20
	defaultMaxCalls   = 256
)

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "proxy-dispatch"
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if o.OnListed == nil {
		o.OnListed = func() {}
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = defaultMaxCalls
	}
	return o
}
