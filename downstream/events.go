package downstream

import (
	"context"
	"sync"
	"sync/atomic"
)

const (
	maxSaid      = 100_000  // words of servers that wait for the listener; then the oldest go
	maxSaidBytes = 64 << 20 // and their bytes
)

// eventQueue gives events to one listener, in order, from one goroutine. A change that waits already is not queued
// again, so that a server which repeats itself costs nothing.
type eventQueue struct {
	deaf   bool // nobody listens
	mu     sync.Mutex
	queue  []queued
	waits  map[change]bool // changes in the queue
	said   int             // words of servers in the queue
	bytes  int             // of them
	bell   chan struct{}   // holds one
	closed chan struct{}
	worker sync.WaitGroup

	unheard atomic.Int64 // words of servers that the listener has not returned from
}

// queued is an event, or somebody who waits for those before it.
type queued struct {
	Event
	reached chan struct{}
}

// change is what makes two events the same.
type change struct {
	server string
	kind   EventKind
}

// newEventQueue starts the goroutine; close ends it.
func newEventQueue(hear func(Event)) *eventQueue {
	q := &eventQueue{deaf: hear == nil, bell: make(chan struct{}, 1), closed: make(chan struct{}), waits: map[change]bool{}}
	if hear == nil {
		return q
	}
	q.worker.Go(func() {
		for {
			select {
			case <-q.bell:
				q.drain(hear)
			case <-q.closed:
				q.drain(hear)
				return
			}
		}
	})
	return q
}

func (q *eventQueue) put(e Event) {
	if q.deaf {
		return
	}
	q.mu.Lock()
	switch same := (change{e.Server, e.Kind}); {
	case e.Kind == Said:
		q.unheard.Add(1)
		q.said++
		q.bytes += len(e.Params)
		q.queue = append(q.queue, queued{Event: e})
		if q.said > maxSaid || q.bytes > maxSaidBytes {
			q.forget()
		}
	case e.Kind == Ready || e.Kind == Lost: // hearing these twice is not the same as once
		q.queue = append(q.queue, queued{Event: e})
	case !q.waits[same]:
		q.waits[same] = true
		q.queue = append(q.queue, queued{Event: e})
	}
	q.mu.Unlock()
	q.ring()
}

func (q *eventQueue) ring() {
	select {
	case q.bell <- struct{}{}:
	default:
	}
}

// forget drops the older half of the words: the listener does not keep up. The caller holds mu.
func (q *eventQueue) forget() {
	drop := q.said/2 + 1
	kept := q.queue[:0]
	for _, e := range q.queue {
		if e.Kind == Said && drop > 0 {
			drop--
			q.said--
			q.bytes -= len(e.Params)
			q.unheard.Add(-1)
			continue
		}
		kept = append(kept, e)
	}
	clear(q.queue[len(kept):])
	q.queue = kept
}

// flush waits until the listener has heard all words of servers that were put so far. The listener itself must not
// come here.
func (q *eventQueue) flush(ctx context.Context) {
	if q.unheard.Load() == 0 {
		return
	}
	reached := make(chan struct{})
	q.mu.Lock()
	q.queue = append(q.queue, queued{reached: reached})
	q.mu.Unlock()
	q.ring()
	select {
	case <-reached:
	case <-ctx.Done():
	case <-q.closed:
	}
}

func (q *eventQueue) drain(hear func(Event)) {
	q.mu.Lock()
	batch := q.queue
	q.queue, q.said, q.bytes = nil, 0, 0
	clear(q.waits)
	q.mu.Unlock()
	for _, e := range batch {
		if e.reached != nil {
			close(e.reached)
			continue
		}
		hear(e.Event)
		if e.Kind == Said {
			q.unheard.Add(-1)
		}
	}
}

// close gives what still waits and waits for the goroutine.
func (q *eventQueue) close() {
	close(q.closed)
	q.worker.Wait()
}
