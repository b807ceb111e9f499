package observe

import (
	"sync"
	"time"
)

const (
	// queued is how many audit lines may wait for the log's writer before requests wait for it.
	queued = 1024
	// gather is how long lines are gathered before they are written, so that not every request wakes
	// the writer while its agent waits for the answer.
	gather = 10 * time.Millisecond
)

// queue writes audit lines from a goroutine of its own, so that an agent does not wait for the log. It
// is safe for concurrent use; nothing given to it is lost.
type queue struct {
	wake chan struct{} // there is something to write
	stop chan struct{} // closed by close
	done chan struct{} // closed by the goroutine

	mu     sync.Mutex
	room   sync.Cond // there is room, or the queue is closed
	lines  []func()
	closed bool
}

func newQueue() *queue {
	q := &queue{wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	q.room.L = &q.mu
	go q.run() // close waits for it
	return q
}

// put hands over one line to be written; after close it writes it at once.
func (q *queue) put(write func()) {
	q.mu.Lock()
	for len(q.lines) >= queued && !q.closed {
		q.room.Wait()
	}
	if q.closed {
		q.mu.Unlock()
		write()
		return
	}
	q.lines = append(q.lines, write)
	first := len(q.lines) == 1
	q.mu.Unlock()
	if first {
		q.wake <- struct{}{}
	}
}

func (q *queue) run() {
	defer close(q.done)
	for {
		select {
		case <-q.wake:
		case <-q.stop:
			q.write()
			return
		}
		select {
		case <-time.After(gather):
		case <-q.stop:
		}
		q.write()
	}
}

// write writes what has been gathered.
func (q *queue) write() {
	q.mu.Lock()
	lines := q.lines
	q.lines = nil
	q.room.Broadcast()
	q.mu.Unlock()
	for _, write := range lines {
		write()
	}
}

// close writes what waits and ends the goroutine. It may be called more than once.
func (q *queue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.stop)
		q.room.Broadcast()
	}
	q.mu.Unlock()
	<-q.done
}
