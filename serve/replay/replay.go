// Package replay keeps what is said on a stream until it was heard, and a while longer for a listener that lost it.
package replay

import (
	"container/list"
	"strconv"
	"strings"
	"sync"
)

// overhead is what an event counts beside its bytes.
const overhead = 256

// Budget is how much several logs may keep together. It is safe for concurrent use.
type Budget struct {
	mu   sync.Mutex
	left int64
}

// NewBudget makes a budget of bytes.
func NewBudget(bytes int64) *Budget { return &Budget{left: bytes} }

// take takes n bytes if there are as many.
func (b *Budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < n {
		return false
	}
	b.left -= n
	return true
}

func (b *Budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
}

// Log is the streams of one session. It is safe for concurrent use.
type Log struct {
	total *Budget
	max   int64

	mu      sync.Mutex
	closed  bool
	last    int64
	streams map[int64]*Stream
	used    int64     // bytes of all events kept
	heard   list.List // of *Stream: one element for each event that was heard, in the order of hearing
}

// NewLog makes a log that keeps at most max bytes, taken from total. Without total nothing is kept once it was heard.
func NewLog(total *Budget, max int64) *Log {
	return &Log{total: total, max: max, streams: map[int64]*Stream{}}
}

// Open begins a stream. Its listener is expected at once.
func (l *Log) Open(o Options) *Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	s := &Stream{log: l, id: l.last, options: o, bell: make(chan struct{}, 1), room: make(chan struct{})}
	if l.closed {
		s.ended = true
		return s
	}
	l.streams[s.id] = s
	return s
}

// Find returns the stream of an event and the event's number; nil if nothing is known of it any more.
func (l *Log) Find(eventID string) (*Stream, int64) {
	stream, number, ok := strings.Cut(eventID, "-")
	id, err := strconv.ParseInt(stream, 10, 64)
	n, err2 := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || err2 != nil || n < 0 {
		return nil, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[id], n
}

// Close ends all streams and gives back what they kept.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, s := range l.streams {
		s.end()
		s.forget()
	}
	l.heard.Init()
}

// evict makes room for n more bytes by dropping what was heard, oldest first, and takes them. False: there is none.
func (l *Log) evict(n int64) bool {
	for l.used+n > l.max || !l.take(n) {
		e := l.heard.Front()
		if e == nil {
			return false
		}
		l.heard.Remove(e)
		e.Value.(*Stream).drop()
	}
	l.used += n
	return true
}

func (l *Log) take(n int64) bool { return l.total == nil || l.total.take(n) }

func (l *Log) release(n int64) {
	l.used -= n
	if l.total != nil {
		l.total.give(n)
	}
}
