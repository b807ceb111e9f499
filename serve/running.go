package serve

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// errCancelled is the cause in the context of a call that the agent cancelled.
var errCancelled = errors.New("cancelled by the agent")

// running holds the requests of one agent that have not been answered, by id.
// The zero value is ready; it is safe for concurrent use.
type running struct {
	mu   sync.Mutex
	byID map[string]*request
}

type request struct {
	cancel context.CancelCauseFunc
}

// start registers a request. An agent that uses one id twice at once can cancel only the later one.
// done must be called when the request is answered.
func (r *running) start(ctx context.Context, id json.RawMessage) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	q, key := &request{cancel}, idKey(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID == nil {
		r.byID = map[string]*request{}
	}
	r.byID[key] = q
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.byID[key] == q {
			delete(r.byID, key)
		}
	}
}

// cancel ends the request a notifications/cancelled names, if it still runs.
func (r *running) cancel(params json.RawMessage) {
	id := rawjson.Member(params, "requestId")
	if id == nil {
		return
	}
	r.mu.Lock()
	q := r.byID[idKey(id)]
	r.mu.Unlock()
	if q != nil {
		q.cancel(errCancelled)
	}
}

// cancelled says whether the agent gave up the request of ctx, so that it must not be answered.
func cancelled(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), errCancelled)
}
