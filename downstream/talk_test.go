package downstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// On the stream of its request a question reaches the right agent, whoever else calls at the time.
func TestQuestionsOverHTTP(t *testing.T) {
	for _, tt := range []struct {
		name, method, other, want string
	}{
		{"on the stream of the request", "question", "b", `"mine"`},
		{"elsewhere, one agent", "question elsewhere", "a", `"mine"`},
		{"elsewhere, two agents", "question elsewhere", "b", "perAgent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: newTalker(t).URL}}})
			var other sync.WaitGroup
			asked, release := make(chan struct{}), make(chan struct{})
			other.Go(func() { // a call that waits for the answer to a question of its own
				f.Do(t.Context(), Request{Server: "s", Method: "question", Params: json.RawMessage(`{"id":77,"params":{}}`), Asker: tt.other,
					Ask: func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
						if string(params) != "{}" {
							return json.RawMessage(`"mine"`), nil
						}
						close(asked)
						<-release
						return nil, nil
					}})
			})
			<-asked
			got, err := f.Do(t.Context(), Request{Server: "s", Method: tt.method, Params: json.RawMessage(`{"id":98765432109876543210,"params":{"n":1.10}}`), Asker: "a", Ask: says("mine")})
			if err != nil || !strings.HasPrefix(string(got), `{"jsonrpc":"2.0","id":98765432109876543210,`) || !strings.Contains(string(got), tt.want) {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
			close(release)
			other.Wait()
		})
	}
}

func TestQuestionsOverSSE(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: newOldTalker(t).URL, Transport: "sse"}}})
	for _, id := range []string{`1`, `98765432109876543210`, `"\u00fc"`} {
		got, err := f.Do(t.Context(), Request{Server: "s", Method: "question", Params: json.RawMessage(`{"id":` + id + `,"params":{"n":1.10}}`), Asker: "a", Ask: mirror})
		if want := `{"jsonrpc":"2.0","id":` + id + `,"result":{"n":1.10}}`; err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}

// Five hundred calls, each asking on its own stream, do not wait for each other.
func TestManyQuestionsOverHTTP(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: newTalker(t).URL}}})
	if _, err := f.Hello(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	var all, inside sync.WaitGroup
	const calls = 500
	inside.Add(calls)
	for i := range calls {
		all.Go(func() {
			me := fmt.Sprint("agent ", i)
			got, err := f.Do(t.Context(), Request{Server: "s", Method: "question", Params: json.RawMessage(fmt.Sprintf(`{"id":%d,"params":{}}`, i)), Asker: me,
				Ask: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					inside.Done()
					inside.Wait() // until all are asked
					return json.RawMessage(`"` + me + `"`), nil
				}})
			if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"%s"}`, i, me); err != nil || string(got) != want {
				t.Errorf("got %s, %v; want %s", got, err, want)
			}
		})
	}
	all.Wait()
}

func TestBrokenStreamsAreResumed(t *testing.T) {
	s := newTalker(t)
	heard := make(chan string, 100)
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: s.URL}}, OnEvent: func(e Event) {
		if e.Kind == Said {
			heard <- string(e.Params)
		}
	}})
	for _, method := range []string{"break", "tear"} {
		got, err := f.Do(t.Context(), Request{Server: "s", Method: method})
		if err != nil || string(got) != `{"resumed":true}` {
			t.Errorf("%s: got %s, %v", method, got, err)
		}
	}
	for len(heard) > 0 {
		<-heard
	}
	s.out <- `{"jsonrpc":"2.0","method":"notifications/x","params":{"n":1}}`
	s.out <- "close"
	if got := <-heard; got != `{"n":1}` {
		t.Errorf("got %s", got)
	}
	s.out <- `{"jsonrpc":"2.0","method":"notifications/x","params":{"n":2}}`
	if got := <-heard; got != `{"n":2}` {
		t.Errorf("after the stream ended: got %s", got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.resumed[len(s.resumed)-1]; got != "event 0" {
		t.Errorf("resumed after %q, want the event that was heard; all: %q", got, s.resumed)
	}
}

func TestSessionsOverHTTP(t *testing.T) {
	s := newTalker(t)
	f := newFleet(t, Options{Servers: []Server{{Name: "s", URL: s.URL}}})
	for _, method := range []string{"x", "forget", "x"} {
		if _, err := f.Do(t.Context(), Request{Server: "s", Method: method}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		f.Notify("s", "notifications/roots/list_changed", json.RawMessage(fmt.Sprint(`{"n":`, i, `}`)))
	}
	eventually(t, "notifications arrive", func() bool { return len(s.notified()) == 50 })
	for i, post := range s.notified() {
		if !strings.Contains(post, fmt.Sprintf(`{"n":%d}`, i)) {
			t.Fatalf("notification %d is %s", i, post)
		}
	}
	f.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions != 2 || s.deleted != 1 {
		t.Errorf("got %d sessions and %d deletions, want 2 and 1: a forgotten one can't be deleted", s.sessions, s.deleted)
	}
}

func (tk *talker) notified() []string {
	tk.mu.Lock()
	defer tk.mu.Unlock()
	var all []string
	for _, post := range tk.posts {
		if strings.Contains(post, "roots/list_changed") {
			all = append(all, post)
		}
	}
	return all
}

// A message of 150 MB passes on every transport, and the next call is none the worse.
func TestLargeMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const size = 150_000_000
	for name, s := range saying(t) {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, Options{Servers: []Server{s}})
			got, err := f.Do(t.Context(), Request{Server: "s", Method: "big", Params: json.RawMessage(fmt.Sprintf(`{"n":%d}`, size))})
			if err != nil || len(got) < size || len(got) > size+100 {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			if _, err := f.Do(t.Context(), Request{Server: "s", Method: "say", Params: json.RawMessage(`{"n":0}`)}); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}
