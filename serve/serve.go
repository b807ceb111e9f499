// Package serve speaks MCP to agents over stdio or HTTP and shows each of them one face.
//
// Everything travels as raw JSON between the agent and the face. Agents of the handshake eras have a session; those
// since 2026-07-28 say in each request who they are, and answer questions by repeating the request.
package serve

import (
	"log/slog"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/serve/framing"
)

// Options is what both transports need. Only Face is required.
type Options struct {
	Face Face
	// Name and Version identify us in serverInfo; default "proxy-dispatch" and "dev".
	Name, Version string
	// Log receives what goes wrong; nil discards it.
	Log *slog.Logger
	// MaxMessage bounds one incoming message in bytes; default 256 MiB. All calls waiting or
	// running at one time may hold twice as much, and so may those that wait for an agent's input.
	MaxMessage int64
	// OnListed is called once, after the first tools/list was answered over stdio: the moment to start
	// what must not compete with the first answers. It must not block.
	OnListed func()
	// MaxCalls bounds the calls running at once; further ones wait. Default 256.
	MaxCalls int
	// Framing is how messages are told apart on stdio, both ways; the zero value follows the agent.
	Framing framing.Framing
	// MaxAsks bounds the questions of servers that are open at one agent; default 256. AskTimeout bounds the wait for
	// one answer; default 10 min.
	MaxAsks    int
	AskTimeout time.Duration
	// MaxParked bounds the calls that wait for agents to repeat their request with an answer; default 1000. ParkTime is
	// how long each waits; default 10 min.
	MaxParked int
	ParkTime  time.Duration
	// StateKey seals what agents carry for us between such requests. Proxies that share it read each other's states, but
	// a call that waits is known to its own proxy alone. Nil: a random key.
	StateKey []byte
}

const (
	defaultMaxMessage = 256 << 20
	defaultMaxCalls   = 256
	defaultMaxAsks    = 256
	defaultMaxParked  = 1000
	defaultPatience   = 10 * time.Minute
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
	if o.OnListed == nil {
		o.OnListed = func() {}
	}
	o.MaxMessage = positive(o.MaxMessage, defaultMaxMessage)
	o.MaxCalls = positive(o.MaxCalls, defaultMaxCalls)
	o.MaxAsks = positive(o.MaxAsks, defaultMaxAsks)
	o.AskTimeout = positive(o.AskTimeout, defaultPatience)
	o.MaxParked = positive(o.MaxParked, defaultMaxParked)
	o.ParkTime = positive(o.ParkTime, defaultPatience)
	return o
}

// positive is n, or its default.
func positive[N int | int64 | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}
