package serve

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// listen serves subscriptions/listen until ctx ends or nothing is left to wait for. It has a session
// of its own, so that every notification is written before the answer is returned.
func (e *endpoint) listen(ctx context.Context, m message, own *link, write func(line []byte)) parts {
	answered := make(chan parts, 1)
	go func() { answered <- e.handle(e.mcp.WithContext(ctx, own), m) }()
	for {
		select {
		case n := <-own.notifications:
			e.notify(m.id, n, write)
		case answer := <-answered:
			for len(own.notifications) > 0 {
				e.notify(m.id, <-own.notifications, write)
			}
			return answer
		}
	}
}

// notify writes a notification of the subscription the agent knows by id.
func (e *endpoint) notify(id json.RawMessage, n mcp.JSONRPCNotification, write func(line []byte)) {
	if _, ok := n.Params.Meta[mcp.MetaKeySubscriptionID]; ok {
		n.Params.Meta[mcp.MetaKeySubscriptionID] = id
	}
	line, err := json.Marshal(n)
	if err != nil {
		e.log.Error("notification cannot be written", "method", n.Method, "err", err)
		return
	}
	write(line)
}
