package serve

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// stall is how long an agent may take to accept or send one piece of a message.
	stall = 30 * time.Second
	// pieceSize is the most that is written under one deadline.
	pieceSize = 1 << 20
)

// stream is the answer to one POST: a single JSON message, or Server-Sent Events once there was
// something to say before it.
type stream struct {
	w      http.ResponseWriter
	events bool // the agent accepts them

	mu   sync.Mutex
	open bool
}

func newStream(w http.ResponseWriter, r *http.Request) *stream {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return &stream{w: w, events: accept == "" || strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*")}
}

// notify sends one message before the answer; an agent that takes no events misses it.
func (s *stream) notify(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.events {
		return
	}
	if !s.open {
		s.open = true
		head := s.w.Header()
		head.Set("Content-Type", "text/event-stream")
		head.Set("Cache-Control", "no-cache")
		s.w.WriteHeader(http.StatusOK)
	}
	s.event(parts{line})
}

// answer sends the last message.
func (s *stream) answer(status int, message parts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.event(message)
		return
	}
	s.w.Header().Set("Content-Type", "application/json")
	s.w.Header().Set("Content-Length", strconv.Itoa(message.size()))
	s.w.WriteHeader(status)
	s.send(message)
}

// drop ends the answer to a request that the agent gave up.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		s.w.WriteHeader(http.StatusAccepted)
	}
}

func (s *stream) event(message parts) {
	framed := append(parts{[]byte("event: message\ndata: ")}, message...)
	s.send(append(framed, []byte("\n\n")))
	_ = http.NewResponseController(s.w).Flush() // the write before it has met the same end
}

// send writes in pieces, each under a deadline of its own. An error means that the agent is gone,
// which its request's context tells as well.
func (s *stream) send(message parts) {
	control := http.NewResponseController(s.w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // a recorder has no deadlines
	for _, rest := range message.joined() {
		for len(rest) > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(stall))
			n, err := s.w.Write(rest[:min(len(rest), pieceSize)])
			if err != nil {
				return
			}
			rest = rest[n:]
		}
	}
}
