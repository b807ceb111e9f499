package replay

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"
)

// ahead is how many bytes may wait for a listener that is slower than who speaks.
const ahead = 256 << 10

// ErrTaken ends a listener whose stream another one listens to.
var ErrTaken = errors.New("another listener took over")

// Options say what becomes of a stream nobody listens to. The zero value waits for ever.
type Options struct {
	// Lossy never makes who speaks wait: the oldest message that was not heard makes room.
	Lossy bool
	// Abandoned is called once nobody has listened for Grace. It must not block.
	Abandoned func()
	Grace     time.Duration
}

// Event is one message of a stream.
type Event struct {
	// ID finds the event again in its log.
	ID string
	// Message is in pieces that must not be changed.
	Message [][]byte
	// Last tells that nothing follows.
	Last bool

	number  int64
	size    int64
	counted bool // in the log; not so what was too large
}

// Stream is the messages for one listener, in order. It is safe for concurrent use.
type Stream struct {
	log     *Log
	id      int64
	options Options
	bell    chan struct{} // rings when something came

	// Guarded by log.mu.
	events   []Event // kept, in order
	known    int64   // number of the newest event
	heard    int64   // number of the newest event that was heard
	waiting  int64   // bytes not heard
	room     chan struct{}
	ended    bool
	listener *Listener
	timer    *time.Timer
}

// Say adds a message. While somebody listens it waits until there is room, so that nothing is lost; while nobody does,
// the oldest that was not heard makes room. False: the message was too large to be kept, or the stream has ended.
func (s *Stream) Say(message [][]byte) bool { return s.add(message, false) }

// End adds the last message; a nil one only ends the stream.
func (s *Stream) End(message [][]byte) bool {
	if message != nil {
		return s.add(message, true)
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.end()
	return true
}

func (s *Stream) add(message [][]byte, last bool) bool {
	size := int64(overhead)
	for _, piece := range message {
		size += int64(len(piece))
	}
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	for s.listener != nil && !s.options.Lossy && !s.ended && s.waiting > 0 && s.waiting+size > min(ahead, l.max) {
		room := s.room
		l.mu.Unlock()
		<-room
		l.mu.Lock()
	}
	if s.ended {
		return false
	}
	counted := l.evict(size)
	for !counted && (s.listener == nil || s.options.Lossy) && s.heard < s.known && len(s.events) > 0 { // nobody hears: the oldest goes
		s.heard = s.events[0].number
		s.waiting -= s.events[0].size
		s.drop()
		counted = l.evict(size)
	}
	if !counted && (s.listener == nil || s.options.Lossy) {
		return false
	}
	s.known++
	s.waiting += size
	s.events = append(s.events, Event{ID: s.name(s.known), Message: message, Last: last, number: s.known, size: size, counted: counted})
	if last {
		s.end()
	}
	s.ring()
	return true
}

// Spoken reports whether anything was said.
func (s *Stream) Spoken() bool {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.known > 0
}

// Heard reports whether somebody listens.
func (s *Stream) Heard() bool {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.listener != nil
}

// Start is the ID of what came before the first event.
func (s *Stream) Start() string { return s.name(0) }

func (s *Stream) name(number int64) string {
	return strconv.FormatInt(s.id, 10) + "-" + strconv.FormatInt(number, 10)
}

// Forget drops the stream and all it kept.
func (s *Stream) Forget() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.end()
	s.forget()
}

func (s *Stream) forget() {
	for len(s.events) > 0 {
		s.drop()
	}
	delete(s.log.streams, s.id)
}

// drop drops the oldest event, if it is still there.
func (s *Stream) drop() {
	for len(s.events) > 0 && s.events[0].Message == nil {
		s.events = s.events[1:]
	}
	if len(s.events) == 0 {
		return
	}
	if s.events[0].counted {
		s.log.release(s.events[0].size)
	}
	s.events[0] = Event{}
	if s.events = s.events[1:]; len(s.events) == 0 && s.ended && s.listener == nil {
		delete(s.log.streams, s.id)
	}
}

func (s *Stream) end() {
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.ring()
	s.makeRoom()
}

func (s *Stream) ring() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

// makeRoom wakes those who wait to say something.
func (s *Stream) makeRoom() {
	close(s.room)
	s.room = make(chan struct{})
}

// Listener hears one stream. It is used by one goroutine, which must call Leave.
type Listener struct {
	stream *Stream
	at     int64 // number of the event given last
	taken  chan struct{}
}

// Listen hears what follows the event of a number, in place of who listened before. What is not kept any more is
// passed over.
func (s *Stream) Listen(after int64) *Listener {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.listener != nil {
		close(s.listener.taken)
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.listener = &Listener{stream: s, at: min(after, s.known), taken: make(chan struct{})}
	s.ring()
	return s.listener
}

// ListenOn hears what nobody has heard yet, nor is being given now.
func (s *Stream) ListenOn() *Listener {
	s.log.mu.Lock()
	after := s.heard
	if s.listener != nil {
		after = max(after, s.listener.at)
	}
	s.log.mu.Unlock()
	return s.Listen(after)
}

// Next waits for the next event; asking for it says that the one before was heard. The error is io.EOF at the end,
// ErrTaken, or that of ctx.
func (l *Listener) Next(ctx context.Context) (Event, error) {
	s := l.stream
	l.hear()
	for {
		e, err := l.look()
		if errors.Is(err, ErrTaken) {
			s.ring() // which may have been meant for the other one
		}
		if err != nil || e.Message != nil {
			return e, err
		}
		select {
		case <-s.bell:
		case <-l.taken:
			return Event{}, ErrTaken
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// look returns the next event if it is there.
func (l *Listener) look() (Event, error) {
	s := l.stream
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.listener != l {
		return Event{}, ErrTaken
	}
	for _, e := range s.events {
		if e.number > l.at && e.Message != nil {
			l.at = e.number
			return e, nil
		}
	}
	if s.ended {
		return Event{}, io.EOF
	}
	return Event{}, nil
}

// hear notes that everything given so far was heard.
func (l *Listener) hear() {
	s := l.stream
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.listener != l || l.at <= s.heard {
		return
	}
	for i := 0; i < len(s.events); i++ {
		e := &s.events[i]
		if e.number <= s.heard || e.number > l.at {
			continue
		}
		s.heard = e.number
		s.waiting -= e.size
		switch {
		case s.log.total != nil && e.counted:
			s.log.heard.PushBack(s)
		case i == 0:
			s.drop()
			i--
		default:
			e.Message = nil
		}
	}
	s.makeRoom()
}

// Again makes Next give once more what it gave last, unless more was asked for since.
func (l *Listener) Again(e Event) {
	if e.number > 0 {
		l.at = e.number - 1
	}
}

// At is the ID of the event given last.
func (l *Listener) At() string { return l.stream.name(l.at) }

// Leave ends listening. What was given last counts as heard only if Next was asked for more.
func (l *Listener) Leave() {
	s := l.stream
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.listener != l {
		return
	}
	s.listener = nil
	s.makeRoom()
	if s.options.Abandoned != nil && !s.ended {
		s.timer = time.AfterFunc(s.options.Grace, s.options.Abandoned)
	}
	if s.ended && len(s.events) == 0 {
		delete(s.log.streams, s.id)
	}
}
