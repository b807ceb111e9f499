package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/spill/bucket"
	"github.com/proxy-dispatch/proxy-dispatch/spill/fault"
	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
	"github.com/proxy-dispatch/proxy-dispatch/tests/s3"
)

// watched puts a proxy before the server of o, which shows every request to see; true answers it.
func watched(t *testing.T, o bucket.Options, see func(http.ResponseWriter, *http.Request) bool) bucket.Options {
	target, err := url.Parse(o.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !see(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	o.Endpoint = s.URL
	return o
}

func put(t *testing.T, s store.Store, name string, data []byte) {
	t.Helper()
	w, err := s.Create(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	return data
}

func TestReadAhead(t *testing.T) {
	want := pattern(10_000_000)
	var requests atomic.Int64
	o := watched(t, options(t, s3.Start(t)), func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			requests.Add(1)
		}
		return false
	})
	b := open(t, o)
	put(t, b, "a", want)
	read := func(t *testing.T, blob store.Blob, from, to, step int) {
		for at := from; at < to; at += step {
			buf := make([]byte, min(step, to-at))
			if n, err := blob.ReadAt(buf, int64(at)); n != len(buf) || err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("ReadAt(%d bytes, %d) = %d, %v", len(buf), at, n, err)
				return
			} else if !bytes.Equal(buf, want[at:at+n]) {
				t.Errorf("ReadAt(%d bytes, %d) gives other bytes", len(buf), at)
				return
			}
		}
	}
	for _, test := range []struct {
		name string
		read func(t *testing.T, blob store.Blob)
		most int64
	}{
		{"from the beginning to the end", func(t *testing.T, blob store.Blob) { read(t, blob, 0, len(want), 64<<10) }, 7},
		{"all at once", func(t *testing.T, blob store.Blob) { read(t, blob, 0, len(want), len(want)) }, 2},
		{"one block", func(t *testing.T, blob store.Blob) { read(t, blob, 5_000_000, 5_000_100, 100) }, 2},
		{"backwards", func(t *testing.T, blob store.Blob) {
			for at := 8_000_000; at >= 4_000_000; at -= 1_000_000 {
				read(t, blob, at, at+64<<10, 64<<10)
			}
		}, 6},
		{"four readers", func(t *testing.T, blob store.Blob) {
			var group sync.WaitGroup
			for i := range 4 {
				group.Go(func() { read(t, blob, i*2_500_000, (i+1)*2_500_000, 64<<10) })
			}
			group.Wait()
		}, 24},
	} {
		t.Run(test.name, func(t *testing.T) {
			requests.Store(0)
			blob, err := b.Open(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			defer blob.Close()
			test.read(t, blob)
			if n := requests.Load(); n > test.most {
				t.Errorf("%d requests, want at most %d", n, test.most)
			}
		})
	}
}

// unfinished lists what the server keeps of uploads without an end.
func unfinished(t *testing.T, s s3.Server, o bucket.Options) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(s.Dir, o.Name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAbort(t *testing.T) {
	server := s3.Start(t)
	for _, test := range []struct {
		name string
		end  func(t *testing.T, w store.Writer, cancel func())
	}{
		{"aborted", func(_ *testing.T, w store.Writer, _ func()) { w.Abort() }},
		{"context ended before Close", func(t *testing.T, w store.Writer, cancel func()) {
			cancel()
			if err := w.Close(); !errors.Is(err, context.Canceled) {
				t.Errorf("Close: %v, want Canceled", err)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options(t, server)
			o.PartSize = 5 << 20
			b := open(t, o)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w, err := b.Create(ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(pattern(17 << 20)); err != nil {
				t.Fatal(err)
			}
			test.end(t, w, cancel)
			if list, err := b.List(t.Context()); len(list) > 0 || err != nil {
				t.Errorf("List = %v, %v, want none", list, err)
			}
			if left := unfinished(t, server, o); len(left) > 0 {
				t.Errorf("the server still holds %v", left)
			}
		})
	}
}

func TestTidy(t *testing.T) {
	server := s3.Start(t)
	var dead atomic.Bool // the process that wrote
	first := options(t, server)
	first.PartSize = 5 << 20
	o := watched(t, first, func(w http.ResponseWriter, _ *http.Request) bool {
		if dead.Load() {
			http.Error(w, "", http.StatusForbidden)
		}
		return dead.Load()
	})
	w, err := open(t, o).Create(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(pattern(11 << 20)); err != nil {
		t.Fatal(err)
	}
	dead.Store(true)
	w.Abort()
	b := open(t, first)
	put(t, b, "b", nil)
	for _, test := range []struct {
		name   string
		before time.Time
		stays  bool
	}{
		{"too young", time.Now().Add(-time.Hour), true},
		{"old enough", time.Now().Add(time.Hour), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := b.Tidy(t.Context(), test.before); err != nil {
				t.Fatal(err)
			}
			if left := unfinished(t, server, first); len(left) == 0 || (len(left) > 1) != test.stays { // b is always there
				t.Errorf("the server holds %v", left)
			}
		})
	}
}

func TestTroubles(t *testing.T) {
	server := s3.Start(t)
	answer := func(status int, code string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>no</Message></Error>")
			return true
		}
	}
	for _, test := range []struct {
		name   string
		see    func(http.ResponseWriter, *http.Request) bool
		change func(*bucket.Options)
		open   error // what Open must be, nil: any error
		close  error
	}{
		{"no such bucket", nil, func(o *bucket.Options) { o.Name = "none" }, nil, nil},
		{"wrong secret", nil, func(o *bucket.Options) { o.SecretKey = "WRONG-SECRET" }, nil, nil},
		{"nobody", nil, func(o *bucket.Options) { o.AccessKey, o.SecretKey = "", "" }, nil, nil},
		{"full", answer(http.StatusInsufficientStorage, "XMinioStorageFull"), nil, fault.ErrNoSpace, fault.ErrNoSpace},
		{"over its quota", answer(http.StatusForbidden, "QuotaExceeded"), nil, fault.ErrNoSpace, fault.ErrNoSpace},
		{"no S3", func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusTeapot)
			return true
		}, nil, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options(t, server)
			if test.see != nil {
				o = watched(t, o, test.see)
			}
			if test.change != nil {
				test.change(&o)
			}
			b := open(t, o)
			_, err := b.Open(t.Context(), "a")
			if err == nil || test.open != nil && !errors.Is(err, test.open) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Open: %v, want %v", err, test.open)
			}
			w, err := b.Create(t.Context(), "a")
			if err == nil {
				err = w.Close()
			}
			if err == nil || test.close != nil && !errors.Is(err, test.close) || errors.Is(err, fs.ErrExist) {
				t.Errorf("Create and Close: %v, want %v", err, test.close)
			}
			if _, err := b.List(t.Context()); err == nil || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("List: %v, want an error without secrets", err)
			}
		})
	}
}

func TestCutAnswer(t *testing.T) {
	var cut atomic.Bool
	o := watched(t, options(t, s3.Start(t)), func(w http.ResponseWriter, r *http.Request) bool {
		if !cut.Load() || r.Method != http.MethodGet {
			return false
		}
		w.Header().Set("Content-Length", "100")
		w.Header().Set("Content-Range", "bytes 0-99/100")
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2026 15:04:05 GMT")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.WriteString(w, "half")
		return true
	})
	b := open(t, o)
	put(t, b, "a", pattern(100))
	cut.Store(true)
	if _, err := b.Open(t.Context(), "a"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Open: %v, want ErrUnexpectedEOF", err)
	}
}

func TestOptions(t *testing.T) {
	good := bucket.Options{Name: "b", AccessKey: "a", SecretKey: "s"}
	for _, test := range []struct {
		name   string
		change func(*bucket.Options)
		ok     bool
	}{
		{"the least", func(*bucket.Options) {}, true},
		{"no credentials", func(o *bucket.Options) { o.AccessKey, o.SecretKey = "", "" }, true},
		{"a prefix of two", func(o *bucket.Options) { o.Prefix = "/team/spills/" }, true},
		{"a port", func(o *bucket.Options) { o.Endpoint = "http://[::1]:9000/" }, true},
		{"no name", func(o *bucket.Options) { o.Name = "" }, false},
		{"a name with a slash", func(o *bucket.Options) { o.Name = "a/b" }, false},
		{"half of the credentials", func(o *bucket.Options) { o.SecretKey = "" }, false},
		{"no scheme", func(o *bucket.Options) { o.Endpoint = "minio:9000" }, false},
		{"credentials in the endpoint", func(o *bucket.Options) { o.Endpoint = "https://u:PASSWORD@h" }, false},
		{"a broken endpoint", func(o *bucket.Options) { o.Endpoint = "https://u:PASSWORD@h:\x01" }, false},
		{"a path in the endpoint", func(o *bucket.Options) { o.Endpoint = "https://h/bucket" }, false},
		{"a prefix that climbs", func(o *bucket.Options) { o.Prefix = "a/../b" }, false},
		{"a prefix of slashes", func(o *bucket.Options) { o.Prefix = "//" }, false},
		{"small parts", func(o *bucket.Options) { o.PartSize = 1 << 20 }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := good
			test.change(&o)
			_, err := bucket.Open(o)
			if (err == nil) != test.ok {
				t.Errorf("Open: %v, want ok %t", err, test.ok)
			}
			if err != nil && strings.Contains(err.Error(), "PASSWORD") {
				t.Errorf("Open tells the password: %v", err)
			}
		})
	}
}

// TestExpire talks to a service that remembers the rules of a bucket and knows nothing else.
func TestExpire(t *testing.T) {
	rules, writes := "", 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut:
			data, _ := io.ReadAll(r.Body)
			rules, writes = string(data), writes+1
		case rules == "":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<Error><Code>NoSuchLifecycleConfiguration</Code></Error>")
		default:
			_, _ = io.WriteString(w, rules)
		}
	}))
	defer service.Close()
	b := open(t, bucket.Options{Name: "b-1", Endpoint: service.URL, PathStyle: true})
	expire := func(ttl time.Duration, wantDays string, wantWrites int) {
		t.Helper()
		if err := b.Expire(t.Context(), ttl); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(rules, "<Days>"+wantDays+"</Days>") || writes != wantWrites {
			t.Errorf("%d writes, want %d with %s days: %s", writes, wantWrites, wantDays, rules)
		}
		if n := strings.Count(rules, "<ID>expire proxy-dispatch/</ID>"); n != 1 || !strings.Contains(rules, "<Prefix>proxy-dispatch/</Prefix>") {
			t.Errorf("%d rules of ours: %s", n, rules)
		}
	}
	expire(2*time.Hour, "1", 1)
	expire(24*time.Hour, "1", 1) // nothing to change
	rules = strings.Replace(rules, "<Rule>", "<Rule><ID>theirs</ID><Status>Enabled</Status><Filter><Prefix>x</Prefix></Filter><Expiration><Days>9</Days></Expiration></Rule><Rule>", 1)
	expire(25*time.Hour, "2", 2)
	if !strings.Contains(rules, "<ID>theirs</ID>") {
		t.Errorf("a rule of others is gone: %s", rules)
	}
}

// TestKeys shows where objects are, and that others' stay unseen.
func TestKeys(t *testing.T) {
	server := s3.Start(t)
	o := options(t, server)
	o.Prefix = "team/spills"
	b := open(t, o)
	put(t, b, "a.json", []byte("1"))
	for _, other := range []string{"b", "team/c", "team/spills/sub/d", "team/spills/E"} {
		path := filepath.Join(server.Dir, o.Name, filepath.FromSlash(other))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range list {
		names = append(names, i.Name)
	}
	if diff := cmp.Diff([]string{"a.json"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(server.Dir, o.Name, "team", "spills", "a.json")); err != nil {
		t.Error(err)
	}
}
