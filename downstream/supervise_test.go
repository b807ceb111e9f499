package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

// fakeConn is a connection whose server is a function.
type fakeConn struct {
	alive  context.Context
	lose   context.CancelCauseFunc
	answer func(ctx context.Context, method string) (json.RawMessage, error)
}

func (c *fakeConn) Life() context.Context { return c.alive }
func (c *fakeConn) Settle(string)         {}
func (c *fakeConn) Listen()               {}
func (c *fakeConn) Notify(string, []byte) {}
func (c *fakeConn) Close()                { c.lose(wire.ErrLost) }

func (c *fakeConn) Call(ctx context.Context, _ int64, method string, _ []byte) (json.RawMessage, error) {
	if method == "initialize" {
		return json.RawMessage(`{"protocolVersion":"2025-11-25"}`), nil
	}
	return c.answer(ctx, method)
}

// fakeFleet has one server s, dialled by dial, which is told how many times it was called before.
func fakeFleet(t *testing.T, o Options, dial func(n int) (conn, error)) (*Fleet, *atomic.Int64) {
	t.Helper()
	o.Servers = []Server{{Name: "s", Command: "x"}}
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var dials atomic.Int64
	f.member("s").dial = func(context.Context, *session) (conn, error) { return dial(int(dials.Add(1) - 1)) }
	return f, &dials
}

func newFakeConn(answer func(ctx context.Context, method string) (json.RawMessage, error)) *fakeConn {
	c := &fakeConn{answer: answer}
	c.alive, c.lose = context.WithCancelCause(context.Background())
	return c
}

func answers(context.Context, string) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }

func hangs(ctx context.Context, _ string) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, wire.Ended(ctx, SentUnknown, "no answer")
}

func TestPauseBetweenStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, dials := fakeFleet(t, Options{}, func(int) (conn, error) { return nil, errors.New("no luck") })
		defer f.Close()
		call := func() (time.Duration, error) {
			start := time.Now()
			_, err := f.Fetch(t.Context(), "s", "x", nil)
			if !errors.Is(err, ErrUnavailable) || fateOf(err) != NotSent || !strings.Contains(err.Error(), "no luck") {
				t.Fatalf("got %v", err)
			}
			return time.Since(start), err
		}
		for i, most := range []time.Duration{0, 0, 600, 1200} { // milliseconds
			took, _ := call()
			if took > most*time.Millisecond || took < most*time.Millisecond/2 {
				t.Errorf("call %d took %s, want up to %d ms", i, took, most)
			}
		}
		call() // after two seconds more or less, or refused
		before := dials.Load()
		took, err := call()
		if took != 0 || dials.Load() != before || !strings.Contains(err.Error(), "next try in") {
			t.Errorf("got %v after %s, want to be refused at once", err, took)
		}
		time.Sleep(time.Minute)
		call()
		if dials.Load() != before+1 {
			t.Error("not tried again after the pause")
		}
	})
}

func TestStableSessionForgives(t *testing.T) {
	tests := []struct {
		name  string
		lived time.Duration
		most  time.Duration // the sixth start waits
		least time.Duration
	}{
		{"long life", stableAfter, 0, 0},
		{"short lives", 0, 20 * time.Second, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var last *fakeConn
				f, _ := fakeFleet(t, Options{PingEvery: -1}, func(int) (conn, error) {
					last = newFakeConn(answers)
					return last, nil
				})
				defer f.Close()
				for range 5 {
					if _, err := f.Fetch(t.Context(), "s", "x", nil); err != nil {
						time.Sleep(time.Minute) // refused while it pauses
						if _, err := f.Fetch(t.Context(), "s", "x", nil); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(tt.lived)
					last.lose(errors.New("crashed"))
					synctest.Wait()
					if state, why := f.State("s"); state != StateFailing || why != "crashed" {
						t.Errorf("got %s (%s), want failing", state, why)
					}
				}
				pause := time.Until(f.member("s").notBefore)
				if pause > tt.most || pause < tt.least {
					t.Errorf("got a pause of %s, want %s to %s", pause, tt.least, tt.most)
				}
			})
		})
	}
}

func TestPing(t *testing.T) {
	refuses := func(context.Context, string) (json.RawMessage, error) {
		return nil, wire.Failed(Ran, &RPCError{Code: -32601})
	}
	tests := []struct {
		name   string
		answer func(context.Context, string) (json.RawMessage, error)
		busy   bool
		dials  int64
	}{
		{"answers", answers, false, 1},
		{"answers with an error", refuses, false, 1},
		{"silent", hangs, false, 2},
		{"silent but at work", hangs, true, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, dials := fakeFleet(t, Options{PingEvery: 30 * time.Second}, func(n int) (conn, error) {
					if n == 0 {
						return newFakeConn(tt.answer), nil
					}
					return newFakeConn(answers), nil
				})
				defer f.Close()
				f.Start(t.Context())
				synctest.Wait()
				if tt.busy {
					go f.Do(t.Context(), Request{Server: "s", Method: "x", Timeout: 2 * time.Minute})
				}
				time.Sleep(90 * time.Second)
				synctest.Wait()
				if state, why := f.State("s"); state != StateReady || dials.Load() != tt.dials {
					t.Errorf("got %s (%s) after %d starts, want ready after %d", state, why, dials.Load(), tt.dials)
				}
			})
		})
	}
}

func TestCallWaitsForTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, dials := fakeFleet(t, Options{}, func(int) (conn, error) {
			time.Sleep(10 * time.Second)
			return newFakeConn(answers), nil
		})
		defer f.Close()
		_, err := f.Do(t.Context(), Request{Server: "s", Method: "x", Timeout: 3 * time.Second})
		if !errors.Is(err, ErrTimeout) || fateOf(err) != NotSent {
			t.Errorf("short call: got %v", err)
		}
		if state, _ := f.State("s"); state != StateStarting {
			t.Errorf("got %s, want starting", state)
		}
		if _, err := f.Do(t.Context(), Request{Server: "s", Method: "x"}); err != nil || dials.Load() != 1 {
			t.Errorf("long call: got %v after %d starts", err, dials.Load())
		}
	})
}

func TestRepeating(t *testing.T) {
	lost := func(fate Fate) error { return wire.Failed(fate, wire.ErrLost) }
	tests := []struct {
		name       string
		err        error
		idempotent bool
		tries      int
	}{
		{"not sent", lost(NotSent), false, 2},
		{"sent", lost(SentUnknown), false, 1},
		{"sent, idempotent", lost(SentUnknown), true, 2},
		{"too large, idempotent", wire.Failed(SentUnknown, fmt.Errorf("%w: %w", wire.ErrLost, ErrTooLarge)), true, 1},
		{"server's error, idempotent", wire.Failed(Ran, &RPCError{Code: 1}), true, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				f, _ := fakeFleet(t, Options{}, func(int) (conn, error) {
					var c *fakeConn
					c = newFakeConn(func(context.Context, string) (json.RawMessage, error) {
						tries++
						if errors.Is(tt.err, wire.ErrLost) {
							c.lose(tt.err)
						}
						return nil, tt.err
					})
					return c, nil
				})
				defer f.Close()
				_, err := f.Do(t.Context(), Request{Server: "s", Method: "x", Idempotent: tt.idempotent})
				if err == nil || fateOf(err) != fateOf(tt.err) || tries != tt.tries {
					t.Errorf("got %v after %d tries, want %d", err, tries, tt.tries)
				}
			})
		})
	}
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, dials := fakeFleet(t, Options{PingEvery: -1}, func(n int) (conn, error) {
			if n == 1 {
				return nil, errors.New("no luck")
			}
			return newFakeConn(answers), nil
		})
		defer f.Close()
		steps := []struct {
			name  string
			dials int64
			state State
		}{
			{"asleep", 1, StateReady},
			{"ready", 2, StateFailing},
			{"failing", 3, StateReady},
		}
		for _, step := range steps {
			if err := f.Restart("s"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if state, why := f.State("s"); state != step.state || dials.Load() != step.dials {
				t.Errorf("from %s: got %s (%s) after %d starts, want %s after %d", step.name, state, why, dials.Load(), step.state, step.dials)
			}
		}
		if err := f.Restart("nobody"); !errors.Is(err, ErrUnknownServer) {
			t.Errorf("got %v, want ErrUnknownServer", err)
		}
	})
}

func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, dials := fakeFleet(t, Options{}, func(int) (conn, error) { return newFakeConn(answers), nil })
		defer f.Close()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		f.Start(over)
		synctest.Wait()
		if dials.Load() != 0 {
			t.Error("started although ctx had ended")
		}
		f.member("s").options.Lazy = true
		f.Start(t.Context())
		synctest.Wait()
		if state, _ := f.State("s"); state != StateAsleep || dials.Load() != 0 {
			t.Errorf("lazy: got %s, want asleep", state)
		}
		f.member("s").options.Lazy = false
		f.Start(t.Context())
		f.Start(t.Context())
		synctest.Wait()
		if state, _ := f.State("s"); state != StateReady || dials.Load() != 1 {
			t.Errorf("got %s after %d starts, want ready after one", state, dials.Load())
		}
	})
}

func TestEventsInOrder(t *testing.T) {
	var got []string
	q := newEventQueue(func(e Event) { got = append(got, e.Server+" "+string(e.Kind)) })
	var want []string
	for i := range 1000 {
		e := Event{Server: fmt.Sprint(i), Kind: Ready}
		q.put(e)
		want = append(want, e.Server+" ready")
	}
	q.close()
	if strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("got %v", got)
	}
}
