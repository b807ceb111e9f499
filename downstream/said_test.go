package downstream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// words gathers what a listener hears.
type words struct {
	mu  sync.Mutex
	all []string
}

func (w *words) hear(method string, params json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, method+string(params))
}

func (w *words) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// What a server says just before a result is heard before it, in order, every time.
func TestWordsBeforeTheResult(t *testing.T) {
	const each = 3
	var want []string
	for i := range each {
		want = append(want, fmt.Sprintf(`notifications/message{"data":%d}`, i))
	}
	for name, s := range saying(t) {
		for _, told := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, told %v", name, told), func(t *testing.T) {
				var heard words
				o := Options{Servers: []Server{s}}
				r := Request{Server: "s", Method: "say", Params: json.RawMessage(fmt.Sprintf(`{"n":%d}`, each))}
				if told {
					r.Told = heard.hear
				} else {
					o.OnEvent = func(e Event) {
						if e.Kind == Said && e.Server == "s" {
							heard.hear(e.Method, e.Params)
						}
					}
				}
				f := newFleet(t, o)
				times := 1000
				if name == "frames" || name == "sse" { // which differ little from the others
					times = 200
				}
				for i := range times {
					_, err := f.Do(t.Context(), r)
					if got := heard.take(); err != nil || !slices.Equal(got, want) {
						t.Fatalf("time %d: got %v, %v; want %v", i, got, err, want)
					}
				}
			})
		}
	}
}

// saying is a server s that knows the method say, on each transport.
func saying(t *testing.T) map[string]Server {
	stdio, frames := fixtureServer(t, "s"), framed(fixtureServer(t, "s", "framed"))
	return map[string]Server{
		"stdio": stdio, "frames": frames,
		"http": {Name: "s", URL: newTalker(t).URL}, "sse": {Name: "s", URL: newOldTalker(t).URL, Transport: "sse"},
	}
}

// On a connection without streams a word goes to the only agent that has calls under way.
func TestWhoIsTold(t *testing.T) {
	tests := []struct{ name, one, other, want string }{
		{"one agent", "a", "a", "told"},
		{"two agents", "a", "b", "event"},
		{"nobody in particular", "", "", "event"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var heard words
			f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}, OnEvent: func(e Event) {
				if e.Kind == Said {
					heard.hear("event", nil)
				}
			}})
			told := func(string, json.RawMessage) { heard.hear("told", nil) }
			ctx, cancel := contextOf(t)
			var other sync.WaitGroup
			other.Go(func() { f.Do(ctx, Request{Server: "s", Method: "mute", Asker: tt.other, Told: told}) })
			eventually(t, "the other call runs", func() bool { return inFlight(f) == 1 })
			if _, err := f.Do(t.Context(), Request{Server: "s", Method: "say", Params: json.RawMessage(`{"n":1}`), Asker: tt.one, Told: told}); err != nil {
				t.Error(err)
			}
			cancel()
			other.Wait()
			if got := strings.Join(heard.take(), " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestSlowListenerIsWaitedFor(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
	n := 0
	_, err := f.Do(t.Context(), Request{Server: "s", Method: "say", Params: json.RawMessage(`{"n":20000}`), Told: func(string, json.RawMessage) { n++ }})
	if err != nil || n != 20000 {
		t.Errorf("heard %d, %v; want 20000", n, err)
	}
}

func TestNotify(t *testing.T) {
	heard := make(chan string, 1000)
	own := fixtureServer(t, "own")
	own.PerAgent = true
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s"), own, fixtureServer(t, "asleep")}, OnEvent: func(e Event) {
		if e.Kind == Said {
			heard <- e.Server + " " + e.Asker + " " + string(e.Params)
		}
	}})
	for _, r := range []Request{{Server: "s"}, {Server: "own"}, {Server: "own", Asker: "a"}, {Server: "own", Asker: "b"}} {
		r.Method = "pid"
		if _, err := f.Do(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	line := func(n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"n":%d}}`, n)
	}
	tests := []struct {
		name, asker, server string
		want                []string
	}{
		{"one server", "", "s", []string{"s  "}},
		{"all servers", "", "", []string{"own  ", "s  "}},
		{"of an agent", "a", "", []string{"own a ", "s  "}},
		{"of an agent to its own", "b", "own", []string{"own b "}},
		{"nobody", "", "no such", nil},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.NotifyAs(tt.asker, tt.server, "notifications/roots/list_changed", json.RawMessage(fmt.Sprintf("{\n\"n\":%d}", i)))
			var got []string
			for range tt.want {
				got = append(got, <-heard)
			}
			slices.Sort(got)
			var want []string
			for _, who := range tt.want {
				want = append(want, who+line(i))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	for i := range 100 {
		f.Notify("s", "notifications/roots/list_changed", json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)))
	}
	for i := range 100 {
		if got := <-heard; got != "s  "+line(i) {
			t.Fatalf("got %s, want the one with %d", got, i)
		}
	}
	if state, _ := f.State("asleep"); state != StateAsleep {
		t.Errorf("a notification made a sleeping server %s", state)
	}
}

// What a server says before it asks is heard before somebody is asked.
func TestWordsBeforeAQuestion(t *testing.T) {
	for name, s := range saying(t) {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, Options{Servers: []Server{s}})
			for range 200 {
				var heard words
				_, err := f.Do(t.Context(), Request{
					Server: "s", Method: "say and ask", Asker: "a", Told: heard.hear,
					Ask: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
						heard.hear(method, nil)
						return nil, nil
					},
				})
				if got := strings.Join(heard.take(), " "); err != nil || got != `notifications/message{"data":1} elicitation/create` {
					t.Fatalf("got %s, %v", got, err)
				}
			}
		})
	}
}
