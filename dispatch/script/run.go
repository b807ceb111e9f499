package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// run is one run in its world. Only the goroutine of live touches it, except for asked.
type run struct {
	*machine
	shop *shop
	host Host

	ctx     context.Context
	answers chan answer
	under   sync.WaitGroup // goroutines that use the host
	mu      sync.Mutex
	queue   []use // that found no goroutine free
	busy    int   // goroutines
	pending int   // answers still to come
	made    int   // uses so far

	ended bool
	value json.RawMessage
	err   error
}

// use is one use of the host, for a promise.
type use struct {
	id int
	f  func(ctx context.Context) (json.RawMessage, error)
}

// answer is what the host gave for a promise.
type answer struct {
	id    int
	value json.RawMessage
	err   error
}

var errInput = errors.New("the world of a script passed what it never should")

// live sees a run through: it starts the script, and hands it what the host gives until it has ended and nothing it
// asked for is under way. What it began is let finish, because nobody could tell what became of a call that was cut off.
func (r *run) live(ctx context.Context, start func(*machine) error) outcome {
	ctx, cancel := context.WithCancel(ctx)
	r.ctx, r.answers = ctx, make(chan answer, 4*r.shop.limits.Concurrent)
	r.begin(r.asked)
	over := r.stopWith(ctx)
	err := r.loop(start)
	err = why(ctx, err)
	cancel() // whatever is still under way ends now
	r.under.Wait()
	over()
	r.ask = nobody
	if err = cmp.Or(err, r.err); err != nil {
		r.value = nil
	}
	return outcome{r.value, err}
}

func (r *run) loop(start func(*machine) error) error {
	if err := start(r.machine); err != nil {
		return err
	}
	for {
		if err := r.drain(); err != nil && !r.ended {
			return err
		}
		if r.ctx.Err() != nil {
			return errInterrupted
		}
		if r.pending == 0 {
			if !r.ended {
				return ErrIdle
			}
			return nil
		}
		if err := r.await(); err != nil {
			return err
		}
	}
}

// await waits for an answer and hands it to the script, with all others that are there by then.
func (r *run) await() error {
	select {
	case a := <-r.answers:
		for {
			r.pending--
			if err := r.take(a); err != nil && !r.ended {
				return err
			}
			select {
			case a = <-r.answers:
			default:
				return nil
			}
		}
	case <-r.ctx.Done():
		return errInterrupted
	}
}

// take hands an answer to the script.
func (r *run) take(a answer) error {
	if most := r.shop.limits.MaxValue(); int64(len(a.value)) > most {
		a.err = fmt.Errorf("a value of %d bytes, a script takes %d", len(a.value), most)
	}
	return r.settled(a.id, a.value, a.err)
}

// asked is what the world asks of the host: it is called by the script, inside the engine.
func (r *run) asked(op string, id int, a, b string) error {
	switch op {
	case "done":
		r.ended = true
		if a != "" {
			r.value = json.RawMessage(a)
		}
		return nil
	case "failed":
		var said [3]string
		if json.Unmarshal([]byte(a), &said) != nil {
			return errInput
		}
		r.ended, r.err = true, scriptError(said[0], said[1], said[2])
		return nil
	case "log":
		r.host.Log(a, b)
		return nil
	case "progress":
		r.host.Progress(json.RawMessage(a))
		return nil
	}
	if r.ended {
		return errors.New("the script has ended")
	}
	if r.made++; r.made > r.shop.limits.Calls {
		return fmt.Errorf("more than %d calls in one run", r.shop.limits.Calls)
	}
	return r.put(op, id, a, b)
}

// put asks the host beside the script, which goes on.
func (r *run) put(op string, id int, a, b string) error {
	var f func(ctx context.Context) (json.RawMessage, error)
	switch op {
	case "call":
		f = func(ctx context.Context) (json.RawMessage, error) { return r.host.Call(ctx, a, json.RawMessage(b)) }
	case "read":
		f = func(ctx context.Context) (json.RawMessage, error) { return r.host.Read(ctx, a, json.RawMessage(b)) }
	case "search":
		f = func(ctx context.Context) (json.RawMessage, error) { return r.host.Search(ctx, json.RawMessage(b)) }
	default:
		return errInput
	}
	r.pending++
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy == r.shop.limits.Concurrent {
		r.queue = append(r.queue, use{id, f})
		return nil
	}
	r.busy++
	r.under.Go(func() { r.serve(use{id, f}) })
	return nil
}

// serve uses the host until nothing waits for it.
func (r *run) serve(u use) {
	for more := true; more; u, more = r.following() {
		out := answer{id: u.id}
		out.value, out.err = u.f(r.ctx)
		select {
		case r.answers <- out:
		case <-r.ctx.Done():
			return
		}
	}
}

func (r *run) following() (u use, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		r.busy--
		return u, false
	}
	u, r.queue = r.queue[0], r.queue[1:]
	return u, true
}
