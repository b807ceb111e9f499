package embeddings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// endpoint is a small embeddings API: the vector of a text is its length and how many a it has.
type endpoint struct {
	mu     sync.Mutex
	asked  []string // texts
	path   string
	key    string
	answer func(w http.ResponseWriter, q question) bool // true: it has answered
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q question
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, q.Input...)
	e.path, e.key = r.URL.Path, r.Header.Get("Authorization")
	if e.answer != nil && e.answer(w, q) {
		return
	}
	var parts []string
	for i := len(q.Input) - 1; i >= 0; i-- { // in no order
		parts = append(parts, fmt.Sprintf(`{"index":%d,"embedding":[%d,%d]}`, i, len(q.Input[i]), strings.Count(q.Input[i], "a")))
	}
	fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(parts, ","))
}

func client(t *testing.T, e *endpoint, o Options) *Client {
	t.Helper()
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	o.URL, o.Model = srv.URL+o.URL, "m"
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestVectors(t *testing.T) {
	for _, tc := range []struct{ name, path, want string }{
		{"host alone", "", "/v1/embeddings"},
		{"version", "/v1/", "/v1/embeddings"},
		{"whole", "/api/embeddings", "/api/embeddings"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := &endpoint{}
			c := client(t, e, Options{URL: tc.path, APIKey: "sesame"})
			got, err := c.Documents(context.Background(), []string{"banana", "fig"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][]float32{{6, 3}, {3, 0}}, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if e.path != tc.want || e.key != "Bearer sesame" {
				t.Errorf("asked %s with %q", e.path, e.key)
			}
		})
	}
}

func TestKeptOnDisk(t *testing.T) {
	e, dir := &endpoint{}, t.TempDir()
	var texts []string
	for i := range maxBatch + 10 {
		texts = append(texts, strings.Repeat("a", i+1))
	}
	c := client(t, e, Options{Dir: dir})
	first, err := c.Documents(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	e.asked = nil
	again, err := c.Documents(context.Background(), append(texts, "new"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"new"}, e.asked); diff != "" {
		t.Errorf("asked again: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(first, again[:len(texts)]); diff != "" {
		t.Errorf("other vectors: -want +got\n%s", diff)
	}
	if _, err := c.Query(context.Background(), "question"); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(files) != 3 {
		t.Errorf("%d files, want one a batch", len(files))
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
		if err := os.Truncate(f, 50); err != nil {
			t.Fatal(err)
		}
	}
	e.asked = nil
	if _, err := c.Documents(context.Background(), texts); err != nil || len(e.asked) < len(texts)-3 {
		t.Errorf("damaged files: asked for %d, %v", len(e.asked), err)
	}
}

func TestBadAnswers(t *testing.T) {
	say := func(body string) func(http.ResponseWriter, question) bool {
		return func(w http.ResponseWriter, _ question) bool { fmt.Fprint(w, body); return true }
	}
	for name, answer := range map[string]func(http.ResponseWriter, question) bool{
		"status":      func(w http.ResponseWriter, _ question) bool { w.WriteHeader(401); return true },
		"no JSON":     say("hello"),
		"too few":     say(`{"data":[{"index":0,"embedding":[1]}]}`),
		"twice":       say(`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`),
		"far index":   say(`{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`),
		"two lengths": say(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`),
		"empty":       say(`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := client(t, &endpoint{answer: answer}, Options{Dir: dir, APIKey: "sesame"})
			_, err := c.Documents(context.Background(), []string{"a", "b"})
			if !errors.Is(err, ErrAnswer) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("got %v", err)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(files) > 0 {
				t.Errorf("kept %v", files)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	c, err := New(Options{URL: "http://user:sesame@127.0.0.1:1/v1?key=sesame", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Query(context.Background(), "x"); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("got %v", err)
	}
	for _, o := range []Options{{URL: "http://h"}, {Model: "m"}, {URL: "ftp://h", Model: "m"}, {URL: "h:1", Model: "m"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00" + strings.Repeat("k", 32) + "12345678"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		eachRecord(data, func(_ key, numbers []byte) {
			if len(numbers)%4 != 0 {
				t.Fatal("a vector that is cut")
			}
		})
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		vs, err := read(data, 2)
		if err == nil && (len(vs) != 2 || len(vs[0]) == 0 || len(vs[0]) != len(vs[1])) {
			t.Fatalf("got %v", vs)
		}
	})
}
