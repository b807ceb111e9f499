package spill

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
)

// Shelf holds the results of one process. It is safe for concurrent use.
type Shelf struct {
	o       Options
	store   store.Store
	local   *store.Local  // the store, if it is a folder
	folder  *store.Folder // the process's own, nil with Keep or a given store
	letters string        // last letters of all handles of this process
	stop    context.CancelFunc
	work    sync.WaitGroup // the janitor, and operations under way
	narrow  chan struct{}  // who may hold a whole payload in memory
	foreign foreignFiles

	mu      sync.Mutex
	closed  bool
	entries map[string]*entry // by long id
	handles map[string]*entry
	sums    map[contentSum]*entry
	gone    graves
	counter int
	all     usage            // of all entries, and reserved
	own     map[string]usage // the same by principal
}

// entry is a kept result. Its manifest does not change; the rest is guarded by the shelf's lock.
type entry struct {
	manifest
	objects []string
	bytes   int64 // on the shelf's account
	used    time.Time
	pins    int
	removed bool
	sum     contentSum // zero: not known
	making  sync.Mutex // one part at a time is taken out of the raw result
}

// manifest is all that is known of a result, in the form in which a kept folder stores it.
type manifest struct {
	Artifact Artifact
	Table    string
	Field    string
	Question string
	Owner    Owner
	Contents map[Part]content
	Blocks   []blockSpans // in the raw result
	Pieces   []piece
	Rest     []byte // own bytes of the raw result, if they are few
	RestName string // else the object that holds them
}

type blockSpans struct{ All, Text [2]int }

// content is a stored object that can be read.
type content struct {
	Name     string
	JSON     bool
	Binary   bool
	MimeType string
	Index    *byline.Index // nil for binary data
	Size     int64
}

// errClosed: the shelf is closed.
var errClosed = errors.New("shelf is closed")

// Open returns a shelf. A process folder is made (and those of dead processes removed) unless Keep or
// Store say where the results are; it waits for no Store. Close it after use.
func Open(o Options) (*Shelf, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Shelf{
		o: o, store: o.Store, entries: map[string]*entry{}, handles: map[string]*entry{}, sums: map[contentSum]*entry{}, own: map[string]usage{},
		letters: randomLetters(2), narrow: make(chan struct{}, 2),
	}
	if s.store == nil {
		if err := s.openFolder(); err != nil {
			return nil, err
		}
	}
	if o.Keep && !s.shared() {
		s.letters = randomLetters(4) // several processes give handles here
		if err := s.load(context.Background()); err != nil {
			return nil, s.closeStore(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.work.Go(func() { s.janitor(ctx) })
	return s, nil
}

func (s *Shelf) openFolder() (err error) {
	dir := s.o.Dir
	if s.o.Keep {
		if dir == "" {
			if dir, err = store.BaseDir(""); err != nil {
				return err
			}
			dir = filepath.Join(dir, "keep")
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make spill folder: %w", err)
		}
	} else {
		if s.folder, err = store.NewFolder(dir, s.o.Log); err != nil {
			return err
		}
		dir = s.folder.Path
	}
	if s.local, err = store.OpenLocal(dir); err != nil {
		if s.folder != nil {
			_ = s.folder.Remove()
		}
		return err
	}
	s.store = s.local
	return nil
}

// Close waits for what is under way and removes everything, unless Keep. Later calls do nothing.
func (s *Shelf) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.work.Wait()
	if s.o.Keep {
		return s.closeStore(nil)
	}
	var err error
	if s.folder == nil {
		for _, e := range s.entries {
			err = errors.Join(err, s.removeObjects(e.objects))
		}
	}
	return s.closeStore(err)
}

func (s *Shelf) closeStore(err error) error {
	if s.local != nil {
		err = errors.Join(err, s.local.Close())
	}
	if s.folder != nil {
		err = errors.Join(err, s.folder.Remove())
	}
	return err
}

// Stats says what the shelf holds.
func (s *Shelf) Stats() Stats {
	s.removeExpired()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Files: s.all.files, Bytes: s.all.bytes, QuotaBytes: s.o.QuotaBytes}
}

// begin counts an operation, so that Close waits for it.
func (s *Shelf) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.work.Add(1)
	return nil
}

func (s *Shelf) janitor(ctx context.Context) {
	var swept time.Time
	if s.shared() {
		swept = s.o.Now()
		s.sweep(ctx)
	}
	ticker := time.NewTicker(min(max(s.o.TTL/8, time.Second), time.Minute))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.removeExpired()
			if s.shared() && s.o.Now().Sub(swept) >= s.grace() {
				swept = s.o.Now()
				s.sweep(ctx)
			}
		}
	}
}

// use pins an entry and restarts its life; release ends that.
func (s *Shelf) use(e *entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if e.removed {
		return fmt.Errorf("%s: %w", e.Artifact.Handle, ErrExpired)
	}
	e.pins++
	e.used = s.o.Now()
	s.work.Add(1)
	return nil
}

func (s *Shelf) release(e *entry) {
	s.mu.Lock()
	e.pins--
	e.used = s.o.Now()
	s.mu.Unlock()
	s.work.Done()
}

// snapshot is the artifact of an entry as of now. The shelf's lock is held.
func (s *Shelf) snapshot(e *entry) *Artifact {
	a := e.Artifact
	a.Expires = s.end(e)
	a.entry, a.table, a.field, a.question = e, e.Table, e.Field, e.Question
	a.count = s.o.Tokens.Count
	return &a
}

// randomLetters avoids letters that look like others.
func randomLetters(n int) string {
	const letters = "abcdefghjkmnpqrstuvwxyz"
	out := make([]byte, 0, n)
	for len(out) < n {
		var b [1]byte
		_, _ = rand.Read(b[:]) // never fails
		if int(b[0]) < 256/len(letters)*len(letters) {
			out = append(out, letters[int(b[0])%len(letters)])
		}
	}
	return string(out)
}

func randomID() string { return strings.ToLower(rand.Text()) }

// output is an object being written, on the account of a draft.
type output struct {
	draft *draft
	w     store.Writer
	index *byline.Index // nil: not wanted
	size  int64
}

func (o *output) Write(p []byte) (int, error) {
	if err := o.draft.afford(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := o.w.Write(p)
	o.size += int64(n)
	if err != nil {
		return n, err
	}
	if o.index != nil {
		return o.index.Write(p)
	}
	return n, nil
}

var _ io.Writer = (*output)(nil)
