package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	maxReplies = 256      // waiting answers to requests of a server
	batchBytes = 64 << 10 // waiting messages that are written together
)

// wire speaks JSON-RPC in lines over two streams. One goroutine reads, one writes, so that a server which
// stops reading blocks neither the reading of its answers nor a caller beyond its deadline.
type wire struct {
	out     io.WriteCloser
	lines   *lineReader
	ear     listener
	garbage func(line []byte) // hears what is no JSON-RPC
	alive   context.Context
	lose    context.CancelCauseFunc
	queue   chan *pending
	replies chan []byte
	workers sync.WaitGroup

	mu      sync.Mutex
	waiting map[int64]*pending
}

// pending is a request that waits to be written and then for its answer.
type pending struct {
	line    []byte
	answer  chan answered // holds one
	unsent  bool          // nothing of it was written; read after the wire's life ended
	written chan struct{}
}

type answered struct {
	result json.RawMessage
	err    error
}

// newWire starts both goroutines. When the input ends, over is asked why; it may wait for a reason a little.
func newWire(in io.Reader, out io.WriteCloser, limit int64, ear listener, garbage func([]byte), over func(error) error) *wire {
	w := &wire{
		out: out, lines: newLineReader(in, limit), ear: ear, garbage: garbage,
		queue: make(chan *pending), replies: make(chan []byte, maxReplies),
		waiting: map[int64]*pending{},
	}
	w.alive, w.lose = context.WithCancelCause(context.Background())
	w.workers.Go(func() {
		err := w.read()
		w.lose(over(err))
	})
	w.workers.Go(w.write)
	return w
}

func (w *wire) life() context.Context { return w.alive }

func (w *wire) settle(string) {}

func (w *wire) call(ctx context.Context, o outgoing) (json.RawMessage, error) {
	p := &pending{
		line:   requestLine(o.id, o.method, o.params),
		answer: make(chan answered, 1), written: make(chan struct{}),
	}
	w.expect(o.id, p)
	defer w.forget(o.id)
	select {
	case w.queue <- p:
	case <-ctx.Done():
		return nil, ended(ctx, NotSent, "the server does not read")
	case <-w.alive.Done():
		return nil, failed(NotSent, lostError(w.alive))
	}
	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
		return nil, ended(ctx, SentUnknown, "no answer")
	case <-w.alive.Done():
	}
	select {
	case a := <-p.answer: // it came before the end
		return a.result, a.err
	default:
	}
	select {
	case <-p.written:
	case <-ctx.Done():
		return nil, failed(SentUnknown, lostError(w.alive))
	}
	if p.unsent {
		return nil, failed(NotSent, lostError(w.alive))
	}
	return nil, failed(SentUnknown, lostError(w.alive))
}

// lostError is the error of calls whose connection ended.
func lostError(life context.Context) error {
	cause := context.Cause(life)
	if errors.Is(cause, errLost) {
		return cause
	}
	return fmt.Errorf("%w: %w", errLost, cause)
}

func (w *wire) expect(id int64, p *pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[id] = p
}

func (w *wire) forget(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, id)
}

// deliver hands an answer to its call, if somebody still waits for it.
func (w *wire) deliver(id int64, a answered) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.waiting[id]; p != nil {
		delete(w.waiting, id)
		p.answer <- a
	}
}

// only gives the id of the one waiting call, if there is exactly one.
func (w *wire) only() (int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.waiting {
		return id, len(w.waiting) == 1
	}
	return 0, false
}

func (w *wire) notify(method string, params []byte) {
	w.reply(notificationLine(method, params))
}

// reply sends a line for which nobody waits. The reader calls it, so it never blocks: a server that asks
// more than it listens gets no answers.
func (w *wire) reply(line []byte) {
	select {
	case w.replies <- line:
	default:
	}
}

// write owns the output until the wire's life ends.
func (w *wire) write() {
	for {
		select {
		case p := <-w.queue:
			w.writeReplies() // what was said before the request goes before it
			w.writeCalls(p)
		case line := <-w.replies:
			w.writeLine(line)
		case <-w.alive.Done():
			return
		}
	}
}

func (w *wire) writeReplies() {
	for {
		select {
		case line := <-w.replies:
			w.writeLine(line)
		default:
			return
		}
	}
}

func (w *wire) writeLine(line []byte) {
	if _, err := w.out.Write(line); err != nil {
		w.lose(fmt.Errorf("write: %w", err))
	}
}

// writeCalls writes a request and those that wait behind it at once.
func (w *wire) writeCalls(first *pending) {
	batch := []*pending{first}
	data := first.line
more:
	for len(data) < batchBytes {
		select {
		case p := <-w.queue:
			if len(batch) == 1 {
				data = bytes.Clone(data)
			}
			batch = append(batch, p)
			data = append(data, p.line...)
		default:
			break more
		}
	}
	n, err := w.out.Write(data)
	start := 0
	for _, p := range batch {
		p.unsent = err != nil && start >= n
		start += len(p.line)
		p.line = nil
		close(p.written)
	}
	if err != nil {
		w.lose(fmt.Errorf("write: %w", err))
	}
}

// read takes lines until the input ends.
func (w *wire) read() error {
	for {
		line, over, err := w.lines.next()
		switch {
		case err != nil:
			return err
		case over != nil:
			w.refuse(over)
		default:
			w.route(line)
		}
	}
}

// route brings one line to whom it is for.
func (w *wire) route(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if line[0] == '[' { // a batch, which one protocol version allowed
		if !rawjson.Valid(line) {
			w.garbage(line)
			return
		}
		for message := range rawjson.Elements(line) {
			w.routeMessage(message)
		}
		return
	}
	w.routeMessage(line)
}

func (w *wire) routeMessage(data []byte) {
	m, ok := parseMessage(data)
	switch {
	case !ok:
		w.garbage(data)
	case m.method != nil && m.id != nil:
		w.reply(replyLine(m.id, m.method))
	case m.method != nil:
		w.hear(m)
	case m.id != nil:
		if id, ok := number(m.id); ok {
			result, err := m.answer()
			w.deliver(id, answered{result, err})
		}
	default:
		w.garbage(data)
	}
}

func (w *wire) hear(m message) {
	var method string
	if json.Unmarshal(m.method, &method) == nil {
		w.ear.heard(method, m.params)
	}
}

// refuse fails the call whose answer was too large and leaves the others alone.
func (w *wire) refuse(over *tooLong) {
	id, ok := over.id()
	if !ok {
		id, ok = w.only()
	}
	if ok {
		w.deliver(id, answered{err: failed(Ran, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, over.size, w.lines.max))})
		return
	}
	w.garbage(over.head)
}
