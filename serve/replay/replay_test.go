package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func words(text string) [][]byte { return [][]byte{[]byte(text)} }

// hear returns what a listener is given within a moment, without saying that the last was heard.
func hear(t *testing.T, l *Listener) []string {
	t.Helper()
	var got []string
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		e, err := l.Next(ctx)
		cancel()
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				got = append(got, err.Error())
			}
			return got
		}
		got = append(got, e.ID+" "+string(e.Message[0]))
	}
}

func TestStream(t *testing.T) {
	cases := []struct {
		name string
		play func(t *testing.T, l *Log, s *Stream) []string
		want []string
	}{
		{"said before", func(t *testing.T, _ *Log, s *Stream) []string {
			s.Say(words("a"))
			s.End(words("b"))
			return hear(t, s.Listen(0))
		}, []string{"1-1 a", "1-2 b", "EOF"}},
		{"said while listening", func(t *testing.T, _ *Log, s *Stream) []string {
			l := s.Listen(0)
			go func() { s.Say(words("a")); s.End(nil) }()
			return hear(t, l)
		}, []string{"1-1 a", "EOF"}},
		{"resumed", func(t *testing.T, log *Log, s *Stream) []string {
			s.Say(words("a"))
			s.Say(words("b"))
			l := s.Listen(0)
			hear(t, l)
			l.Leave()
			s.End(words("c"))
			again, after := log.Find("1-1")
			return hear(t, again.Listen(after))
		}, []string{"1-2 b", "1-3 c", "EOF"}},
		{"what was given but not heard comes again", func(t *testing.T, _ *Log, s *Stream) []string {
			s.Say(words("a"))
			s.Say(words("b"))
			l := s.Listen(0)
			l.Next(t.Context())
			l.Next(t.Context())
			l.Leave()
			return hear(t, s.ListenOn())
		}, []string{"1-2 b"}},
		{"taken over", func(t *testing.T, _ *Log, s *Stream) []string {
			first := s.Listen(0)
			second := s.Listen(0)
			s.Say(words("a"))
			return append(hear(t, first), hear(t, second)...)
		}, []string{ErrTaken.Error(), "1-1 a"}},
		{"taken over in the middle", func(t *testing.T, _ *Log, s *Stream) []string {
			s.Say(words("a"))
			s.Say(words("b"))
			s.Listen(0).Next(t.Context())
			return hear(t, s.ListenOn())
		}, []string{"1-2 b"}},
		{"from beyond the end", func(t *testing.T, _ *Log, s *Stream) []string {
			l := s.Listen(9)
			s.End(words("a"))
			return hear(t, l)
		}, []string{"1-1 a", "EOF"}},
		{"nobody listens: the oldest goes", func(t *testing.T, _ *Log, s *Stream) []string {
			for i := range 6 {
				s.Say(words(fmt.Sprint(i)))
			}
			s.End(words("end"))
			return hear(t, s.ListenOn())
		}, []string{"1-5 4", "1-6 5", "1-7 end", "EOF"}},
		{"nobody listens: too large", func(t *testing.T, _ *Log, s *Stream) []string {
			return []string{fmt.Sprint(s.End(words(strings.Repeat("x", 2000)))), fmt.Sprint(s.End(words("a")))}
		}, []string{"false", "true"}},
		{"a large one is heard", func(t *testing.T, _ *Log, s *Stream) []string {
			l := s.Listen(0)
			s.Say(words("a"))
			go s.End(words(strings.Repeat("x", 2000)))
			got := hear(t, l)
			return []string{got[0], fmt.Sprint(len(got[1])), got[2]}
		}, []string{"1-1 a", "2004", "EOF"}},
		{"closed", func(t *testing.T, l *Log, s *Stream) []string {
			s.Say(words("a"))
			l.Close()
			return append(hear(t, s.Listen(0)), fmt.Sprint(s.Say(words("b")), l.Open(Options{}).Say(words("c"))))
		}, []string{"EOF", "false false"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				total := NewBudget(1 << 20)
				log := NewLog(total, 3*(overhead+10))
				got := c.play(t, log, log.Open(Options{}))
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				synctest.Wait()
				log.Close()
				if total.left != 1<<20 || log.used != 0 {
					t.Errorf("kept after the end: got %d of the budget, %d bytes, want none", 1<<20-total.left, log.used)
				}
			})
		})
	}
}

func TestFindNothing(t *testing.T) {
	log := NewLog(NewBudget(10000), 10000)
	log.Open(Options{})
	for _, id := range []string{"", "1", "x-1", "1-x", "2-0", "1--1", "-1-1"} {
		if s, _ := log.Find(id); s != nil {
			t.Errorf("%q: got a stream, want none", id)
		}
	}
}

func TestAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{}, 9)
		s := NewLog(nil, 1000).Open(Options{Abandoned: func() { gone <- struct{}{} }, Grace: time.Minute})
		s.Listen(0).Leave()
		time.Sleep(50 * time.Second)
		l := s.Listen(0)
		time.Sleep(time.Hour)
		if len(gone) != 0 {
			t.Error("abandoned while somebody listened")
		}
		l.Leave()
		time.Sleep(2 * time.Minute)
		if len(gone) != 1 {
			t.Errorf("abandoned %d times, want once", len(gone))
		}
	})
}

// TestNothingIsLost holds that a slow listener makes a fast speaker wait, in order.
func TestNothingIsLost(t *testing.T) {
	for _, total := range []*Budget{nil, NewBudget(2000), NewBudget(1)} {
		log := NewLog(total, 3000)
		s := log.Open(Options{})
		l := s.Listen(0)
		const n = 5000
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range n {
				s.Say(words(fmt.Sprint(i)))
			}
			s.End(words("end"))
		})
		for i := 0; ; i++ {
			e, err := l.Next(t.Context())
			if errors.Is(err, io.EOF) {
				if i != n+1 {
					t.Errorf("heard %d, want %d", i, n+1)
				}
				break
			}
			if want := fmt.Sprint(i); i < n && string(e.Message[0]) != want {
				t.Fatalf("got %s, want %s", e.Message[0], want)
			}
		}
		wg.Wait()
		l.Leave()
		log.Close()
	}
}
