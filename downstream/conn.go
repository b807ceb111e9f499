package downstream

import (
	"context"
	"encoding/json"
	"net/http"
)

// outgoing is one request on its way to a server.
type outgoing struct {
	id     int64
	method string
	params []byte // one line, or nil
	header http.Header
}

// conn is one connection to a server, before and after the handshake.
type conn interface {
	// call sends one request and waits for its raw result. It returns as soon as ctx ends. Every error is
	// an *Error without a server; progress of the call was heard before it returns. Concurrent calls are fine.
	call(ctx context.Context, o outgoing) (json.RawMessage, error)
	// notify sends one notification, or drops it when there is no way to send it soon.
	notify(method string, params []byte)
	// settle tells the connection which protocol version the handshake found.
	settle(version string)
	// life ends when the connection is lost; its cause says why.
	life() context.Context
	// close ends the connection and waits for its goroutines. It may be called more than once.
	close()
}

// listener hears what a server says on its own. It must not block.
type listener interface {
	heard(method string, params []byte)
}
