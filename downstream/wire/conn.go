// Package wire carries JSON-RPC messages over a pair of streams and says what became of each.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	maxReplies = 256      // waiting answers to requests of a server
	batchBytes = 64 << 10 // waiting messages that are written together
)

// Options make a Conn. All of them are needed.
type Options struct {
	// In is what the server writes.
	In io.Reader
	// Out is what it reads.
	Out io.Writer
	// Max is the largest message taken from the server in bytes.
	Max int64
	// Heard is told what the server says on its own. It must not block.
	Heard func(method string, params []byte)
	// Garbage is told what is no JSON-RPC. It must not block.
	Garbage func(line []byte)
	// Over makes the reason of the end of the error that ended the input; it may wait for a reason a little.
	Over func(error) error
}

// Conn speaks JSON-RPC in lines over two streams. One goroutine reads, one writes, so that a server which
// stops reading blocks neither the reading of its answers nor a caller beyond its deadline. Whoever made it ends it
// with Lose, closes both streams, and waits.
type Conn struct {
	o       Options
	lines   *lineReader
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

// New starts both goroutines.
func New(o Options) *Conn {
	c := &Conn{
		o: o, lines: newLineReader(o.In, o.Max),
		queue: make(chan *pending), replies: make(chan []byte, maxReplies),
		waiting: map[int64]*pending{},
	}
	c.alive, c.lose = context.WithCancelCause(context.Background())
	c.workers.Go(func() {
		err := c.read()
		c.lose(o.Over(err))
	})
	c.workers.Go(c.write)
	return c
}

// Life ends when the connection is lost; its cause says why.
func (c *Conn) Life() context.Context { return c.alive }

// Lose ends the life of the connection with a cause, unless it ended before.
func (c *Conn) Lose(cause error) { c.lose(cause) }

// Wait returns when both goroutines ended, for which both streams must have ended.
func (c *Conn) Wait() { c.workers.Wait() }

// Settle changes nothing: messages travel alike in all versions of the protocol.
func (c *Conn) Settle(string) {}

// Call sends one request, whose params are one line or nil, and waits for its raw result. It returns as soon as ctx
// ends. Every error is an *Error. Ids of calls under way must differ; concurrent calls are fine.
func (c *Conn) Call(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error) {
	p := &pending{
		line:   RequestLine(id, method, params),
		answer: make(chan answered, 1), written: make(chan struct{}),
	}
	c.expect(id, p)
	defer c.forget(id)
	select {
	case c.queue <- p:
	case <-ctx.Done():
		return nil, Ended(ctx, NotSent, "the server does not read")
	case <-c.alive.Done():
		return nil, Failed(NotSent, Lost(c.alive))
	}
	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
		return nil, Ended(ctx, SentUnknown, "no answer")
	case <-c.alive.Done():
	}
	select {
	case a := <-p.answer: // it came before the end
		return a.result, a.err
	default:
	}
	select {
	case <-p.written:
	case <-ctx.Done():
		return nil, Failed(SentUnknown, Lost(c.alive))
	}
	if p.unsent {
		return nil, Failed(NotSent, Lost(c.alive))
	}
	return nil, Failed(SentUnknown, Lost(c.alive))
}

func (c *Conn) expect(id int64, p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[id] = p
}

func (c *Conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// deliver hands an answer to its call, if somebody still waits for it.
func (c *Conn) deliver(id int64, a answered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.waiting[id]; p != nil {
		delete(c.waiting, id)
		p.answer <- a
	}
}

// only gives the id of the one waiting call, if there is exactly one.
func (c *Conn) only() (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.waiting {
		return id, len(c.waiting) == 1
	}
	return 0, false
}

// Notify sends one notification, or drops it when there is no way to send it soon.
func (c *Conn) Notify(method string, params []byte) {
	c.reply(NotificationLine(method, params))
}

// reply sends a line for which nobody waits. The reader calls it, so it never blocks: a server that asks
// more than it listens gets no answers.
func (c *Conn) reply(line []byte) {
	select {
	case c.replies <- line:
	default:
	}
}

// write owns the output until the wire's life ends.
func (c *Conn) write() {
	for {
		select {
		case p := <-c.queue:
			c.writeReplies() // what was said before the request goes before it
			c.writeCalls(p)
		case line := <-c.replies:
			c.writeLine(line)
		case <-c.alive.Done():
			return
		}
	}
}

func (c *Conn) writeReplies() {
	for {
		select {
		case line := <-c.replies:
			c.writeLine(line)
		default:
			return
		}
	}
}

func (c *Conn) writeLine(line []byte) {
	if _, err := c.o.Out.Write(line); err != nil {
		c.lose(fmt.Errorf("write: %w", err))
	}
}

// writeCalls writes a request and those that wait behind it at once.
func (c *Conn) writeCalls(first *pending) {
	batch := []*pending{first}
	data := first.line
more:
	for len(data) < batchBytes {
		select {
		case p := <-c.queue:
			if len(batch) == 1 {
				data = bytes.Clone(data)
			}
			batch = append(batch, p)
			data = append(data, p.line...)
		default:
			break more
		}
	}
	n, err := c.o.Out.Write(data)
	start := 0
	for _, p := range batch {
		p.unsent = err != nil && start >= n
		start += len(p.line)
		p.line = nil
		close(p.written)
	}
	if err != nil {
		c.lose(fmt.Errorf("write: %w", err))
	}
}

// read takes lines until the input ends.
func (c *Conn) read() error {
	for {
		line, over, err := c.lines.next()
		switch {
		case err != nil:
			return err
		case over != nil:
			c.refuse(over)
		default:
			c.route(line)
		}
	}
}

// route brings one line to whom it is for.
func (c *Conn) route(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if line[0] == '[' { // a batch, which one protocol version allowed
		if !rawjson.Valid(line) {
			c.o.Garbage(line)
			return
		}
		for message := range rawjson.Elements(line) {
			c.routeMessage(message)
		}
		return
	}
	c.routeMessage(line)
}

func (c *Conn) routeMessage(data []byte) {
	m, ok := Parse(data)
	switch {
	case !ok:
		c.o.Garbage(data)
	case m.method != nil && m.id != nil:
		c.reply(replyLine(m.id, m.method))
	case m.method != nil:
		c.hear(m)
	case m.id != nil:
		if id, ok := number(m.id); ok {
			result, err := m.Answer()
			c.deliver(id, answered{result, err})
		}
	default:
		c.o.Garbage(data)
	}
}

func (c *Conn) hear(m Message) {
	var method string
	if json.Unmarshal(m.method, &method) == nil {
		c.o.Heard(method, m.params)
	}
}

// refuse fails the call whose answer was too large and leaves the others alone.
func (c *Conn) refuse(over *tooLong) {
	id, ok := over.id()
	if !ok {
		id, ok = c.only()
	}
	if ok {
		c.deliver(id, answered{err: Failed(Ran, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, over.size, c.o.Max))})
		return
	}
	c.o.Garbage(over.head)
}
