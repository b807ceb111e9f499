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

// Options make a Conn. All of them but Framing are needed.
type Options struct {
	// In is what the server writes.
	In io.Reader
	// Out is what it reads. If it is a file whose writes can be tried without waiting, they are.
	Out io.Writer
	// Framing says how messages are told apart, "" is Newline.
	Framing Framing
	// Max is the largest message taken from the server in bytes.
	Max int64
	// Ears are told what the server says on its own.
	Ears
	// Garbage is told what is no JSON-RPC. It must not block.
	Garbage func(line []byte)
	// Over makes the reason of the end of the error that ended the input; it may wait for a reason a little.
	Over func(error) error
}

// Conn speaks JSON-RPC over two streams. One goroutine reads; who sends writes, if that is possible at once, and
// otherwise leaves it to a goroutine, so that a server which stops reading blocks neither the reading of its answers
// nor a caller beyond its deadline. Whoever made it ends it with Lose, closes both streams, and waits.
type Conn struct {
	o       Options
	alive   context.Context
	lose    context.CancelCauseFunc
	out     outbox
	workers sync.WaitGroup

	mu      sync.Mutex
	waiting map[int64]chan answered
}

type answered struct {
	result json.RawMessage
	err    error
}

// New starts both goroutines.
func New(o Options) *Conn {
	c := &Conn{o: o, waiting: map[int64]chan answered{}}
	c.alive, c.lose = context.WithCancelCause(context.Background())
	c.out.begin(o.Out, o.Framing, func(err error) { c.lose(fmt.Errorf("write: %w", err)) })
	c.workers.Go(func() {
		err := c.read()
		c.lose(o.Over(err))
	})
	c.workers.Go(func() { c.out.write(c.alive.Done()) })
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

// Listen changes nothing: a server says what it has to say on the one stream there is.
func (c *Conn) Listen() {}

// Call sends one request, whose params are one line or nil, and waits for its raw result. It returns as soon as ctx
// ends. Every error is an *Error. Ids of calls under way must differ; concurrent calls are fine.
func (c *Conn) Call(ctx context.Context, id int64, method string, params []byte) (json.RawMessage, error) {
	if c.alive.Err() != nil {
		return nil, Failed(NotSent, Lost(c.alive))
	}
	answer := make(chan answered, 1)
	c.expect(id, answer)
	defer c.forget(id)
	letter := c.out.send(RequestLine(id, method, params))
	select {
	case a := <-answer:
		return a.result, a.err
	case <-ctx.Done():
		if c.out.withdraw(letter) {
			return nil, Ended(ctx, NotSent, "the server does not read")
		}
		return nil, Ended(ctx, SentUnknown, "no answer")
	case <-c.alive.Done():
	}
	select {
	case a := <-answer: // it came before the end
		return a.result, a.err
	default:
	}
	if c.out.withdraw(letter) {
		return nil, Failed(NotSent, Lost(c.alive))
	}
	if letter != nil {
		select {
		case <-letter.written:
		case <-ctx.Done():
			return nil, Failed(SentUnknown, Lost(c.alive))
		}
		if letter.unsent {
			return nil, Failed(NotSent, Lost(c.alive))
		}
	}
	return nil, Failed(SentUnknown, Lost(c.alive))
}

func (c *Conn) expect(id int64, answer chan answered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[id] = answer
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
	if answer := c.waiting[id]; answer != nil {
		delete(c.waiting, id)
		answer <- a
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

// Notify sends one notification, after what was sent before it, or drops it when there is no way to send it soon.
func (c *Conn) Notify(method string, params []byte) {
	c.out.post(NotificationLine(method, params))
}

// answer sends a line that answers a question; it waits for its turn if told to, and else drops the line when too
// much waits already: a server that asks more than it listens gets no answers.
func (c *Conn) answer(line []byte, wait bool) {
	if !wait {
		c.out.post(line)
		return
	}
	letter := c.out.send(line)
	if letter == nil {
		return
	}
	select {
	case <-letter.written:
	case <-c.alive.Done():
	}
}

// read takes messages until the input ends.
func (c *Conn) read() error {
	next := NewLines(c.o.In, c.o.Max, firstBuffer).next
	if c.o.Framing == ContentLength {
		next = newFrames(c.o.In, c.o.Max).next
	}
	for {
		message, over, err := next()
		switch {
		case err != nil:
			return err
		case over != nil:
			c.refuse(over)
		default:
			c.route(message)
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
	if !ok {
		c.o.Garbage(data)
		return
	}
	if c.o.Take(0, m, c.answer) {
		return
	}
	if id, ok := m.ResponseID(); ok {
		result, err := m.Answer()
		c.deliver(id, answered{result, err})
	} else if m.id == nil {
		c.o.Garbage(data)
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
