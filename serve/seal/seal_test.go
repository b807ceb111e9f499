package seal

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newSealer(t testing.TB, key []byte) *Sealer {
	t.Helper()
	s, err := New(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpen(t *testing.T) {
	cases := []struct {
		name string
		open func(s *Sealer, text string) error
		want error
	}{
		{"as it was", func(s *Sealer, text string) error { _, err := s.Open(text, "ann", "d"); return err }, nil},
		{"by another", func(s *Sealer, text string) error { _, err := s.Open(text, "bob", "d"); return err }, ErrOther},
		{"by nobody", func(s *Sealer, text string) error { _, err := s.Open(text, "", "d"); return err }, ErrOther},
		{"with another request", func(s *Sealer, text string) error { _, err := s.Open(text, "ann", "e"); return err }, ErrOther},
		{"longer", func(s *Sealer, text string) error { _, err := s.Open(text+"AAAA", "ann", "d"); return err }, ErrForeign},
		{"with a tail", func(s *Sealer, text string) error { _, err := s.Open(text+"-TAMPERED", "ann", "d"); return err }, ErrForeign},
		{"empty", func(s *Sealer, _ string) error { _, err := s.Open("", "ann", "d"); return err }, ErrForeign},
		{"changed", func(s *Sealer, text string) error {
			_, err := s.Open(strings.Map(func(r rune) rune {
				if r == 'A' {
					return 'B'
				}
				return r
			}, text[:len(text)-1])+"A", "ann", "d")
			return err
		}, ErrForeign},
		{"by another key", func(s *Sealer, text string) error {
			_, err := newSealer(t, []byte("other")).Open(text, "ann", "d")
			return err
		}, ErrForeign},
		{"by the same key", func(s *Sealer, text string) error {
			_, err := newSealer(t, []byte("key")).Open(text, "ann", "d")
			return err
		}, nil},
		{"twice", func(s *Sealer, text string) error {
			_, first := s.Open(text, "ann", "d")
			_, err := s.Open(text, "ann", "d")
			return errors.Join(first, err)
		}, ErrUsed},
		{"late", func(s *Sealer, text string) error {
			time.Sleep(time.Minute)
			_, err := s.Open(text, "ann", "d")
			return err
		}, ErrExpired},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSealer(t, []byte("key"))
				text := s.Seal(State{Principal: "ann", Digest: "d", Expires: time.Now().Add(time.Minute), Call: "7", Inner: json.RawMessage(`"x"`)})
				if err := c.open(s, text); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestStateComesBack(t *testing.T) {
	s := newSealer(t, nil)
	want := State{Digest: "d", Expires: time.Now().Add(time.Minute).Round(0), Inner: json.RawMessage(`{"a":1}`)}
	got, err := s.Open(s.Seal(want), "", "d")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("got %v, -want +got:\n%s", err, diff)
	}
}

// TestMemoryIsBounded holds that what expired is forgotten.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealer(t, nil)
		for range 100 {
			if _, err := s.Open(s.Seal(State{Expires: time.Now().Add(time.Second)}), "", ""); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Second)
		if _, err := s.Open(s.Seal(State{Expires: time.Now().Add(time.Second)}), "", ""); err != nil {
			t.Fatal(err)
		}
		if got := len(s.used); got != 1 {
			t.Errorf("remembered: got %d, want 1", got)
		}
	})
}

// FuzzOpen holds that nothing from outside opens or panics.
func FuzzOpen(f *testing.F) {
	s := newSealer(f, nil)
	f.Add("AAAA")
	f.Add(s.Seal(State{})[1:])
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := s.Open(text, "", ""); err == nil {
			t.Errorf("opened %q", text)
		}
	})
}
