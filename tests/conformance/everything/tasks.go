package everything

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// tasks are the calls that go on after their answer.
type tasks struct {
	running sync.WaitGroup
	changed func(id, raw string)
	mu      sync.Mutex // guards all
	byID    map[string]*task
}

// task is one of them; tasks.mu guards what changes.
type task struct {
	id      string
	created time.Time
	updated time.Time
	status  string
	result  string // with completed
	fault   string // with failed
	asked   map[string]question
	given   map[string]json.RawMessage
	changed chan struct{} // closed and replaced when an answer comes
	cancel  context.CancelFunc
}

const taskLife = 10 * time.Minute

func (ts *tasks) close() {
	ts.mu.Lock()
	for _, t := range ts.byID {
		t.cancel()
	}
	ts.mu.Unlock()
	ts.running.Wait()
}

// start runs f as a task of its own.
func (ts *tasks) start(f func(ctx context.Context, t *task) (string, error)) *task {
	now := time.Now()
	t := &task{id: hex.EncodeToString(randomBytes(16)), created: now, updated: now, status: "working", changed: make(chan struct{}), given: map[string]json.RawMessage{}}
	ctx, cancel := context.WithTimeout(context.Background(), taskLife)
	t.cancel = cancel
	ts.mu.Lock()
	if ts.byID == nil {
		ts.byID = map[string]*task{}
	}
	ts.byID[t.id] = t
	ts.mu.Unlock()
	ts.running.Go(func() {
		defer cancel()
		raw, err := f(ctx, t)
		ts.settle(t, raw, err)
	})
	return t
}

func (ts *tasks) settle(t *task, raw string, err error) {
	ts.update(t, func() {
		f, isFault := errors.AsType[*fault](err)
		switch {
		case t.status == "cancelled":
		case isFault:
			t.status, t.fault = "failed", f.raw()
		case err != nil:
			t.status, t.fault = "failed", (&fault{code: -32603, message: err.Error()}).raw()
		default:
			t.status, t.result = "completed", raw
		}
	})
}

func (ts *tasks) update(t *task, change func()) {
	ts.mu.Lock()
	before := t.status
	change()
	t.updated = time.Now()
	after, raw := t.status, t.detail()
	ts.mu.Unlock()
	if before != after {
		ts.changed(t.id, raw)
	}
}

// head are the members that a task has in every message.
func (t *task) head() string {
	return fmt.Sprintf(`"taskId":%s,"status":%s,"createdAt":%s,"lastUpdatedAt":%s,"ttlMs":%d,"pollIntervalMs":100`,
		quote(t.id), quote(t.status), quote(t.created.UTC().Format(time.RFC3339Nano)), quote(t.updated.UTC().Format(time.RFC3339Nano)), taskLife.Milliseconds())
}

// detail is the task with what its status brings along.
func (t *task) detail() string {
	more := ""
	switch t.status {
	case "completed":
		more = `,"result":` + t.result
	case "failed":
		more = `,"error":` + t.fault
	case "input_required":
		asked := map[string]string{}
		for key, q := range t.asked {
			asked[key] = `{"method":"` + q.method + `","params":` + q.params + `}`
		}
		more = `,"inputRequests":` + object(asked)
	}
	return `{` + t.head() + more + `}`
}

// ask parks the task until all questions have been answered.
func (ts *tasks) ask(ctx context.Context, t *task, questions []question) (map[string]json.RawMessage, error) {
	ts.update(t, func() {
		t.status, t.asked = "input_required", map[string]question{}
		for _, q := range questions {
			t.asked[q.key] = q
		}
	})
	for {
		ts.mu.Lock()
		open, changed := len(t.asked), t.changed
		ts.mu.Unlock()
		if open == 0 {
			return t.given, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// give takes answers to open questions; the last one lets the task go on.
func (ts *tasks) give(t *task, responses map[string]json.RawMessage) {
	ts.update(t, func() {
		for key, r := range responses {
			if _, open := t.asked[key]; open {
				t.given[key] = r
				delete(t.asked, key)
			}
		}
		if t.status == "input_required" && len(t.asked) == 0 {
			t.status = "working"
		}
		close(t.changed)
		t.changed = make(chan struct{})
	})
}

func (ts *tasks) stop(t *task) {
	ts.update(t, func() {
		if t.status == "working" || t.status == "input_required" {
			t.status = "cancelled"
		}
	})
	t.cancel()
}

func (ts *tasks) find(id string) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.byID[id]
}

// task answers the methods of tasks.
func (x *exchange) task() (string, error) {
	if err := x.demand("extensions", tasksExtension); err != nil {
		return "", err
	}
	ts := &x.s.tasks
	t := ts.find(x.p.TaskID)
	if t == nil {
		return "", invalid("no such task")
	}
	switch x.method {
	case "tasks/get":
		ts.mu.Lock()
		defer ts.mu.Unlock()
		return t.detail(), nil
	case "tasks/cancel":
		ts.stop(t)
	default:
		var responses map[string]json.RawMessage
		if err := json.Unmarshal(orEmpty(x.p.InputResponses), &responses); err != nil {
			return "", invalid("inputResponses: %v", err)
		}
		ts.give(t, responses)
	}
	return `{}`, nil
}
