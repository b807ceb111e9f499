package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	// lastWords is how long running calls may still finish by themselves after the input ended,
	// so that requests piped into us are answered.
	lastWords = 500 * time.Millisecond
	// farewell bounds the wait for cancelled calls.
	farewell = 1500 * time.Millisecond
)

// Stdio serves one agent that writes newline-framed messages to in and reads answers from out, which
// nobody else may write to. It returns nil when in ends or ctx is done, after running calls were
// cancelled and at most 2 s later; an error means that it never started or that out broke.
//
// The goroutine reading in ends with in: a read from a terminal or pipe cannot be broken off.
func Stdio(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	o = o.withDefaults()
	e, err := newEndpoint(o, o.Face, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &conn{endpoint: e, link: newLink(rand.Text()), out: &output{to: out, fail: cancel}, max: o.MaxMessage,
		listed: sync.OnceFunc(o.OnListed), crew: newCrew()}
	if err := e.mcp.RegisterSession(ctx, c.link); err != nil {
		return err
	}
	defer e.mcp.UnregisterSession(context.WithoutCancel(ctx), c.link.id)
	c.serve(ctx, readLines(ctx, newLines(in, o.MaxMessage)))
	c.end(ctx, cancel)
	return c.out.err()
}

// incoming is one line or why there is none.
type incoming struct {
	line []byte
	err  error
}

func readLines(ctx context.Context, l *lines) <-chan incoming {
	read := make(chan incoming)
	go func() {
		defer close(read)
		for {
			line, err := l.next()
			if err != nil && !errors.Is(err, errTooLong) {
				return
			}
			select {
			case read <- incoming{line, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return read
}

// conn is the conversation with one agent over stdio.
type conn struct {
	*endpoint
	link    *link
	out     *output
	max     int64
	running running
	listed  func()
	crew    *crew
}

func (c *conn) serve(ctx context.Context, read <-chan incoming) {
	for {
		select {
		case <-ctx.Done():
			return
		case next, open := <-read:
			if !open {
				return
			}
			c.receive(ctx, next)
		}
	}
}

// receive handles one line. Only calls leave the reading goroutine: all else is answered from memory
// at once and in order.
func (c *conn) receive(ctx context.Context, next incoming) {
	if next.err != nil {
		c.out.write(faultAnswer(idAtHead(next.line), faultf(mcp.INVALID_REQUEST, "message is longer than %d bytes", c.max)))
		return
	}
	m, bad := parseMessage(next.line)
	switch {
	case blank(next.line):
	case bad != nil && m.method != "" && m.id == nil:
		c.log.Warn("notification refused", "method", m.method, "err", bad.Message)
	case bad != nil:
		c.out.write(faultAnswer(m.id, bad))
	case m.method == "":
		c.log.Debug("response to no request of ours")
	case m.id == nil && m.method == string(mcp.MethodNotificationCancelled):
		c.running.cancel(m.params)
	case m.id != nil && m.method == string(mcp.MethodToolsCall):
		c.spawn(ctx, m, c.call)
	case m.id != nil && m.method == string(mcp.MethodToolsList):
		result, bad := c.list(m.params)
		c.out.write(answerTo(m.id, result, bad))
		c.listed()
	case m.id != nil && m.method == string(mcp.MethodSubscriptionsListen):
		c.spawn(ctx, m, c.listen)
	default:
		if answer := c.handle(c.mcp.WithContext(ctx, c.link), m); answer != nil {
			c.out.write(answer)
		}
	}
}

// spawn answers a request that may take long in a goroutine that end waits for.
func (c *conn) spawn(ctx context.Context, m message, answer func(context.Context, message) parts) {
	ctx, done := c.running.start(ctx, m.id)
	c.crew.run(func() {
		defer done()
		if line := answer(ctx, m); !cancelled(ctx) {
			c.out.write(line)
		}
	})
}

func (c *conn) call(ctx context.Context, m message) parts {
	agent := dispatch.Agent{Session: c.link.id, Client: c.link.GetClientInfo().Name}
	result, bad := c.endpoint.call(ctx, m.params, caller{agent: agent, write: func(line []byte) { c.out.write(parts{line}) }})
	return answerTo(m.id, result, bad)
}

func (c *conn) listen(ctx context.Context, m message) parts {
	return c.endpoint.listen(ctx, m, newLink(c.link.id), func(line []byte) { c.out.write(parts{line}) })
}

// end lets running calls finish for a moment if only the input ended, then cancels and waits.
func (c *conn) end(ctx context.Context, cancel context.CancelCauseFunc) {
	idle := make(chan struct{})
	go func() { c.crew.wait(); close(idle) }()
	select {
	case <-idle:
		return
	case <-ctx.Done():
	case <-time.After(lastWords):
	}
	cancel(errors.New("the agent is gone"))
	select {
	case <-idle:
	case <-time.After(farewell):
		c.log.Warn("calls still running at the end are left behind")
	}
}

// idAtHead finds the id in the beginning of a message that was cut off, nil if it stands elsewhere.
func idAtHead(head []byte) json.RawMessage {
	id := rawjson.Member(head, "id")
	if id == nil || !strings.ContainsRune(`"-0123456789`, rune(id[0])) {
		return nil
	}
	return id
}

func blank(line []byte) bool {
	for _, b := range line {
		if b != ' ' && b != '\t' && b != '\r' {
			return false
		}
	}
	return true
}

// output writes whole messages, one at a time.
type output struct {
	fail context.CancelCauseFunc

	mu     sync.Mutex
	to     io.Writer
	broken error
}

// write sends one message and its newline. After the first failure it drops everything.
func (w *output) write(message parts) {
	message = append(message, []byte{'\n'}).joined()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, piece := range message {
		if w.broken != nil {
			return
		}
		if _, err := w.to.Write(piece); err != nil {
			w.broken = err
			w.fail(err)
		}
	}
}

func (w *output) err() error {
	if !w.mu.TryLock() { // somebody still hangs in a write: out is not read any more
		return nil
	}
	defer w.mu.Unlock()
	return w.broken
}

var _ server.SessionWithClientInfo = (*link)(nil)
