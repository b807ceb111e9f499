package serve

import (
	"bytes"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplicer(t *testing.T) {
	const token = `"aab"`
	cases := []struct {
		name   string
		writes []string
		want   string
	}{
		{"whole", []string{`{"id":"aab"}`}, `{"id":7}`},
		{"split in the token", []string{`{"id":"a`, `ab"}`}, `{"id":7}`},
		{"byte by byte", strings.Split(`{"id":"aab","x":"aab"}`, ""), `{"id":7,"x":7}`},
		{"looks like it", []string{`"aa`, `ab"`, `"aab`, `c"`}, `"aaab""aabc"`},
		{"ends like it", []string{`x"aab`}, `x"aab`},
		{"nothing", nil, ``},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			to := httptest.NewRecorder()
			s := &splicer{ResponseWriter: to, token: []byte(token), id: []byte("7")}
			for _, w := range c.writes {
				s.Write([]byte(w))
			}
			s.finish()
			if diff := cmp.Diff(c.want, to.Body.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func FuzzSplicer(f *testing.F) {
	f.Add([]byte(`{"id":"tok"}`), []byte(`"tok"`), []byte("1e3"), uint64(1))
	f.Add([]byte("aaaaaa"), []byte("aa"), []byte(""), uint64(2))
	f.Fuzz(func(t *testing.T, text, token, id []byte, seed uint64) {
		if len(token) == 0 {
			t.Skip("no token")
		}
		to := httptest.NewRecorder()
		s := &splicer{ResponseWriter: to, token: token, id: id}
		random := rand.New(rand.NewPCG(seed, 0))
		for rest := text; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			s.Write(rest[:n])
			rest = rest[n:]
		}
		s.finish()
		if want := bytes.ReplaceAll(text, token, id); !bytes.Equal(to.Body.Bytes(), want) {
			t.Errorf("got %q, want %q", to.Body.Bytes(), want)
		}
	})
}
