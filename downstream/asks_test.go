package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// mirror answers every question with its params.
func mirror(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	return params, nil
}

func fails(err error) askFunc {
	return func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, err }
}

func TestQuestionsAreExact(t *testing.T) {
	const params = `{"n":1.10,"big":12345678901234567890,"html":"<&>","u":"\u003c"}`
	raw := json.RawMessage(`{"code":-1,"message":"No: the person said <no>","data":{"n":1.10}}`)
	tests := []struct {
		name, id string
		ask      askFunc
		want     string
	}{
		{"small id", `0`, mirror, `"result":` + params},
		{"id above 2^53", `9007199254740993`, mirror, `"result":` + params},
		{"id of many digits", `98765432109876543210`, mirror, `"result":` + params},
		{"id as text", `"a \u00fc 1"`, mirror, `"result":` + params},
		{"id that looks like a number", `"1"`, mirror, `"result":` + params},
		{"the agent's own error", `1`, fails(fmt.Errorf("ask: %w", &RPCError{Code: -1, Message: "x", Raw: raw})), `"error":` + string(raw)},
		{"an error without its text", `1`, fails(&RPCError{Code: -1, Message: `"x"`, Data: json.RawMessage(`[1]`)}), `"error":{"code":-1,"message":"\"x\"","data":[1]}`},
		{"any other error", `1`, fails(errors.New("oh")), `"error":{"code":-32603,"message":"oh"}`},
		{"no answer", `1`, fails(nil), `"result":{}`},
		{"nobody", `1`, nil, `"error":{"code":-32601,"message":"method not found"}`},
	}
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "lines"), framed(fixtureServer(t, "frames", "framed"))}})
	for _, tt := range tests {
		for _, server := range []string{"lines", "frames"} {
			t.Run(tt.name+", "+server, func(t *testing.T) {
				got, err := f.Do(t.Context(), Request{
					Server: server, Method: "question", Ask: tt.ask, Asker: "a",
					Params: json.RawMessage(`{"id":` + tt.id + `,"params":` + params + `}`),
				})
				if want := `{"jsonrpc":"2.0","id":` + tt.id + `,` + tt.want + `}`; err != nil || string(got) != want {
					t.Errorf("got %s, %v; want %s", got, err, want)
				}
			})
		}
	}
}

func framed(s Server) Server { s.Framing = "content-length"; return s }

// Whom a question reaches on a connection where nothing says which call it belongs to.
func TestWhoIsAsked(t *testing.T) {
	type other struct {
		asker string
		ask   bool
	}
	tests := []struct {
		name    string
		asker   string
		others  []other
		outside bool
		want    string
	}{
		{"the only call", "a", nil, true, `"call"`},
		{"the only call of nobody in particular", "", nil, true, `"call"`},
		{"several of one agent", "a", []other{{"a", true}, {"a", true}}, true, `"other"`}, // the oldest
		{"several agents", "a", []other{{"b", true}}, true, "perAgent"},
		{"several agents, one of whom can't be asked", "a", []other{{"b", false}}, true, "perAgent"},
		{"several of nobody in particular", "", []other{{"", true}}, true, "perAgent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Servers: []Server{fixtureServer(t, "s")}}
			if tt.outside {
				o.Asked = func(_ context.Context, server, method string, _ json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`"outside ` + server + ` ` + method + `"`), nil
				}
			}
			f := newFleet(t, o)
			ctx, cancel := context.WithCancel(t.Context())
			var others sync.WaitGroup
			for i, o := range tt.others {
				r := Request{Server: "s", Method: "mute", Asker: o.asker}
				if o.ask {
					r.Ask = says("other")
				}
				others.Go(func() { f.Do(ctx, r) })
				eventually(t, "the other call runs", func() bool { return f.member("s").users.Load() == int64(i+1) && inFlight(f) == i+1 })
			}
			got, err := f.Do(t.Context(), Request{Server: "s", Method: "question", Params: json.RawMessage(`{"id":1,"params":{}}`), Asker: tt.asker, Ask: says("call")})
			if err != nil || !strings.Contains(string(got), tt.want) {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
			cancel()
			others.Wait()
		})
	}
	t.Run("no call, and one that can't be asked", func(t *testing.T) {
		f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}, Asked: func(ctx context.Context, server, method string, _ json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`"` + server + method + AskerOf(ctx) + `"`), nil
		}})
		got, err := f.Do(t.Context(), Request{Server: "s", Method: "question", Params: json.RawMessage(`{"id":1,"params":{}}`), Asker: "a"})
		if err != nil || !strings.Contains(string(got), `"selicitation/create"`) {
			t.Errorf("got %s, %v", got, err)
		}
		f.Do(t.Context(), Request{Server: "s", Method: "ask and answer"})
		eventually(t, "the late answer", func() bool { return answered(t, f) == 2 })
	})
}

func says(text string) askFunc {
	return func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`"` + text + `"`), nil
	}
}

// inFlight counts the calls that the server of s has.
func inFlight(f *Fleet) int {
	m := f.member("s")
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live == nil {
		return 0
	}
	m.live.desk.mu.Lock()
	defer m.live.desk.mu.Unlock()
	return len(m.live.desk.calls)
}

// answered is how many questions the fixture got an answer to.
func answered(t *testing.T, f *Fleet) int {
	t.Helper()
	raw, err := f.Fetch(t.Context(), "s", "answered", nil)
	var got struct{ N int }
	if err != nil || json.Unmarshal(raw, &got) != nil {
		t.Fatalf("got %s, %v", raw, err)
	}
	return got.N
}

// A question ends with the call it belongs to, and when the server takes it back; then it gets no answer.
func TestQuestionsEnd(t *testing.T) {
	for _, method := range []string{"ask and answer", "ask and take back"} {
		t.Run(method, func(t *testing.T) {
			f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
			asked, ended := make(chan struct{}), make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := f.Do(ctx, Request{Server: "s", Method: method, Asker: "a", Ask: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
					close(asked)
					<-ctx.Done()
					close(ended)
					return nil, ctx.Err()
				}})
				done <- err
			}()
			if method == "ask and answer" {
				if err := <-done; err != nil {
					t.Error(err)
				}
				select {
				case <-asked: // it may be over before anybody is asked
					<-ended
				case <-time.After(50 * time.Millisecond):
				}
				eventually(t, "the server hears that it is over", func() bool { return answered(t, f) == 1 })
			} else {
				eventually(t, "nobody is asked any longer", func() bool {
					select {
					case <-ended:
						return true
					default:
						m := f.member("s")
						m.mu.Lock()
						defer m.mu.Unlock()
						return m.live != nil && inQuestion(m.live) == 0 && m.users.Load() == 1 && m.live.ids.Load() > 1
					}
				})
				cancel()
				<-done
				if n := answered(t, f); n != 0 {
					t.Errorf("got %d answers to what was taken back", n)
				}
			}
			cancel()
		})
	}
}

func inQuestion(s *session) int {
	s.questions.mu.Lock()
	defer s.questions.mu.Unlock()
	return len(s.questions.open)
}

// If the call that was asked first ends, another one of the same agent is asked.
func TestAskedAgain(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	var first sync.WaitGroup
	first.Go(func() {
		f.Do(ctx, Request{Server: "s", Method: "mute", Asker: "a", Ask: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
	})
	eventually(t, "the first call runs", func() bool { return inFlight(f) == 1 })
	go func() { <-asked; cancel() }()
	got, err := f.Do(t.Context(), Request{Server: "s", Method: "question", Params: json.RawMessage(`{"id":1,"params":{}}`), Asker: "a", Ask: says("second")})
	if err != nil || !strings.Contains(string(got), `"result":"second"`) {
		t.Errorf("got %s, %v", got, err)
	}
	first.Wait()
}

func TestManyQuestions(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
	t.Run("a thousand at once", func(t *testing.T) {
		got, err := f.Do(t.Context(), Request{Server: "s", Method: "questions", Params: json.RawMessage(`{"n":1000}`), Asker: "a", Ask: mirror})
		if err != nil || string(got) != `{"wrong":0}` {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("more than wait at once", func(t *testing.T) {
		var n atomic.Int64
		release := make(chan struct{})
		got, err := f.Do(t.Context(), Request{Server: "s", Method: "questions", Params: json.RawMessage(`{"n":1200}`), Asker: "a",
			Ask: func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
				if n.Add(1) == maxQuestions {
					time.AfterFunc(20*time.Millisecond, func() { close(release) })
				}
				<-release
				return params, nil
			}})
		if err != nil || string(got) == `{"wrong":0}` || n.Load() < maxQuestions {
			t.Errorf("got %s, %v after %d questions; want some refused", got, err, n.Load())
		}
	})
	t.Run("500 calls with a question each", func(t *testing.T) {
		var calls sync.WaitGroup
		for i := range 500 {
			calls.Go(func() {
				got, err := f.Do(t.Context(), Request{
					Server: "s", Method: "question", Params: json.RawMessage(fmt.Sprintf(`{"id":%d,"params":{"i":%d}}`, i, i)), Asker: "a", Ask: mirror,
				})
				if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"i":%d}}`, i, i); err != nil || string(got) != want {
					t.Errorf("got %s, %v; want %s", got, err, want)
				}
			})
		}
		calls.Wait()
	})
}

func TestServerAsksAndDies(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
	ended := make(chan struct{})
	_, err := f.Do(t.Context(), Request{Server: "s", Method: "ask and die", Asker: "a", Ask: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}})
	if !errors.Is(err, ErrUnavailable) || fateOf(err) != SentUnknown {
		t.Errorf("got %v", err)
	}
	eventually(t, "the question ended", func() bool { return inQuestionOf(f) == 0 })
	if _, err := f.Fetch(t.Context(), "s", "pid", nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func inQuestionOf(f *Fleet) int {
	m := f.member("s")
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live == nil {
		return 0
	}
	return inQuestion(m.live)
}

func TestAnswersTwice(t *testing.T) {
	f := newFleet(t, Options{Servers: []Server{fixtureServer(t, "s")}})
	for range 100 {
		if got, err := f.Do(t.Context(), Request{Server: "s", Method: "twice"}); err != nil || string(got) != `{"first":true}` {
			t.Fatalf("got %s, %v", got, err)
		}
	}
}

// While a person thinks, the time of the server stands still; the time that the agent gave does not.
func TestTimeStandsStillWhileAsking(t *testing.T) {
	s := fixtureServer(t, "s")
	s.Timeout = 150 * time.Millisecond
	f := newFleet(t, Options{Servers: []Server{s}})
	if _, err := f.Fetch(t.Context(), "s", "pid", nil); err != nil {
		t.Fatal(err)
	}
	slow := func(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
		select {
		case <-time.After(400 * time.Millisecond):
		case <-ctx.Done():
		}
		return params, ctx.Err()
	}
	r := Request{Server: "s", Method: "question", Params: json.RawMessage(`{"id":1,"params":{}}`), Asker: "a", Ask: slow}
	if got, err := f.Do(t.Context(), r); err != nil {
		t.Errorf("the server's time: got %s, %v", got, err)
	}
	r.Timeout = 150 * time.Millisecond
	if got, err := f.Do(t.Context(), r); !errors.Is(err, ErrTimeout) {
		t.Errorf("the agent's time: got %s, %v", got, err)
	}
	if got, err := f.Do(t.Context(), Request{Server: "s", Method: "mute"}); !errors.Is(err, ErrTimeout) {
		t.Errorf("no question: got %s, %v", got, err)
	}
}
