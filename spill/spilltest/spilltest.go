// Package spilltest holds what every store.Store must keep, as a test.
package spilltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
)

// Store tests the stores that open returns; each must be empty and is used by one test. What a store needs
// closed, open leaves to t.Cleanup.
func Store(t *testing.T, open func(t *testing.T) store.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s store.Store)
	}{
		{"round trip", roundTrip},
		{"ranges", ranges},
		{"unseen before close", unseen},
		{"abort", abort},
		{"name in use", inUse},
		{"absent", absent},
		{"names", names},
		{"list", list},
		{"remove", remove},
		{"ended context", ended},
		{"many at once", many},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func write(t *testing.T, s store.Store, name string, data []byte) {
	t.Helper()
	w, err := s.Create(t.Context(), name)
	if err != nil {
		t.Fatalf("Create(%s): %v", name, err)
	}
	defer w.Abort()
	for chunk := range slices.Chunk(data, 100_000) {
		if n, err := w.Write(chunk); n != len(chunk) || err != nil {
			t.Fatalf("Write = %d, %v, want %d", n, err, len(chunk))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func read(t *testing.T, s store.Store, name string) []byte {
	t.Helper()
	b, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatalf("Open(%s): %v", name, err)
	}
	defer b.Close()
	data, err := io.ReadAll(io.NewSectionReader(b, 0, b.Size()))
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return data
}

func content(size int) []byte {
	data := make([]byte, size)
	random := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

func listed(t *testing.T, s store.Store) []string {
	t.Helper()
	infos, err := s.List(t.Context())
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	var names []string
	for _, i := range infos {
		names = append(names, i.Name)
	}
	slices.Sort(names)
	return names
}

func roundTrip(t *testing.T, s store.Store) {
	for _, size := range []int{0, 1, 4096, 65536, 65537, 7_000_000} {
		name := fmt.Sprintf("object-%d.bin", size)
		want := content(size)
		write(t, s, name, want)
		if got := read(t, s, name); !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back as %d others", size, len(got))
		}
	}
}

func ranges(t *testing.T, s store.Store) {
	want := content(300_000)
	write(t, s, "a", want)
	b, err := s.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Size() != int64(len(want)) {
		t.Errorf("Size = %d, want %d", b.Size(), len(want))
	}
	for _, r := range []struct {
		at   int64
		size int
		want int
		err  error
	}{
		{0, 10, 10, nil}, {65530, 20, 20, nil}, {299_990, 10, 10, nil}, {100, 0, 0, nil},
		{299_990, 20, 10, io.EOF}, {300_000, 1, 0, io.EOF}, {900_000, 5, 0, io.EOF},
	} {
		buf := make([]byte, r.size)
		n, err := b.ReadAt(buf, r.at)
		atEnd := r.at+int64(r.size) == int64(len(want)) && err == io.EOF // allowed there
		if n != r.want || !errors.Is(err, r.err) && !atEnd {
			t.Errorf("ReadAt(%d bytes, %d) = %d, %v, want %d, %v", r.size, r.at, n, err, r.want, r.err)
		}
		if n > 0 && !bytes.Equal(buf[:n], want[r.at:r.at+int64(n)]) {
			t.Errorf("ReadAt(%d bytes, %d) gives other bytes", r.size, r.at)
		}
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			buf := make([]byte, 1000)
			at := int64(i * 30_000)
			if _, err := b.ReadAt(buf, at); err != nil || !bytes.Equal(buf, want[at:at+1000]) {
				t.Errorf("concurrent ReadAt(%d): %v", at, err)
			}
		})
	}
	group.Wait()
}

func unseen(t *testing.T, s store.Store) {
	w, err := s.Create(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(content(200_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of an unfinished object: %v, want ErrNotExist", err)
	}
	if names := listed(t, s); len(names) > 0 {
		t.Errorf("an unfinished object is listed: %v", names)
	}
}

func abort(t *testing.T, s store.Store) {
	w, err := s.Create(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	w.Abort()
	if names := listed(t, s); len(names) > 0 {
		t.Errorf("an aborted object is listed: %v", names)
	}
	write(t, s, "a", []byte("whole")) // the name is free again
	w, err = s.Create(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Abort() // too late
	if names := listed(t, s); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("List = %v, want a and b", names)
	}
}

func inUse(t *testing.T, s store.Store) {
	write(t, s, "a", []byte("first"))
	w, err := s.Create(t.Context(), "a")
	if err == nil {
		_, _ = w.Write([]byte("second"))
		err = w.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second object of the same name: %v, want ErrExist", err)
	}
	if got := read(t, s, "a"); string(got) != "first" {
		t.Errorf("the first object is now %q", got)
	}
}

func absent(t *testing.T, s store.Store) {
	if _, err := s.Open(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v, want ErrNotExist", err)
	}
	if err := s.Remove(t.Context(), "none"); err != nil {
		t.Errorf("Remove: %v, want nil", err)
	}
	if names := listed(t, s); len(names) > 0 {
		t.Errorf("List = %v, want none", names)
	}
}

func names(t *testing.T, s store.Store) {
	write(t, s, "a.b_c-1", nil)
	write(t, s, strings.Repeat("x", 128), nil)
	for _, name := range []string{"", ".", "..", "../a", "/a", "a/b", `a\b`, "A", "a b", "a\x00", "-a", ".a", "ä", "a\n", strings.Repeat("x", 129)} {
		if w, err := s.Create(t.Context(), name); err == nil {
			w.Abort()
			t.Errorf("Create(%q) works", name)
		}
		if b, err := s.Open(t.Context(), name); err == nil {
			_ = b.Close()
			t.Errorf("Open(%q) works", name)
		}
		if err := s.Remove(t.Context(), name); err == nil {
			t.Errorf("Remove(%q) works", name)
		}
	}
}

func list(t *testing.T, s store.Store) {
	before := time.Now().Add(-time.Hour)
	sizes := map[string]int64{"a": 0, "b": 10, "c": 70_000}
	for name, size := range sizes {
		write(t, s, name, content(int(size)))
	}
	infos, err := s.List(t.Context())
	if err != nil || len(infos) != len(sizes) {
		t.Fatalf("List = %v, %v, want %d objects", infos, err, len(sizes))
	}
	for _, i := range infos {
		if size, ok := sizes[i.Name]; !ok || size != i.Size {
			t.Errorf("%s has %d bytes, want %d", i.Name, i.Size, size)
		}
		if i.ModTime.Before(before) {
			t.Errorf("%s was changed at %v", i.Name, i.ModTime)
		}
	}
}

func remove(t *testing.T, s store.Store) {
	write(t, s, "a", []byte("x"))
	write(t, s, "ab", []byte("y"))
	if err := s.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a removed object: %v, want ErrNotExist", err)
	}
	if names := listed(t, s); !slices.Equal(names, []string{"ab"}) {
		t.Errorf("List = %v, want ab", names)
	}
}

func ended(t *testing.T, s store.Store) {
	write(t, s, "a", []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if w, err := s.Create(ctx, "b"); err == nil {
		w.Abort()
		t.Error("Create works")
	}
	if b, err := s.Open(ctx, "a"); err == nil {
		_ = b.Close()
		t.Error("Open works")
	}
	if _, err := s.List(ctx); err == nil {
		t.Error("List works")
	}
	if err := s.Remove(ctx, "a"); err == nil {
		t.Error("Remove works")
	}
}

func many(t *testing.T, s store.Store) {
	const n = 64
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			w, err := s.Create(t.Context(), fmt.Sprintf("object-%d", i))
			if err != nil {
				t.Errorf("Create: %v", err)
				return
			}
			defer w.Abort()
			for range 100 {
				if _, err := fmt.Fprintf(w, "%d ", i); err != nil {
					t.Errorf("Write: %v", err)
					return
				}
			}
			if err := w.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	group.Wait()
	for i := range n {
		if got, want := string(read(t, s, fmt.Sprintf("object-%d", i))), strings.Repeat(fmt.Sprintf("%d ", i), 100); got != want {
			t.Errorf("object %d is %.40q…", i, got)
		}
	}
}
