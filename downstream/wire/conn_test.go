package wire

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

// open makes a Conn that hears progress, as sessions do.
func open(in io.Reader, out io.Writer, max int64) *Conn {
	return New(Options{
		In: in, Out: out, Max: max,
		Ears: Ears{
			Heard: func(_ int64, _ string, params []byte) { Progress(params) },
			Asked: func(q Question) { q.Drop(nil, &RPCError{Code: -32601, Message: "method not found"}) },
		},
		Garbage: func([]byte) {},
		Over:    func(err error) error { return err },
	})
}

// piped is a Conn and the server's ends of its streams.
func piped(t testing.TB, limit int64) (c *Conn, in *bufio.Reader, out io.WriteCloser) {
	t.Helper()
	fromServer, toUs := io.Pipe()
	fromUs, toServer := io.Pipe()
	c = open(fromServer, toServer, limit)
	t.Cleanup(func() {
		c.Lose(ErrLost)
		toUs.Close()
		toServer.Close()
		c.Wait()
	})
	return c, bufio.NewReader(fromUs), toUs
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
		fromServer, toUs := io.Pipe()
		c := open(fromServer, io.Discard, 4096)
		toUs.Write(append(data, '\n'))
		done := make(chan error, 1)
		go func() {
			got, err := c.Call(t.Context(), 987654321987, "x", nil)
			if err == nil && string(got) != `{"ok":1}` {
				err = fmt.Errorf("got %s", got)
			}
			done <- err
		}()
		for end := time.Now().Add(10 * time.Second); len(done) == 0; time.Sleep(time.Millisecond) {
			if _, waits := c.only(); waits {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the call does not wait for its answer")
			}
		}
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
		c.Wait()
	})
}

func TestServerThatDoesNotRead(t *testing.T) {
	c, _, out := piped(t, 1<<20)
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
			_, err := c.Call(ctx, int64(i), "x", nil)
			if FateOf(err) != tt.fate || !errors.Is(err, ErrTimeout) {
				t.Errorf("got %v, %s; want timeout, %s", err, FateOf(err), tt.fate)
			}
		})
	}
	// The reader works on, also when it has more to reply than the server takes.
	for i := range 2 * maxPosts {
		fmt.Fprintf(out, `{"id":%d,"method":"ping"}`+"\n", i)
	}
}

func TestLostBeforeWritten(t *testing.T) {
	fromServer, toUs := io.Pipe()
	c := open(fromServer, refusing{}, 1<<20)
	_, err := c.Call(t.Context(), 1, "x", nil)
	if FateOf(err) != NotSent || !errors.Is(err, ErrLost) {
		t.Errorf("got %v, %s; want lost, not sent", err, FateOf(err))
	}
	toUs.Close()
	c.Wait()
}

type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAnswersOutOfOrder(t *testing.T) {
	c, in, out := piped(t, 1<<20)
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
			got, err := c.Call(t.Context(), int64(i), "x", nil)
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
