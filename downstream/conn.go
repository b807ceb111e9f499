package downstream

import (
	"context"
	"encoding/json"
)

// conn is one connection to a server, before and after the handshake. What the server says on its own goes to the
// session's ears.
type conn interface {
	// Call sends one request, whose params are one line or nil, and waits for its raw result. It returns as soon
	// as ctx ends. Every error is a *wire.Error; what the server said before the result was heard before it returns.
	// Concurrent calls are fine.
	Call(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error)
	// Notify sends one notification, after those before it, or drops it when there is no way to send it soon.
	Notify(method string, params []byte)
	// Settle tells the connection which protocol version the handshake found.
	Settle(version string)
	// Listen makes the server's words outside of calls heard, where that takes more than the connection; it
	// follows the handshake and returns soon.
	Listen()
	// Life ends when the connection is lost; its cause says why.
	Life() context.Context
	// Close ends the connection and waits for its goroutines. It may be called more than once.
	Close()
}
