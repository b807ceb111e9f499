package serve

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// Limits bound what one principal may ask for over HTTP, in all its sessions together. Zero is without limit.
type Limits struct {
	// PerMinute is how many messages it may send; as many may come in a burst.
	PerMinute int
	// Concurrent is how many of its requests run at once; further ones wait for a while.
	Concurrent int
}

const (
	// turnPatience is how long a message waits while its principal has enough others running.
	turnPatience = 30 * time.Second
	// maxPrincipals is how many principals are remembered before the idle ones are forgotten.
	maxPrincipals = 10000
)

// limiter holds each principal to its limits. It is safe for concurrent use.
type limiter struct {
	of   func(dispatch.Agent) Limits
	next http.Handler

	mu   sync.Mutex
	byID map[string]*allowance
}

// allowance is what one principal has left.
type allowance struct {
	limits Limits
	rate   *rate.Limiter
	turns  chan struct{} // nil: without limit
	used   time.Time
	busy   int
}

func newLimiter(of func(dispatch.Agent) Limits, next http.Handler) http.Handler {
	if of == nil {
		return next
	}
	return &limiter{of: of, next: next, byID: map[string]*allowance{}}
}

// ServeHTTP counts messages, which are POSTs: a stream that only listens costs nothing.
func (l *limiter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agent := agentOf(r.Context())
	if r.Method != http.MethodPost || agent.Principal == "" {
		l.next.ServeHTTP(w, r)
		return
	}
	a, leave := l.enter(agent)
	defer leave()
	now := time.Now()
	turn := a.rate.ReserveN(now, 1)
	if after := turn.DelayFrom(now); after > 0 {
		turn.CancelAt(now)
		tooMany(w, after)
		return
	}
	l.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), turnKey{}, a)))
}

type turnKey struct{}

// takeTurn waits for the turn of a request; what answers a question of ours or cancels needs none, or those who wait
// for it would wait for ever. leave gives the turn back. False: none came in time.
func takeTurn(ctx context.Context) (leave func(), ok bool) {
	a, _ := ctx.Value(turnKey{}).(*allowance)
	if a == nil || a.turns == nil {
		return func() {}, true
	}
	if !a.wait(ctx) {
		return nil, false
	}
	return func() { <-a.turns }, true
}

// enter finds the principal's allowance and keeps it until leave is called. New limits begin anew.
func (l *limiter) enter(agent dispatch.Agent) (a *allowance, leave func()) {
	limits := l.of(agent)
	l.mu.Lock()
	defer l.mu.Unlock()
	a = l.byID[agent.Principal]
	if a == nil || a.limits != limits {
		l.forget()
		a = &allowance{limits: limits, rate: rate.NewLimiter(rate.Inf, 0)}
		if n := limits.PerMinute; n > 0 {
			a.rate = rate.NewLimiter(rate.Limit(float64(n)/60), n)
		}
		if n := limits.Concurrent; n > 0 {
			a.turns = make(chan struct{}, n)
		}
		l.byID[agent.Principal] = a
	}
	a.busy++
	return a, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		a.busy--
		a.used = time.Now()
	}
}

// forget makes room. An allowance that nobody used for a minute is full again, so nothing is lost with it.
func (l *limiter) forget() {
	if len(l.byID) < maxPrincipals {
		return
	}
	for id, a := range l.byID {
		if a.busy == 0 && time.Since(a.used) > time.Minute {
			delete(l.byID, id)
		}
	}
}

// wait takes a turn; false if none comes in time.
func (a *allowance) wait(ctx context.Context) bool {
	patience := time.NewTimer(turnPatience)
	defer patience.Stop()
	select {
	case a.turns <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-patience.C:
	}
	return false
}

func tooMany(w http.ResponseWriter, after time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	http.Error(w, "too many requests of this principal; wait and send it again, it was not acted on", http.StatusTooManyRequests)
}
