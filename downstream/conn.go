package downstream

import (
	"context"
	"encoding/json"
)

// conn is one connection to a server, before and after the handshake.
type conn interface {
	// Call sends one request, whose params are one line or nil, and waits for its raw result. It returns as soon
	// as ctx ends. Every error is a *wire.Error; progress of the call was heard before it returns. Concurrent
	// calls are fine.
	Call(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error)
	// Notify sends one notification, or drops it when there is no way to send it soon.
	Notify(method string, params []byte)
	// Settle tells the connection which protocol version the handshake found.
	Settle(version string)
	// Life ends when the connection is lost; its cause says why.
	Life() context.Context
	// Close ends the connection and waits for its goroutines. It may be called more than once.
	Close()
}
