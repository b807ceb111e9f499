package downstream

import (
	"context"
	"encoding/json"
	"sync"
)

const (
	maxProgress  = 4096     // reports of progress that wait for a caller; then the oldest goes
	maxTold      = 100_000  // notifications that wait for a caller
	maxToldBytes = 64 << 20 // and their bytes
)

// mailbox carries what a server says in the course of one call from the connection, which must not block, to the
// caller, in order. A goroutine runs while something waits.
type mailbox struct {
	progress func(params json.RawMessage)
	told     func(method string, params json.RawMessage)

	mu      sync.Mutex
	items   []said
	reports int // of progress among the items
	bytes   int
	running bool
	closed  bool
	worker  sync.WaitGroup
}

// said is one notification; progress has no method. Or it is somebody who waits for those before it.
type said struct {
	method  string
	params  json.RawMessage
	reached chan struct{}
}

// put takes a notification; false if nobody wants it any longer, or if too much waits.
func (b *mailbox) put(s said) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.items) >= maxTold || b.bytes+len(s.params) > maxToldBytes {
		return false
	}
	if s.method == "" && s.reached == nil {
		if b.reports++; b.reports > maxProgress {
			b.dropReport()
		}
	}
	b.items = append(b.items, s)
	b.bytes += len(s.params)
	if !b.running {
		b.running = true
		b.worker.Go(b.deliver)
	}
	return true
}

func (b *mailbox) dropReport() {
	for i, s := range b.items {
		if s.method == "" && s.reached == nil {
			b.items = append(b.items[:i], b.items[i+1:]...)
			b.bytes -= len(s.params)
			b.reports--
			return
		}
	}
}

// deliver gives what waits, until nothing does.
func (b *mailbox) deliver() {
	for {
		b.mu.Lock()
		items := b.items
		b.items, b.reports, b.bytes = nil, 0, 0
		b.running = len(items) > 0
		b.mu.Unlock()
		if len(items) == 0 {
			return
		}
		for _, s := range items {
			switch {
			case s.reached != nil:
				close(s.reached)
			case s.method == "":
				b.progress(s.params)
			default:
				b.told(s.method, s.params)
			}
		}
	}
}

// flush waits until what came so far was heard, or the call that it came for is over.
func (b *mailbox) flush(ctx context.Context) {
	b.mu.Lock()
	idle := !b.running
	b.mu.Unlock()
	if idle {
		return
	}
	reached := make(chan struct{})
	if !b.put(said{reached: reached}) {
		return
	}
	select {
	case <-reached:
	case <-ctx.Done():
	}
}

// finish takes nothing any longer and waits until everything that came was heard, unless drop is set.
func (b *mailbox) finish(drop bool) {
	b.mu.Lock()
	b.closed = true
	if drop {
		for _, s := range b.items {
			if s.reached != nil {
				close(s.reached)
			}
		}
		b.items, b.reports, b.bytes = nil, 0, 0
	}
	b.mu.Unlock()
	b.worker.Wait()
}
