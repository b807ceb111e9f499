package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// onPipes is a Conn over real pipes, whose writes can be tried, and the server's ends of them.
func onPipes(t *testing.T, framing Framing) (c *Conn, in, out *os.File) {
	t.Helper()
	fromServer, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c = New(Options{
		In: fromServer, Out: toServer, Max: 1 << 20, Framing: framing,
		Ears:    Ears{Heard: func(int64, string, []byte) {}, Asked: func(q Question) { go q.Answer(q.Params, nil) }},
		Garbage: func([]byte) {}, Over: func(err error) error { return err },
	})
	t.Cleanup(func() {
		c.Lose(ErrLost)
		for _, f := range []*os.File{fromServer, out, in, toServer} {
			f.Close()
		}
		c.Wait()
	})
	return c, in, out
}

// Messages of all sizes from many goroutines arrive whole.
func TestManyWriters(t *testing.T) {
	for _, framing := range []Framing{Newline, ContentLength} {
		t.Run(string(framing), func(t *testing.T) {
			c, in, out := onPipes(t, framing)
			go func() {
				next := NewLines(in, 10<<20, firstBuffer).next
				if framing == ContentLength {
					next = newFrames(in, 10<<20).next
				}
				for {
					line, over, err := next()
					if err != nil || over != nil {
						return
					}
					m, ok := Parse(bytes.TrimSpace(line))
					if !ok {
						t.Errorf("got %.100q", line)
						return
					}
					if m.id != nil {
						fmt.Fprintf(out, `{"id":%s,"result":%d}`+"\n", m.id, len(m.params))
					}
				}
			}()
			var calls sync.WaitGroup
			for i := range 50 {
				calls.Go(func() {
					for j := range 20 {
						params := `"` + strings.Repeat("x", 1+i*j*200) + `"`
						c.Notify("n", []byte(params))
						got, err := c.Call(t.Context(), int64(1000*i+j), "x", []byte(params))
						if err != nil || string(got) != fmt.Sprint(len(params)) {
							t.Errorf("got %s, %v; want %d", got, err, len(params))
						}
					}
				})
			}
			calls.Wait()
		})
	}
}

// A server that does not read holds up nobody beyond his time, and what was not begun was not sent.
func TestFullPipe(t *testing.T) {
	c, in, out := onPipes(t, Newline)
	large := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	call := func(id int64, params []byte, d time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		_, err := c.Call(ctx, id, "x", params)
		return err
	}
	if err := call(1, large, 30*time.Millisecond); FateOf(err) != SentUnknown || !errors.Is(err, ErrTimeout) {
		t.Errorf("begun: got %v (%s)", err, FateOf(err))
	}
	for id := range int64(3) {
		if err := call(2+id, large[:3], 10*time.Millisecond); FateOf(err) != NotSent || !errors.Is(err, ErrTimeout) {
			t.Errorf("waiting: got %v (%s)", err, FateOf(err))
		}
	}
	for range 2 * maxPosts { // nobody waits for these
		c.Notify("n", nil)
	}
	go func() {
		r := bufio.NewReaderSize(in, 1<<20)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			if m, ok := Parse(bytes.TrimSpace(line)); !ok {
				t.Errorf("got %.100q", line)
			} else if m.id != nil && string(m.id) != "1" {
				fmt.Fprintf(out, `{"id":%s,"result":"read"}`+"\n", m.id)
			}
		}
	}()
	if got, err := c.Call(t.Context(), 9, "x", nil); err != nil || string(got) != `"read"` {
		t.Errorf("when it reads again: got %s, %v", got, err)
	}
}

// What is said before a request goes before it, also when it had to wait.
func TestOrderOfMessages(t *testing.T) {
	c, in, out := onPipes(t, Newline)
	r := bufio.NewReader(in)
	const rounds = 2000
	go func() {
		for {
			said, err := r.ReadString('\n')
			if err != nil {
				return
			}
			asked, err := r.ReadString('\n')
			m, ok := Parse([]byte(asked))
			if err != nil || !ok || m.id == nil || !strings.Contains(said, fmt.Sprintf(`"params":%s}`, m.id)) {
				t.Errorf("got %q and then %q", said, asked)
				return
			}
			fmt.Fprintf(out, `{"id":%s,"result":1}`+"\n", m.id)
		}
	}()
	for i := range int64(rounds) {
		c.Notify("n", Number(i))
		if _, err := c.Call(t.Context(), i, "x", nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReaderGone(t *testing.T) {
	c, in, _ := onPipes(t, Newline)
	in.Close()
	_, err := c.Call(t.Context(), 1, "x", nil)
	if !errors.Is(err, ErrLost) || FateOf(err) != NotSent {
		t.Errorf("got %v (%s), want lost, not sent", err, FateOf(err))
	}
}

func TestQuestionLines(t *testing.T) {
	tests := []struct {
		name, question, want string
	}{
		{"number", `{"id":9007199254740993,"method":"m","params":{"n":1.10}}`, `{"jsonrpc":"2.0","id":9007199254740993,"result":{"n":1.10}}`},
		{"text", `{"method":"\u006d","id":"\u00fc\n","params":[ 1 ]}`, `{"jsonrpc":"2.0","id":"\u00fc\n","result":[ 1 ]}`},
		{"no params", `{"method":"m","id":1.0}`, `{"jsonrpc":"2.0","id":1.0,"result":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, in, out := onPipes(t, Newline)
			fmt.Fprintln(out, tt.question)
			if got, err := bufio.NewReader(in).ReadString('\n'); err != nil || got != tt.want+"\n" {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}
