// Package serve speaks MCP to agents over stdio or HTTP and shows each of them one face.
//
// Calls and tool lists travel as raw JSON between the agent and the face; the rest of the protocol
// (initialize, ping, server/discover, methods nobody has) is answered by mcp-go.
package serve

import "log/slog"

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
