package downstream

import (
	"context"
	"sync"
	"sync/atomic"
)

// call is a request of the outside that is under way.
type call struct {
	id      int64
	request *Request
	ctx     context.Context
	box     mailbox
	clock   *clock // stands still while somebody is asked; nil if the deadline is the agent's own

	open   int             // questions to its agent that wait for an answer; guarded by the desk
	asking context.Context // for its questions, made for the first; guarded by the desk
	end    context.CancelFunc
}

// desk knows the calls under way and decides whose a word of the server is.
type desk struct {
	mu      sync.Mutex
	calls   map[int64]*call
	guessed atomic.Bool // a word without an owner went to a call that may not be its own
}

func (d *desk) open(c *call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls == nil {
		d.calls = map[int64]*call{}
	}
	d.calls[c.id] = c
}

// close ends a call and with it the questions it was asked.
func (d *desk) close(c *call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.calls, c.id)
	if c.end != nil {
		c.end()
	}
}

// get gives a call by its id, nil if there is none.
func (d *desk) get(id int64) *call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[id]
}

// owner finds the call that a word belongs to. The id of a request that came with it decides. Without one (0) it can
// only be said whose it is if a single agent has calls under way, and then the oldest of them takes it; shared
// tells that several have. Nobody in particular ("") is somebody else in each call.
func (d *desk) owner(id int64) (c *call, shared bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pick(id, func(a, b *call) bool { return a.id < b.id })
}

// addressee finds the call whose agent a question is put to, as owner does, but of an agent's calls it takes the oldest of
// those with the fewest open questions: most calls ask once, and one that ends takes its questions with it. answered must follow.
func (d *desk) addressee(id int64) (c *call, shared bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, shared = d.pick(id, func(a, b *call) bool { return a.open < b.open || a.open == b.open && a.id < b.id })
	if c != nil {
		c.open++
	}
	return c, shared
}

// answered ends a question that was put to the agent of a call; nil is none.
func (d *desk) answered(c *call) {
	if c == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c.open--
}

// pick finds the call with an id, or the one that goes before all others of the only agent. d.mu is held.
func (d *desk) pick(id int64, before func(a, b *call) bool) (c *call, shared bool) {
	if id != 0 {
		return d.calls[id], false
	}
	for _, other := range d.calls {
		own := other.request.Asker == "" && other.request.Ask == nil && other.request.Told == nil // a listing, say
		switch {
		case own, other.ctx.Err() != nil: // about to end
		case c == nil:
			c = other
		case c.request.Asker != other.request.Asker || c.request.Asker == "":
			return nil, true
		case before(other, c):
			c = other
		}
	}
	return c, false
}

// during gives a context for a question to the agent of a call, which ends with the call; false if that is over.
func (d *desk) during(c *call) (context.Context, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls[c.id] != c {
		return nil, false
	}
	if c.asking == nil {
		c.asking, c.end = context.WithCancel(c.ctx)
	}
	return c.asking, true
}

// settle waits until the other calls of an agent have heard what may have been meant for one that is over: it came
// before the result.
func (d *desk) settle(ctx context.Context, over *call) {
	if !d.guessed.Load() || over.request.Asker == "" {
		return
	}
	var others []*call
	d.mu.Lock()
	for _, c := range d.calls {
		if c.request.Asker == over.request.Asker && c.request.Told != nil {
			others = append(others, c)
		}
	}
	d.mu.Unlock()
	for _, c := range others {
		c.box.flush(ctx)
	}
}
