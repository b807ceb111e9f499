package serve

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// overloaded is the JSON-RPC code for a call refused because too much is waiting already.
const overloaded = -32000

// maxWaiting bounds the calls that wait for their turn.
const maxWaiting = 10000

// gate bounds the calls running at once, and the calls and bytes waiting beside them.
type gate struct {
	slots chan struct{}
	limit int64 // bytes

	mu    sync.Mutex
	bytes int64
	calls int
}

func newGate(calls int, bytes int64) *gate {
	return &gate{slots: make(chan struct{}, calls), limit: bytes}
}

// enter waits for a free slot. The caller must call leave unless there is a fault.
func (g *gate) enter(ctx context.Context, bytes int64) (leave func(), bad *Fault) {
	if !g.admit(bytes) {
		return nil, faultf(overloaded, "too many calls are waiting; repeat this one later")
	}
	select {
	case g.slots <- struct{}{}:
	default:
		select {
		case g.slots <- struct{}{}:
		case <-ctx.Done():
			g.drop(bytes)
			return nil, faultf(mcp.INTERNAL_ERROR, "the call ended before its turn came: %v", context.Cause(ctx))
		}
	}
	return func() { <-g.slots; g.drop(bytes) }, nil
}

func (g *gate) admit(bytes int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls >= cap(g.slots)+maxWaiting || g.calls > 0 && g.bytes+bytes > g.limit {
		return false
	}
	g.calls++
	g.bytes += bytes
	return true
}

func (g *gate) drop(bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls--
	g.bytes -= bytes
}
