package observe

import "sync"

// queued is how many audit lines may wait for the log's writer before requests wait for it.
const queued = 1024

// queue writes audit lines from a goroutine of its own, so that an agent does not wait for the log. It
// is safe for concurrent use; nothing given to it is lost.
type queue struct {
	mu     sync.RWMutex // read to put, written to close
	closed bool
	lines  chan func()
	done   chan struct{}
}

func newQueue() *queue {
	q := &queue{lines: make(chan func(), queued), done: make(chan struct{})}
	go func() { // close waits for it
		defer close(q.done)
		for write := range q.lines {
			write()
		}
	}()
	return q
}

// put hands over one line to be written; after close it writes it at once.
func (q *queue) put(write func()) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		write()
		return
	}
	q.lines <- write
}

// close writes what waits and ends the goroutine. It may be called more than once.
func (q *queue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.lines)
	}
	q.mu.Unlock()
	<-q.done
}
