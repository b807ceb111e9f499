package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

func sentBy(principal string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	return r.WithContext(context.WithValue(r.Context(), agentKey{}, dispatch.Agent{Principal: principal}))
}

func status(h http.Handler, r *http.Request) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Header().Get("Retry-After")
}

func TestLimitPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		l := newLimiter(func(a dispatch.Agent) Limits {
			if a.Principal == "free" {
				return Limits{}
			}
			return Limits{PerMinute: 6}
		}, ok)
		for range 6 {
			if code, _ := status(l, sentBy("ann")); code != 200 {
				t.Fatalf("within the limit: got %d", code)
			}
		}
		code, after := status(l, sentBy("ann"))
		if seconds, _ := strconv.Atoi(after); code != 429 || seconds < 1 || seconds > 10 {
			t.Errorf("over it: got %d, Retry-After %q", code, after)
		}
		if code, _ := status(l, sentBy("bob")); code != 200 {
			t.Errorf("somebody else: got %d", code)
		}
		for range 100 {
			if code, _ := status(l, sentBy("free")); code != 200 {
				t.Fatalf("without limit: got %d", code)
			}
		}
		time.Sleep(10 * time.Second)
		if code, _ := status(l, sentBy("ann")); code != 200 {
			t.Errorf("after the wait: got %d", code)
		}
	})
}

func TestLimitConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		var running, most atomic.Int32
		l := newLimiter(func(dispatch.Agent) Limits { return Limits{Concurrent: 2} }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			leave, ok := takeTurn(r.Context())
			if !ok {
				tooMany(w, time.Second)
				return
			}
			defer leave()
			most.Store(max(most.Load(), running.Add(1)))
			<-hold
			running.Add(-1)
		}))
		codes := make(chan int, 4)
		for range 4 {
			go func() { code, _ := status(l, sentBy("ann")); codes <- code }()
		}
		synctest.Wait()
		if n := most.Load(); n != 2 {
			t.Errorf("%d ran at once, want 2", n)
		}
		time.Sleep(turnPatience + time.Second)
		if a, b := <-codes, <-codes; a != 429 || b != 429 {
			t.Errorf("those without a turn: got %d and %d, want 429", a, b)
		}
		close(hold)
		if a, b := <-codes, <-codes; a != 200 || b != 200 {
			t.Errorf("the others: got %d and %d, want 200", a, b)
		}
	})
}
