package composite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// defaultDelay is how long a retry waits first.
const defaultDelay = 200 * time.Millisecond

// ErrFailed is the error of a run of which nothing succeeded; the causes are joined to it.
var ErrFailed = errors.New("every step failed")

// Permanent is an error that no retry can change. A Caller's error may have it in its chain.
type Permanent interface{ Permanent() bool }

// run is one run. Its scope is written under the lock, by one step each.
type run struct {
	tool *Tool
	call Caller

	mu     sync.Mutex
	scope  scope
	failed []error
}

// Run makes the calls for args, which fit the inputs, and gives the output. Of parallel steps that fail the value is
// {"error": …}; the run fails when all of them do, or when one of the later steps does that is not optional.
func (t *Tool) Run(ctx context.Context, c Caller, args json.RawMessage) (json.RawMessage, error) {
	r := &run{tool: t, call: c, scope: scope{inputs: t.inputs.given(args), steps: map[string]json.RawMessage{}, skipped: map[string]bool{}}}
	r.together(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if n := len(t.parallel); n > 0 && len(r.failed) == n {
		return nil, errors.Join(append([]error{ErrFailed}, r.failed...)...)
	}
	for _, s := range t.then {
		v, err := r.step(ctx, s)
		if err != nil && (!s.Optional || ctx.Err() != nil) {
			return nil, fmt.Errorf("step %s: %w", s.Name, err)
		}
		r.settle(s, v, err)
	}
	return r.output()
}

// together runs the parallel steps, each after those it needs.
func (r *run) together(ctx context.Context) {
	done := map[*step]chan struct{}{}
	for _, s := range r.tool.parallel {
		done[s] = make(chan struct{})
	}
	var wg sync.WaitGroup
	for _, s := range r.tool.parallel {
		wg.Go(func() {
			defer close(done[s])
			for _, need := range s.needs {
				<-done[need]
			}
			v, err := r.step(ctx, s)
			r.settle(s, v, err)
			if err != nil {
				r.mu.Lock()
				r.failed = append(r.failed, fmt.Errorf("step %s: %w", s.Name, err))
				r.mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// settle makes the value of a step known: nothing for one that was skipped, its error for one that failed.
func (r *run) settle(s *step, v json.RawMessage, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.scope.steps[s.Name] = failure(err)
	case v == nil:
		r.scope.skipped[s.Name] = true
	default:
		r.scope.steps[s.Name] = v
	}
}

func failure(err error) json.RawMessage {
	return json.RawMessage(`{"error":` + string(rawjson.Quote(err.Error())) + `}`)
}

// known is a scope of its own with what is known now.
func (r *run) known() *scope {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &scope{inputs: r.scope.inputs, steps: maps.Clone(r.scope.steps), skipped: maps.Clone(r.scope.skipped)}
}

// step runs one step; nil without an error where its condition does not hold.
func (r *run) step(ctx context.Context, s *step) (json.RawMessage, error) {
	scope := r.known()
	if s.when != nil {
		holds, err := s.when.holds(scope)
		if err != nil || !holds {
			return nil, err
		}
	}
	if s.forEach == nil {
		return r.once(ctx, s, scope)
	}
	list, err := s.forEach.fill(scope)
	if err != nil {
		return nil, err
	}
	return r.each(ctx, s, scope, bytes.TrimSpace(list))
}

// each calls a step once for each element and gives the list of the values; those that failed are {"error": …}.
func (r *run) each(ctx context.Context, s *step, of *scope, list json.RawMessage) (json.RawMessage, error) {
	if len(list) == 0 || string(list) == "null" {
		return json.RawMessage("[]"), nil
	}
	if list[0] != '[' {
		return nil, fmt.Errorf("forEach: %s is no list", s.ForEach)
	}
	var items []json.RawMessage
	for v := range rawjson.Elements(list) {
		if items = append(items, v); len(items) > maxElements {
			return nil, fmt.Errorf("forEach: more than %d elements", maxElements)
		}
	}
	width := s.AtOnce
	if width <= 0 {
		width = atOnce
	}
	values, errs := make([]json.RawMessage, len(items)), make([]error, len(items))
	slots := make(chan struct{}, width)
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			own := *of
			own.item, own.index = item, i
			values[i], errs[i] = r.once(ctx, s, &own)
		})
	}
	wg.Wait()
	out, failed := []byte{'['}, 0
	for i, v := range values {
		if errs[i] != nil {
			v = failure(errs[i])
			failed++
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	if failed > 0 && failed == len(items) {
		return nil, errs[0]
	}
	return append(out, ']'), nil
}

// once makes one call, and tries again where it may help.
func (r *run) once(ctx context.Context, s *step, of *scope) (json.RawMessage, error) {
	args, err := s.args.fill(of)
	if err != nil {
		return nil, err
	}
	delay := s.Delay
	if delay <= 0 {
		delay = defaultDelay
	}
	for try := 0; ; try++ {
		v, err := r.try(ctx, s, args)
		if err == nil || try >= s.Retry || isPermanent(err) {
			return v, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(delay):
			delay *= 2
		}
	}
}

func (r *run) try(ctx context.Context, s *step, args json.RawMessage) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Timeout)
		defer cancel()
	}
	return r.call.Call(ctx, s.Tool, args)
}

func isPermanent(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Permanent
	}](err)
	return ok && p.Permanent()
}

// output is the answer.
func (r *run) output() (json.RawMessage, error) {
	t, s := r.tool, r.known()
	if t.output != nil {
		v, err := t.output.fill(s)
		if v == nil && err == nil {
			v = json.RawMessage("null")
		}
		if err != nil {
			err = fmt.Errorf("output: %w", err)
		}
		return v, err
	}
	if len(t.parallel) == 0 {
		last := s.steps[t.then[len(t.then)-1].Name]
		if last == nil {
			last = json.RawMessage("null")
		}
		return last, nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, st := range append(append([]*step(nil), t.parallel...), t.then...) {
		v, ran := s.steps[st.Name]
		if !ran {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(rawjson.Quote(st.Name))
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
