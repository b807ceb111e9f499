package downstream

import "sync"

// eventQueue gives events to one listener, in order, from one goroutine. A change that waits already is not queued
// again, so that a server which repeats itself costs nothing.
type eventQueue struct {
	mu     sync.Mutex
	queue  []Event
	bell   chan struct{} // holds one
	closed chan struct{}
	worker sync.WaitGroup
}

// newEventQueue starts the goroutine; close ends it.
func newEventQueue(hear func(Event)) *eventQueue {
	q := &eventQueue{bell: make(chan struct{}, 1), closed: make(chan struct{})}
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
	q.mu.Lock()
	if !(repeats(e.Kind) && q.waits(e)) {
		q.queue = append(q.queue, e)
	}
	q.mu.Unlock()
	select {
	case q.bell <- struct{}{}:
	default:
	}
}

// repeats says if hearing such an event twice is the same as hearing it once.
func repeats(k EventKind) bool { return k != Ready && k != Lost }

func (q *eventQueue) waits(e Event) bool {
	for _, other := range q.queue {
		if other == e {
			return true
		}
	}
	return false
}

func (q *eventQueue) drain(hear func(Event)) {
	q.mu.Lock()
	batch := q.queue
	q.queue = nil
	q.mu.Unlock()
	for _, e := range batch {
		hear(e)
	}
}

// close gives what still waits and waits for the goroutine.
func (q *eventQueue) close() {
	close(q.closed)
	q.worker.Wait()
}
