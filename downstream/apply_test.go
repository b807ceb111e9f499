package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

// scene is a fleet whose servers are fakes; each answers with its ID.
type scene struct {
	*Fleet
	dials, ended atomic.Int64
	pause        time.Duration // each call takes
}

func (s *scene) dial(id string) (conn, error) {
	s.dials.Add(1)
	var c *fakeConn
	c = newFakeConn(func(ctx context.Context, _ string) (json.RawMessage, error) {
		select {
		case <-time.After(s.pause):
			return json.RawMessage(`"` + id + `"`), nil
		case <-ctx.Done():
			return hangs(ctx, "")
		case <-c.alive.Done():
			return nil, wire.Failed(SentUnknown, wire.Lost(c.alive))
		}
	})
	context.AfterFunc(c.alive, func() { s.ended.Add(1) })
	return c, nil
}

func named(ids ...string) (out []Server) {
	for _, id := range ids {
		out = append(out, Server{Name: id[:1], ID: id, Command: "x"})
	}
	return out
}

func newScene(t *testing.T, ids ...string) *scene {
	t.Helper()
	s := &scene{}
	f, err := New(Options{Servers: named(ids...), PingEvery: -1, dial: func(o Server) (conn, error) { return s.dial(o.ID) }})
	if err != nil {
		t.Fatal(err)
	}
	s.Fleet = f
	return s
}

func (s *scene) ask(server string) (string, error) {
	raw, err := s.Do(context.Background(), Request{Server: server, Method: "x"})
	return string(raw), err
}

func TestApplyServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "a1", "b1")
		defer s.Close()
		for _, name := range []string{"a", "b"} {
			if _, err := s.ask(name); err != nil {
				t.Fatal(err)
			}
		}
		steps := []struct {
			name   string
			ids    []string
			server string
			want   string // "" is unknown
			dials  int64
		}{
			{"nothing new", []string{"a1", "b1"}, "a", `"a1"`, 2},
			{"another order", []string{"b1", "a1"}, "b", `"b1"`, 2},
			{"changed", []string{"a2", "b1"}, "a", `"a2"`, 3},
			{"taken out", []string{"b1"}, "a", "", 3},
			{"back", []string{"b1", "a2"}, "a", `"a2"`, 4},
			{"one more", []string{"b1", "a2", "c1"}, "c", `"c1"`, 5},
		}
		for _, step := range steps {
			if err := s.Apply(named(step.ids...)); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			got, err := s.ask(step.server)
			if got != step.want || (step.want == "") != errors.Is(err, ErrUnknownServer) {
				t.Errorf("%s: got %s, %v, want %s", step.name, got, err, step.want)
			}
			if n := s.dials.Load(); n != step.dials {
				t.Errorf("%s: %d starts, want %d", step.name, n, step.dials)
			}
		}
		synctest.Wait()
		if n := s.ended.Load(); n != 2 {
			t.Errorf("%d sessions ended, want those of a1 and of a2", n)
		}
	})
}

func TestApplyRefusesWhole(t *testing.T) {
	s := newScene(t, "a1")
	defer s.Close()
	if err := s.Apply([]Server{{Name: "z", ID: "z", Command: "x"}, {Name: "y", Protocol: "smoke"}}); err == nil {
		t.Error("a server of an unknown protocol: no error")
	}
	if got, err := s.ask("a"); got != `"a1"` {
		t.Errorf("got %s, %v: a refused list changed something", got, err)
	}
	if state, _ := s.State("z"); state != StateFailing {
		t.Errorf("a server of the refused list is %s", state)
	}
}

// TestApplyLetsCallsEnd: a call under way ends as it would have, and those that hang do not hold the server for ever.
func TestApplyLetsCallsEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		pause time.Duration
		ok    bool
	}{{"soon", 10 * time.Second, true}, {"never", time.Hour, false}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "a1")
				defer s.Close()
				s.pause = c.pause
				done := make(chan error, 1)
				go func() {
					_, err := s.Do(context.Background(), Request{Server: "a", Method: "x", Timeout: 2 * time.Hour})
					done <- err
				}()
				synctest.Wait()
				if err := s.Apply(nil); err != nil {
					t.Fatal(err)
				}
				if _, err := s.ask("a"); !errors.Is(err, ErrUnknownServer) {
					t.Errorf("a new call: got %v", err)
				}
				if s.ended.Load() != 0 {
					t.Error("the session ended under a call")
				}
				if err := <-done; (err == nil) != c.ok {
					t.Errorf("the call under way: got %v, want ok %v", err, c.ok)
				}
				synctest.Wait()
				if n := s.ended.Load(); n != 1 {
					t.Errorf("%d sessions ended, want 1", n)
				}
			})
		})
	}
}

// storm is a minute of a hundred changes a second.
const storm = 6000

// TestApplyStorm changes the servers all the time while they are called: no call is lost, none reaches a server that
// was taken out before it began.
func TestApplyStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "a0", "b0")
		defer s.Close()
		s.pause = 7 * time.Millisecond
		stop := make(chan struct{})
		var callers sync.WaitGroup
		for n := range 64 {
			callers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if got, err := s.ask([]string{"a", "b"}[n%2]); err != nil {
						t.Errorf("got %s, %v", got, err)
						return
					}
				}
			})
		}
		for n := range storm {
			if err := s.Apply(named(fmt.Sprint("a", n/3), fmt.Sprint("b", n/7))); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		close(stop)
		callers.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if left := s.dials.Load() - s.ended.Load(); left != 2 {
			t.Errorf("%d sessions are left, want 2", left)
		}
	})
}
