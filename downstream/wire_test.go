package downstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

type deafListener struct{}

func (deafListener) heard(string, []byte) {}

// pipedWire is a wire and the server's ends of its streams.
func pipedWire(t testing.TB, limit int64) (w *wire, in *bufio.Reader, out io.WriteCloser) {
	t.Helper()
	fromServer, toUs := io.Pipe()
	fromUs, toServer := io.Pipe()
	w = newWire(fromServer, toServer, limit, deafListener{}, func([]byte) {}, func(err error) error { return err })
	t.Cleanup(func() {
		w.lose(errLost)
		toUs.Close()
		toServer.Close()
		w.workers.Wait()
	})
	return w, bufio.NewReader(fromUs), toUs
}

// Whatever a server writes, nothing panics, and the next call still gets its answer.
func FuzzRouting(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n", "hello\n", `{"jsonrpc":"2.0","id":1,"result":{"wrong":1}}`, `{"id":"1","error":"x"}`, `[{"id":5},{"method":"ping","id":{}}]`,
		`{"method":5}`, `{"method":"notifications/progress","params":{"progressToken":1}}`, `{"result":1}`, strings.Repeat("x", 5000), "\xff\xfe{\n}", `{"id":1e400,"method":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &session{changed: func(EventKind) {}}
		s.desk.open(1)
		fromServer, toUs := io.Pipe()
		w := newWire(fromServer, discard{}, 4096, s, func([]byte) {}, func(err error) error { return err })
		toUs.Write(append(data, '\n'))
		done := make(chan error, 1)
		go func() {
			got, err := w.call(t.Context(), outgoing{id: 987654321987, method: "x"})
			if err == nil && string(got) != `{"ok":1}` {
				err = fmt.Errorf("got %s", got)
			}
			done <- err
		}()
		eventually(t, "call waits", func() bool { _, ok := w.only(); return ok || len(done) > 0 })
		if !bytes.Contains(data, []byte("987654321987")) && len(data) < 4096 {
			fmt.Fprintln(toUs, `{"id":987654321987,"result":{"ok":1}}`)
			if err := <-done; err != nil {
				t.Errorf("after %q: %v", data, err)
			}
		} else {
			toUs.Close()
			<-done
		}
		toUs.Close()
		w.workers.Wait()
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

func TestServerThatDoesNotRead(t *testing.T) {
	w, _, out := pipedWire(t, 1<<20)
	tests := []struct {
		name string
		fate Fate
	}{
		{"being written", SentUnknown},
		{"waiting to be written", NotSent},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			_, err := w.call(ctx, outgoing{id: int64(i), method: "x"})
			if fateOf(err) != tt.fate || !errors.Is(err, ErrTimeout) {
				t.Errorf("got %v, %s; want timeout, %s", err, fateOf(err), tt.fate)
			}
		})
	}
	// The reader works on, also when it has more to reply than the server takes.
	for i := range 2 * maxReplies {
		fmt.Fprintf(out, `{"id":%d,"method":"ping"}`+"\n", i)
	}
}

func TestLostBeforeWritten(t *testing.T) {
	fromServer, toUs := io.Pipe()
	w := newWire(fromServer, refusing{}, 1<<20, deafListener{}, func([]byte) {}, func(err error) error { return err })
	_, err := w.call(t.Context(), outgoing{id: 1, method: "x"})
	if fateOf(err) != NotSent || !errors.Is(err, errLost) {
		t.Errorf("got %v, %s; want lost, not sent", err, fateOf(err))
	}
	toUs.Close()
	w.workers.Wait()
}

type refusing struct{ discard }

func (refusing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAnswersOutOfOrder(t *testing.T) {
	w, in, out := pipedWire(t, 1<<20)
	const calls = 50
	go func() {
		var ids []string
		for range calls {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			var m struct{ ID json.RawMessage }
			json.Unmarshal(line, &m)
			ids = append(ids, string(m.ID))
		}
		for i := range ids {
			id := ids[len(ids)-1-i]
			fmt.Fprintf(out, `{"id":%s,"result":{"of":%s}}`+"\n", id, id)
		}
	}()
	done := make(chan string, calls)
	for i := range calls {
		go func() {
			got, err := w.call(t.Context(), outgoing{id: int64(i), method: "x"})
			if want := fmt.Sprintf(`{"of":%d}`, i); err != nil || string(got) != want {
				done <- fmt.Sprintf("got %s, %v; want %s", got, err, want)
				return
			}
			done <- ""
		}()
	}
	for range calls {
		if problem := <-done; problem != "" {
			t.Error(problem)
		}
	}
}

func BenchmarkEcho(b *testing.B) {
	f := newFleet(b, Options{Servers: []Server{fixtureServer(b, "s")}})
	if _, err := f.Hello(b.Context(), "s"); err != nil {
		b.Fatal(err)
	}
	b.Run("one by one", func(b *testing.B) {
		for b.Loop() {
			if _, err := f.Do(b.Context(), Request{Server: "s", Method: "echo", Params: json.RawMessage(`{"a":1}`)}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("64 at once", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := f.Do(b.Context(), Request{Server: "s", Method: "echo", Params: json.RawMessage(`{"a":1}`)}); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("100 MB", func(b *testing.B) {
		b.SetBytes(100_000_000)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Do(b.Context(), Request{Server: "s", Method: "big", Params: json.RawMessage(`{"n":100000000}`)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
