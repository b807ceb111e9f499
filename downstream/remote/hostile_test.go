package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

const limit = 100_000

// mute hears and answers nothing.
var mute = wire.Ears{Heard: func(int64, string, []byte) {}, Asked: func(wire.Question) {}}

func dial(t *testing.T, handle http.HandlerFunc, ears wire.Ears) *Conn {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	c, err := New(Options{URL: s.URL, MaxMessage: limit, StartTimeout: time.Second, Headers: map[string]string{"X-Key": "k"}}).Dial(ears)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// idOf reads the id of a request.
func idOf(r *http.Request) string {
	var m struct{ ID json.RawMessage }
	json.NewDecoder(r.Body).Decode(&m)
	return string(m.ID)
}

func typed(kind string, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		then(w, r)
	}
}

const stream, object = "text/event-stream", "application/json"

// endlessly writes until the client hangs up.
func endlessly(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
}

func TestHostileServers(t *testing.T) {
	filler := strings.Repeat("x", 1000)
	tests := []struct {
		name   string
		handle http.HandlerFunc
		is     error
		words  string
		fate   wire.Fate
		lost   bool // the connection
	}{
		{"endless object", typed(object, endlessly(filler)), wire.ErrTooLarge, "", wire.Ran, false},
		{"large object, said so", typed(object, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "999999999")
			w.WriteHeader(http.StatusOK)
		}), wire.ErrTooLarge, "", wire.Ran, false},
		{"endless line", typed(stream, endlessly(filler)), wire.ErrTooLarge, "", wire.Ran, false},
		{"endless event", typed(stream, endlessly("data: "+filler+"\n")), wire.ErrTooLarge, "", wire.Ran, false},
		{"large event", typed(stream, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "data: {\"id\":%s,\"result\":\"%s\"}\n\n", idOf(r), strings.Repeat("x", limit))
		}), wire.ErrTooLarge, "", wire.Ran, false},
		{"large event of many lines", typed(stream, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "data: {\"id\":%s,\"result\":[\n%sdata: 1]}\n\n", idOf(r), strings.Repeat("data: 1,\n", limit))
		}), wire.ErrTooLarge, "", wire.Ran, false},
		{"comments for ever", typed(stream, endlessly(": still there\n\n")), wire.ErrTimeout, "", wire.SentUnknown, false},
		{"events for ever", typed(stream, endlessly("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n")), wire.ErrTimeout, "", wire.SentUnknown, false},
		{"nothing but garbage", typed(stream, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: {\n\ndata\n\n\x00\xff: x\n\nevent: endpoint\ndata: http://elsewhere/\n\nid: \x00\nretry: -1\nretry: 1e9\n\ndata: [{}]\n\ndata: 1\n\n")
		}), wire.ErrUnavailable, "ended without an answer", wire.SentUnknown, false},
		{"answers to others", typed(stream, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n\n")
		}), wire.ErrUnavailable, "ended without an answer", wire.SentUnknown, false},
		{"the answer to another", typed(object, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":999,"result":{}}`)
		}), wire.ErrUnavailable, "holds no answer", wire.SentUnknown, false},
		{"half an object", typed(object, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"res`) }), wire.ErrUnavailable, "holds no answer", wire.SentUnknown, false},
		{"half an object, then gone", typed(object, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"res`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}), wire.ErrUnavailable, "read the answer", wire.SentUnknown, false},
		{"no body", typed(object, func(http.ResponseWriter, *http.Request) {}), wire.ErrUnavailable, "holds no answer", wire.SentUnknown, false},
		{"accepted", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusAccepted) }, wire.ErrUnavailable, "HTTP status 202", wire.SentUnknown, false},
		{"a page", typed("text/html; charset=utf-8", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>") }), wire.ErrUnavailable, "type text/html", wire.SentUnknown, false},
		{"a strange type", typed("\x01;;=", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "x") }), wire.ErrUnavailable, "", wire.SentUnknown, false},
		{"a page that is an error", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(502); endlessly(filler)(w, r) }, wire.ErrUnavailable, "HTTP status 502", wire.SentUnknown, false},
		{"not found", http.NotFound, wire.ErrUnavailable, "HTTP status 404", wire.NotSent, false},
		{"login", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401); endlessly(filler)(w, r) }, ErrAuthRequired, "", wire.NotSent, true},
		{"headers without end", func(w http.ResponseWriter, r *http.Request) {
			for i := range 1000 {
				w.Header().Add(fmt.Sprint("X-", i), filler)
			}
		}, wire.ErrUnavailable, "", wire.SentUnknown, false},
		{"to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, wire.ErrUnavailable, "redirect to another host refused", wire.SentUnknown, false},
		{"in a circle", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusTemporaryRedirect) }, wire.ErrUnavailable, "too many redirects", wire.SentUnknown, false},
		{"gone at once", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, wire.ErrUnavailable, "", wire.SentUnknown, false},
		{"silent", func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() }, wire.ErrTimeout, "", wire.SentUnknown, false},
		{"no resuming without end", typed(stream, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "id: 1\nretry: 0\ndata:\n\n") }), wire.ErrUnavailable, "ended without an answer", wire.SentUnknown, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, tt.handle, mute)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			got, err := c.Call(ctx, 1, "x", nil)
			if !errors.Is(err, tt.is) || wire.FateOf(err) != tt.fate || !strings.Contains(err.Error(), tt.words) || len(err.Error()) > 2*maxWords {
				t.Errorf("got %.200s, %v (%s); want %v (%s) with %q", got, err, wire.FateOf(err), tt.is, tt.fate, tt.words)
			}
			if lost := c.Life().Err() != nil; lost != tt.lost {
				t.Errorf("connection lost: %v, want %v", lost, tt.lost)
			}
		})
	}
}

func TestGoodAnswers(t *testing.T) {
	tests := []struct {
		name, kind, body, want string // %s is the id
	}{
		{"object", object, `{"jsonrpc":"2.0","id":%s,"result":{"n":1.10}}`, `{"n":1.10}`},
		{"object on several lines", object, "{\n\"id\":%s,\r\n\"result\":{ }\n}\n", `{ }`},
		{"no type", "", `{"id":%s,"result":1}`, `1`},
		{"batch", object, `[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":%s,"result":2}]`, `2`},
		{"id as text", object, `{"jsonrpc":"2.0","id":"%s","result":3}`, `3`},
		{"event", stream, "event: message\nid: 1\ndata: {\"id\":%s,\"result\":4}\n\n", `4`},
		{"event with carriage returns", stream + ";charset=utf-8", "data: {\"id\":%s,\"result\":5}\r\n\r\n", `5`},
		{"event on several lines", stream, "data:{\"id\":%s,\ndata\ndata: \"result\":6}\n\n", `6`},
		{"batch in an event", stream, "data: [{\"id\":9,\"result\":0},{\"id\":%s,\"result\":7}]\n\n", `7`},
		{"after comments and others", stream, ": hi\n\nid: 7\n\ndata: x\n\ndata: {\"id\":9,\"result\":0}\n\ndata: {\"id\":%s,\"result\":8}\n\n", `8`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil
				if tt.kind != "" {
					w.Header().Set("Content-Type", tt.kind)
				}
				fmt.Fprintf(w, tt.body, idOf(r))
			}, mute)
			for id := range int64(3) {
				if got, err := c.Call(t.Context(), id+1, "x", nil); err != nil || string(got) != tt.want {
					t.Errorf("got %s, %v; want %s", got, err, tt.want)
				}
			}
		})
	}
}

// A stream that no request opened may be as wild as it likes.
func TestHostileListening(t *testing.T) {
	var gets atomic.Int64
	heard := make(chan string, 100)
	ears := mute
	ears.Heard = func(call int64, method string, _ []byte) { heard <- fmt.Sprint(call, " ", method) }
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", stream)
		switch gets.Add(1) {
		case 1:
			fmt.Fprint(w, "retry: 10\nid: 1\ndata: {\n\n") // and it ends
		case 2:
			w.WriteHeader(http.StatusInternalServerError)
		case 3:
			fmt.Fprintf(w, "data: %s\n\ndata: {\"id\":1,\"result\":{}}\n\ndata: {\"method\":\"after a large event\"}\n\n", strings.Repeat("x", 3*limit))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case 4:
			fmt.Fprint(w, "data: {\"method\":\"resumed after "+r.Header.Get("Last-Event-Id")+"\"}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}, ears)
	c.Listen()
	for _, want := range []string{"0 after a large event", "0 resumed after 1"} {
		select {
		case got := <-heard:
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%q was not heard", want)
		}
	}
	c.Close() // while the stream is open
}

func TestNoStream(t *testing.T) {
	for _, status := range []int{404, 405, 400, 401, 200} {
		var gets atomic.Int64
		c := dial(t, func(w http.ResponseWriter, r *http.Request) {
			gets.Add(1)
			w.WriteHeader(status)
		}, mute)
		c.Listen()
		c.Close()
		if n := gets.Load(); n != 1 || errors.Is(context.Cause(c.Life()), ErrAuthRequired) {
			t.Errorf("status %d: asked %d times, want once; %v", status, n, context.Cause(c.Life()))
		}
	}
}

// A session that is gone is known by the next request, or by the stream.
func TestForgottenSession(t *testing.T) {
	var gone atomic.Bool
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Key") != "k":
			t.Error("a request without the configured header")
		case gone.Load():
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
		default:
			w.Header().Set("Content-Type", object)
			w.Header().Set("Mcp-Session-Id", "one")
			fmt.Fprintf(w, `{"id":%s,"result":%q}`, idOf(r), r.Header.Get("Mcp-Session-Id"))
		}
	}, mute)
	for i, want := range []string{`""`, `"one"`} {
		method := "initialize"
		if i > 0 {
			method = "x"
		}
		if got, err := c.Call(t.Context(), 1, method, nil); err != nil || string(got) != want {
			t.Fatalf("got %s, %v; want %s", got, err, want)
		}
	}
	gone.Store(true)
	_, err := c.Call(t.Context(), 2, "x", nil)
	if !errors.Is(err, wire.ErrLost) || wire.FateOf(err) != wire.NotSent || c.Life().Err() == nil {
		t.Errorf("got %v (%s), want the session lost and nothing sent", err, wire.FateOf(err))
	}
	if _, err := c.Call(t.Context(), 3, "x", nil); !errors.Is(err, wire.ErrLost) || wire.FateOf(err) != wire.NotSent {
		t.Errorf("afterwards: got %v", err)
	}
}

func TestHostileSSE(t *testing.T) {
	tests := []struct {
		name  string
		get   http.HandlerFunc
		words string
	}{
		{"not found", http.NotFound, "HTTP status 404"},
		{"login", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401) }, "authorization required"},
		{"a page", typed("text/html", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>") }), "HTTP status 200"},
		{"no endpoint", typed(stream, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "data: x\n\n") }), "wait for the endpoint"},
		{"no endpoint for ever", typed(stream, endlessly(": x\n\n")), "timeout"},
		{"silent", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "timeout"},
		{"endpoint elsewhere", typed(stream, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "event: endpoint\ndata: http://elsewhere.example/post\n\n")
		}), "another host"},
		{"endpoint of another kind", typed(stream, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "event: endpoint\ndata: file:///etc/passwd\n\n")
		}), "another host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(tt.get)
			t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
			c, err := New(Options{URL: s.URL, MaxMessage: limit, StartTimeout: 200 * time.Millisecond}).DialSSE(t.Context(), mute)
			if c != nil || err == nil || !strings.Contains(err.Error(), tt.words) || wire.FateOf(err) != wire.NotSent {
				t.Errorf("got %v, want %q", err, tt.words)
			}
		})
	}
}

// sse is a server of the older transport whose stream says what post gives.
func sse(t *testing.T, post func(r *http.Request, say chan<- string) int) *SSE {
	say := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(post(r, say))
			return
		}
		w.Header().Set("Content-Type", stream)
		fmt.Fprint(w, "event: endpoint\ndata: post?session=1\n\n")
		for {
			w.(http.Flusher).Flush()
			select {
			case text := <-say:
				if text == "end" {
					return
				}
				fmt.Fprintf(w, "data: %s\n\n", text)
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	c, err := New(Options{URL: s.URL + "/sse", MaxMessage: limit, StartTimeout: 5 * time.Second}).DialSSE(t.Context(), mute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestSSECalls(t *testing.T) {
	tests := []struct {
		name string
		post func(id string, say chan<- string) int
		is   error
		fate wire.Fate
		lost bool
	}{
		{"answered", func(id string, say chan<- string) int {
			say <- "garbage"
			say <- `{"jsonrpc":"2.0","id":999,"result":{}}`
			say <- `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`
			return 202
		}, nil, 0, false},
		{"too large", func(id string, say chan<- string) int {
			say <- `{"jsonrpc":"2.0","id":` + id + `,"result":"` + strings.Repeat("x", limit) + `"}`
			return 200
		}, wire.ErrTooLarge, wire.Ran, false},
		{"stream ends", func(_ string, say chan<- string) int { say <- "end"; return 202 }, wire.ErrLost, wire.SentUnknown, true},
		{"refused", func(string, chan<- string) int { return 400 }, wire.ErrUnavailable, wire.NotSent, false},
		{"broken", func(string, chan<- string) int { return 500 }, wire.ErrUnavailable, wire.SentUnknown, false},
		{"forgotten", func(string, chan<- string) int { return 404 }, wire.ErrLost, wire.NotSent, true},
		{"login", func(string, chan<- string) int { return 401 }, ErrAuthRequired, wire.NotSent, true},
		{"silent", func(string, chan<- string) int { return 202 }, wire.ErrTimeout, wire.SentUnknown, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := sse(t, func(r *http.Request, say chan<- string) int {
				if r.URL.String() != "/post?session=1" {
					t.Errorf("posted to %s", r.URL)
				}
				return tt.post(idOf(r), say)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			got, err := c.Call(ctx, 7, "x", nil)
			if !errors.Is(err, tt.is) || err != nil && wire.FateOf(err) != tt.fate || err == nil && string(got) != `{}` {
				t.Errorf("got %s, %v (%s); want %v (%s)", got, err, wire.FateOf(err), tt.is, tt.fate)
			}
			if lost := c.Life().Err() != nil; lost != tt.lost {
				t.Errorf("connection lost: %v, want %v", lost, tt.lost)
			}
		})
	}
}
