package downstream

import (
	"context"
	"sync"
	"time"
)

// clock ends a call when its time is up. It stands still while a person is asked something: the time is the server's.
type clock struct {
	mu     sync.Mutex
	timer  *time.Timer
	cancel context.CancelCauseFunc
	left   time.Duration
	since  time.Time
	stands int
}

// newClock gives a context that ends with parent, or when the time is up, as a deadline does. It is to be stopped.
func newClock(parent context.Context, d time.Duration) (*clock, context.Context) {
	c := &clock{left: d, since: time.Now()}
	var ctx context.Context
	ctx, c.cancel = context.WithCancelCause(parent)
	c.timer = time.AfterFunc(d, c.expire)
	return c, ctx
}

func (c *clock) expire() { c.cancel(context.DeadlineExceeded) }

// stop ends the clock and its context for good.
func (c *clock) stop() {
	c.mu.Lock()
	c.stands++
	c.timer.Stop()
	c.mu.Unlock()
	c.cancel(nil)
}

// pause lets the clock stand until the returned function is called. A nil clock goes on.
func (c *clock) pause() (resume func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stands++; c.stands == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stands--; c.stands == 0 {
			c.since = time.Now()
			c.timer.Reset(max(c.left, 0))
		}
	}
}
