package everything

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// stream keeps the events of one answer, or of what belongs to no request, so that an agent can come back for them.
type stream struct {
	id      string
	mu      sync.Mutex // guards all below
	events  [][]byte
	done    bool
	cut     int           // counts the times that readers were sent away
	changed chan struct{} // closed and replaced at each change
}

func newStream(id string) *stream { return &stream{id: id, changed: make(chan struct{})} }

func (st *stream) touch(change func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	change()
	close(st.changed)
	st.changed = make(chan struct{})
}

func (st *stream) send(line []byte) { st.touch(func() { st.events = append(st.events, line) }) }
func (st *stream) finish()          { st.touch(func() { st.done = true }) }

// hangUp sends away whoever reads; the events to come wait for the next reader.
func (st *stream) hangUp() { st.touch(func() { st.cut++ }) }

// copyTo writes events from an index on until the stream is done, the reader is sent away, or ctx ends.
func (st *stream) copyTo(ctx context.Context, w http.ResponseWriter, from int) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w).Flush
	_ = flush()
	st.mu.Lock()
	cut := st.cut
	st.mu.Unlock()
	for {
		st.mu.Lock()
		events, done, changed := st.events[min(from, len(st.events)):], st.done, st.changed
		away := st.cut != cut
		st.mu.Unlock()
		for _, e := range events {
			writeEvent(w, st.id+"_"+strconv.Itoa(from), e)
			from++
		}
		_ = flush()
		if done || away {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// writeEvent writes one event; an empty one is the first of a stream, which names an id to come back with.
func writeEvent(w http.ResponseWriter, id string, line []byte) {
	if line == nil {
		fmt.Fprintf(w, "id: %s\nretry: 100\ndata: \n\n", id)
		return
	}
	fmt.Fprintf(w, "id: %s\nevent: message\ndata: ", id)
	_, _ = w.Write(line)
	_, _ = w.Write([]byte("\n\n"))
}

// parseEventID splits the id of an event into its stream and the index of the event after it.
func parseEventID(id string) (name string, next int, ok bool) {
	i := strings.LastIndexByte(id, '_')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(id[i+1:])
	return id[:i], n + 1, err == nil
}

const streamsKept = 64

// newStream opens a stream of the session, and forgets the oldest of those that are done.
func (v *session) newStream() *stream {
	st := newStream(v.s.id("stream"))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.streams[st.id] = st
	v.order = append(v.order, st.id)
	for len(v.order) > streamsKept {
		old := v.streams[v.order[0]]
		old.mu.Lock()
		done := old.done
		old.mu.Unlock()
		if !done {
			break
		}
		delete(v.streams, old.id)
		v.order = v.order[1:]
	}
	return st
}
