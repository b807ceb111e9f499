package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/downstream/wire"
)

// Whatever a server says in the course of a call, in either era, nothing panics, every question gets at most one
// answer, nothing is heard after the call returned, and the next call still gets its result.
func FuzzWordsOfAServer(f *testing.F) {
	for _, seed := range []string{
		`{"id":"q","method":"elicitation/create","params":{}}`, `{"id":1,"method":"ping"}`, `{"id":{},"method":"\u0070ing"}`,
		`{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
		`{"method":"notifications/progress","params":{"progressToken":"1"}}` + "\n" + `{"method":"notifications/progress","params":[]}`,
		`{"id":5,"method":"roots/list"}` + "\n" + `{"method":"notifications/cancelled","params":{"requestId":5}}`,
		`{"method":"notifications/cancelled"}`, `{"method":"notifications/tools/list_changed","params":null}`,
		`{"method":"notifications/x","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`,
		`{"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"1"}}}`,
		`{"id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}}`, `{"id":1,"result":{"resultType":"input_required"}}`,
		`{"id":1,"error":{"code":-32601}}`, `[{"id":1,"result":{}},{"id":1,"result":{}}]`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, modern bool) {
		if len(data) > 4096 || bytes.Contains(data, []byte("endless")) {
			return
		}
		fromServer, toUs := io.Pipe()
		var sent lines
		s := &session{modern: modern, version: "x", house: house{report: func(Event) {}, heard: func(context.Context) {}, asking: defaultAskTimeout}}
		s.conn = &stdioConn{Conn: wire.New(wire.Options{
			In: fromServer, Out: &sent, Max: 8192, Ears: s.ears(), Garbage: func([]byte) {}, Over: func(err error) error { return err },
		})}
		var over atomic.Bool
		said := func() {
			if over.Load() {
				t.Error("something was heard after the call returned")
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			s.once(ctx, nil, &Request{
				Asker: "a", Ask: mirror, Progress: func(json.RawMessage) { said() }, Told: func(string, json.RawMessage) { said() },
			}, nil)
			close(done)
		}()
		sent.wait(t, `"id":1}`, `"id":1,`)
		toUs.Write(append(data, '\n'))
		cancel()
		<-done
		over.Store(true)
		answered := make(chan string, 1)
		go func() {
			got, err := s.once(t.Context(), nil, &Request{Method: "last"}, nil)
			if err != nil {
				got = []byte(err.Error())
			}
			answered <- string(got)
		}()
		sent.wait(t, `"method":"last"`)
		io.WriteString(toUs, `{"id":2,"result":"last"}`+"\n")
		if got := <-answered; got != `"last"` && !bytes.Contains(data, []byte("2")) {
			t.Errorf("after %q: got %s", data, got)
		}
		toUs.Close()
		s.conn.(*stdioConn).Wait()
		s.workers.Wait()
	})
}

// lines are what was written so far.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) wait(t *testing.T, any ...string) {
	t.Helper()
	eventually(t, "the request is written", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, text := range any {
			if strings.Contains(l.text.String(), text) {
				return true
			}
		}
		return false
	})
}
