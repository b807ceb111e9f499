package downstream

import (
	"encoding/json"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

// maxProgress is how much progress may wait for a caller that is slower than the server; then the oldest goes.
const maxProgress = 4096

// mailbox carries the progress of one call from the connection, which must not block, to the caller.
type mailbox struct {
	mu    sync.Mutex
	items []json.RawMessage
	bell  chan struct{} // holds one
}

// deliverTo gives what comes to hear, in order, in a goroutine that ends with the returned function. That waits
// until everything that came was heard, unless drop is set.
func (b *mailbox) deliverTo(hear func(json.RawMessage)) (finish func(drop bool)) {
	end := make(chan bool, 1)
	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			select {
			case <-b.bell:
				b.drain(hear)
			case drop := <-end:
				if !drop {
					b.drain(hear)
				}
				return
			}
		}
	})
	return func(drop bool) {
		if drop {
			b.take()
		}
		end <- drop
		worker.Wait()
	}
}

func (b *mailbox) drain(hear func(json.RawMessage)) {
	for _, item := range b.take() {
		hear(item)
	}
}

func (b *mailbox) take() []json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	b.items = nil
	return items
}

func (b *mailbox) put(item json.RawMessage) {
	b.mu.Lock()
	if len(b.items) == maxProgress {
		b.items = b.items[1:]
	}
	b.items = append(b.items, item)
	b.mu.Unlock()
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

// progressDesk knows which call a token belongs to.
type progressDesk struct {
	mu    sync.Mutex
	boxes map[int64]*mailbox
}

func (d *progressDesk) open(token int64) *mailbox {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.boxes == nil {
		d.boxes = map[int64]*mailbox{}
	}
	b := &mailbox{bell: make(chan struct{}, 1)}
	d.boxes[token] = b
	return b
}

func (d *progressDesk) close(token int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.boxes, token)
}

func (d *progressDesk) heard(params []byte) {
	token, rest, ok := wire.Progress(params)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.boxes[token]; b != nil {
		b.put(rest)
	}
}
