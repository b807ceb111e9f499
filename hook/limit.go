package hook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// LimitOptions say how often something may be called.
type LimitOptions struct {
	Calls int           // at most so many at once; further ones come back one by one over Per
	Per   time.Duration // 0 means a minute
	By    string        // who shares them: principal (default), session, tool, all
}

// maxBuckets bounds how many principals are counted apart; those not seen for the longest time are forgotten.
const maxBuckets = 10_000

// Limit refuses calls that come too fast. Waiting helps.
func Limit(o LimitOptions) dispatch.Hook {
	if o.Per <= 0 {
		o.Per = time.Minute
	}
	return &limiter{o: o, buckets: map[string]*bucket{}}
}

type limiter struct {
	o  LimitOptions
	mu sync.Mutex
	// buckets hold what each may still call.
	buckets map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// Run takes one call out of the bucket.
func (l *limiter) Run(_ context.Context, c dispatch.HookCall) (dispatch.Verdict, error) {
	key := c.Agent.Principal
	switch l.o.By {
	case "session":
		key += "\x00" + c.Agent.Session
	case "tool":
		key += "\x00" + c.Ref.String()
	case "all":
		key = ""
	}
	wait := l.take(key, time.Now())
	if wait <= 0 {
		return dispatch.Verdict{}, nil
	}
	return dispatch.Verdict{Retryable: true,
		Abort: fmt.Sprintf("%d calls of this kind in %s are the limit; the next may follow in %s", l.o.Calls, l.o.Per, wait.Round(time.Second)+time.Second)}, nil
}

// take returns how long to wait; 0 means that the call was taken.
func (l *limiter) take(key string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		l.forget(now)
		b = &bucket{left: float64(l.o.Calls), at: now}
		l.buckets[key] = b
	}
	rate := float64(l.o.Calls) / float64(l.o.Per)
	b.left = min(float64(l.o.Calls), b.left+rate*float64(now.Sub(b.at)))
	b.at = now
	if b.left < 1 {
		return time.Duration((1 - b.left) / rate)
	}
	b.left--
	return 0
}

// forget drops full buckets, and then others, when there are too many.
func (l *limiter) forget(now time.Time) {
	if len(l.buckets) < maxBuckets {
		return
	}
	for key, b := range l.buckets {
		if now.Sub(b.at) >= l.o.Per {
			delete(l.buckets, key)
		}
	}
	for key := range l.buckets {
		if len(l.buckets) < maxBuckets {
			return
		}
		delete(l.buckets, key)
	}
}
