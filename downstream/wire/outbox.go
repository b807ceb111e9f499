package wire

import (
	"fmt"
	"io"
	"slices"
	"sync"
)

const (
	maxPosts   = 256      // waiting messages that nobody waits for
	batchBytes = 64 << 10 // waiting messages that are written together
)

// outbox writes messages in the order they were sent. When nothing waits, whoever sends writes at once as much as the
// stream takes without waiting: that saves waking a goroutine. What is left over, and what comes meanwhile, waits for
// the goroutine in write, which may wait for the reader on the other side as long as that takes.
type outbox struct {
	out     io.Writer
	try     func(p []byte) (int, error) // writes what goes without waiting; nil if that can't be known
	framing Framing
	lost    func(error)
	bell    chan struct{} // holds one

	mu    sync.Mutex
	busy  bool // somebody writes
	queue []*letter
	posts int // those in the queue that nobody waits for
}

// letter is a message that could not be written at once.
type letter struct {
	data    []byte
	begun   bool // a part of it was written before it had to wait
	posted  bool // nobody waits for it
	written chan struct{}
	unsent  bool // nothing of it was written; read after written
}

func (o *outbox) begin(out io.Writer, framing Framing, lost func(error)) {
	o.out, o.try, o.framing, o.lost, o.bell = out, tryWriter(out), framing, lost, make(chan struct{}, 1)
}

// send takes a line on its way; nil if it was written whole already.
func (o *outbox) send(line []byte) *letter { return o.put(line, false) }

// post is send for a line that may be dropped when too much waits.
func (o *outbox) post(line []byte) { o.put(line, true) }

func (o *outbox) put(line []byte, posted bool) *letter {
	data := o.framed(line)
	o.mu.Lock()
	if o.try == nil || o.busy || len(o.queue) > 0 {
		defer o.mu.Unlock()
		return o.enqueue(data, posted)
	}
	o.busy = true
	o.mu.Unlock()
	n, err := o.try(data)
	o.mu.Lock()
	o.busy = false
	if err == nil && n == len(data) {
		if len(o.queue) > 0 {
			o.ring()
		}
		o.mu.Unlock()
		return nil
	}
	l := &letter{data: data[n:], begun: n > 0, posted: posted, written: make(chan struct{})}
	if err == nil {
		o.queue = slices.Insert(o.queue, 0, l)
		if posted {
			o.posts++
		}
		o.ring()
		o.mu.Unlock()
		return l
	}
	l.begun, l.unsent = true, n == 0
	o.mu.Unlock()
	close(l.written)
	o.lost(err)
	return l
}

// enqueue lets a message wait. The caller holds mu.
func (o *outbox) enqueue(data []byte, posted bool) *letter {
	if posted {
		if o.posts >= maxPosts {
			return nil
		}
		o.posts++
	}
	l := &letter{data: data, posted: posted, written: make(chan struct{})}
	o.queue = append(o.queue, l)
	if !o.busy {
		o.ring()
	}
	return l
}

func (o *outbox) ring() {
	select {
	case o.bell <- struct{}{}:
	default:
	}
}

// withdraw takes a message back; false if a part of it was written or is being written.
func (o *outbox) withdraw(l *letter) bool {
	if l == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.queue, l)
	if i < 0 || l.begun {
		return false
	}
	o.queue = slices.Delete(o.queue, i, i+1)
	return true
}

// write writes what waits until done.
func (o *outbox) write(done <-chan struct{}) {
	for {
		select {
		case <-o.bell:
			for batch := o.take(); batch != nil; batch = o.take() {
				o.deliver(batch)
			}
		case <-done:
			return
		}
	}
}

// take gives the messages to write next, at once; nil if there is nothing to do.
func (o *outbox) take() []*letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy || len(o.queue) == 0 {
		return nil
	}
	n, size := 0, 0
	for ; n < len(o.queue) && (n == 0 || size < batchBytes); n++ {
		l := o.queue[n]
		size += len(l.data)
		if l.posted {
			o.posts--
		}
	}
	batch := slices.Clone(o.queue[:n])
	o.queue = slices.Delete(o.queue, 0, n)
	o.busy = true
	return batch
}

func (o *outbox) deliver(batch []*letter) {
	data := batch[0].data
	if len(batch) > 1 {
		data = slices.Clone(data)
		for _, l := range batch[1:] {
			data = append(data, l.data...)
		}
	}
	n, err := o.out.Write(data)
	o.mu.Lock()
	o.busy = false
	start := 0
	for _, l := range batch {
		l.unsent = err != nil && start >= n && !l.begun
		start += len(l.data)
		l.data = nil
		close(l.written)
	}
	o.mu.Unlock()
	if err != nil {
		o.lost(err)
	}
}

// framed is a line as it travels.
func (o *outbox) framed(line []byte) []byte {
	if o.framing != ContentLength {
		return line
	}
	body := line[:len(line)-1]
	return append(fmt.Appendf(make([]byte, 0, len(body)+40), "Content-Length: %d\r\n\r\n", len(body)), body...)
}
