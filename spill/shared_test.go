package spill

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
)

// counted counts what is asked of a store.
type counted struct {
	store.Store
	mu          sync.Mutex
	lists, gets int
}

func (c *counted) List(ctx context.Context) ([]store.Info, error) {
	c.mu.Lock()
	c.lists++
	c.mu.Unlock()
	return c.Store.List(ctx)
}

func (c *counted) Open(ctx context.Context, name string) (store.Blob, error) {
	c.mu.Lock()
	c.gets++
	c.mu.Unlock()
	return c.Store.Open(ctx, name)
}

func openShared(t *testing.T, kept store.Store, now func() time.Time) *Shelf {
	t.Helper()
	s, err := Open(Options{Store: kept, Keep: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func localStore(t *testing.T) *store.Local {
	t.Helper()
	l, err := store.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

const sharedResult = `{"content":[{"type":"text","text":"first"},{"type":"text","text":"second"},{"type":"image","mimeType":"image/png","data":"aGVsbG8="}],"structuredContent":{"n":12345678901234567890}}`

// TestShared has two processes with one store: each answers for what the other made.
func TestShared(t *testing.T) {
	store := localStore(t)
	one, two := openShared(t, store, nil), openShared(t, store, nil)
	made, err := one.Put(t.Context(), Owner{Principal: "ann", Session: "session of one"}, Sources{{Server: "s", Tool: "t"}}, json.RawMessage(sharedResult))
	if err != nil {
		t.Fatal(err)
	}
	if made.Handle != made.ID || made.Path != "" {
		t.Errorf("handle %s and path %q, want the long id and none", made.Handle, made.Path)
	}
	for _, test := range []struct {
		name  string
		owner Owner
		ask   string
		want  string // the data
		err   error
	}{
		{"long id", Owner{Principal: "ann", Session: "session of two"}, made.ID, `{"n":12345678901234567890}`, nil},
		{"as a resource", Owner{Principal: "ann", Session: ""}, made.URI(), `{"n":12345678901234567890}`, nil},
		{"a part", Owner{Principal: "ann", Session: ""}, made.ID + "#2", `"second"`, nil},
		{"the raw result", Owner{Principal: "ann", Session: ""}, made.ID + "#raw", sharedResult, nil},
		{"somebody else", Owner{Principal: "bob", Session: "session of one"}, made.ID, "", ErrNotFound},
		{"nobody", Owner{}, made.ID, "", ErrNotFound},
		{"never made", Owner{Principal: "ann", Session: ""}, strings.Repeat("a", 26), "", ErrNotFound},
		{"a short handle", Owner{Principal: "ann", Session: ""}, "r1abcd", "", ErrNotFound},
		{"the name of a manifest", Owner{Principal: "ann", Session: ""}, made.ID + ".meta", "", ErrNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, part, err := two.Find(t.Context(), test.owner, test.ask)
			if !errors.Is(err, test.err) {
				t.Fatalf("Find: %v, want %v", err, test.err)
			}
			if err != nil {
				return
			}
			value, err := two.Value(t.Context(), a, part, "")
			if got := compact(t, value); err != nil || got != compact(t, []byte(test.want)) {
				t.Errorf("Value = %s, %v, want %s", got, err, test.want)
			}
		})
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	three := openShared(t, store, nil)
	if _, _, err := three.Find(t.Context(), Owner{Principal: "ann", Session: ""}, made.ID); err != nil {
		t.Errorf("after its maker ended: %v", err)
	}
}

func compact(t *testing.T, data []byte) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		out.WriteString(strings.TrimSpace(line))
	}
	return strings.ReplaceAll(strings.ReplaceAll(out.String(), `": `, `":`), ", ", ",")
}

// TestSharedAsksLittle: a bucket is paid by the request.
func TestSharedAsksLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Store: localStore(t)}
		one, two := openShared(t, store, nil), openShared(t, store, nil)
		made, err := one.PutData(t.Context(), ann, nil, []byte(`{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, _, err := two.Find(t.Context(), ann, made.ID); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if store.lists != 2 || store.gets != 1 { // each looks for old results once
			t.Errorf("%d lists and %d reads, want 2 and 1", store.lists, store.gets)
		}
		_, _ = one.Close(), two.Close()
	})
}

// TestSharedExpiry: time alone decides, use changes nothing, and what is not ours stays.
func TestSharedExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := localStore(t)
		w, err := store.Create(t.Context(), "precious.json")
		if err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		base := time.Now()
		clock := func() time.Time { return realNow(store).Add(time.Since(base)) } // files have the time of the system
		one, two := openShared(t, store, clock), openShared(t, store, clock)
		made, err := one.PutData(t.Context(), ann, nil, []byte(`{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(119 * time.Minute)
		a, _, err := two.Find(t.Context(), ann, made.ID)
		if err != nil || a.Expires.Sub(a.Created) != 2*time.Hour {
			t.Fatalf("Find = %v, %v, want a life of 2h", a, err)
		}
		time.Sleep(2 * time.Minute)
		for _, s := range []*Shelf{one, two} {
			if _, _, err := s.Find(t.Context(), ann, made.ID); !errors.Is(err, ErrExpired) {
				t.Errorf("Find after 2h: %v, want ErrExpired", err)
			}
		}
		if n := count(t, store); n != 3 {
			t.Errorf("%d objects, want 3: somebody may be reading still", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := count(t, store); n != 1 {
			t.Errorf("%d objects, want only the one that is not ours", n)
		}
		_, _ = one.Close(), two.Close()
	})
}

// TestSharedUnreachable: a store that does not answer is no result that is not there.
func TestSharedUnreachable(t *testing.T) {
	store := localStore(t)
	s := openShared(t, store, nil)
	_ = store.Close()
	if _, _, err := s.Find(t.Context(), ann, strings.Repeat("a", 26)); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("Find: %v, want an error of the store", err)
	}
}

func count(t *testing.T, s store.Store) int {
	t.Helper()
	list, err := s.List(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// realNow is the time of the file system: that of a file made for it.
func realNow(l *store.Local) time.Time {
	info, err := os.Stat(l.Path("precious.json"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
