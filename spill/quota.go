package spill

import (
	"context"
	"fmt"
	"time"
)

// reserve puts bytes and files on the account, removing the results that were not used for the longest
// time to make room. One in use is never removed.
func (s *Shelf) reserve(bytes int64, files int) error {
	s.mu.Lock()
	var victims []*entry
	fits := func() bool {
		return s.bytes+bytes <= s.o.QuotaBytes && s.files+files <= s.o.QuotaFiles
	}
	for !s.o.Keep && !fits() {
		oldest := s.oldest()
		if oldest == nil {
			break
		}
		s.drop(oldest)
		victims = append(victims, oldest)
	}
	ok := s.o.Keep || fits()
	if ok {
		s.bytes += bytes
		s.files += files
	}
	s.mu.Unlock()
	for _, v := range victims {
		s.bury(v)
	}
	if !ok {
		return fmt.Errorf("%w: the quota of %d bytes and %d files is in use", ErrNoSpace, s.o.QuotaBytes, s.o.QuotaFiles)
	}
	return nil
}

func (s *Shelf) giveBack(bytes int64, files int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= bytes
	s.files -= files
}

// oldest returns the entry to go first, nil if all are in use. The lock is held.
func (s *Shelf) oldest() *entry {
	var found *entry
	for _, e := range s.entries {
		if e.pins == 0 && (found == nil || e.used.Before(found.used)) {
			found = e
		}
	}
	return found
}

// drop takes an entry off the shelf; its objects are still to be removed. The lock is held.
func (s *Shelf) drop(e *entry) {
	e.removed = true
	delete(s.entries, e.Artifact.ID)
	delete(s.handles, e.Artifact.Handle)
	if s.sums[e.sum] == e {
		delete(s.sums, e.sum)
	}
	s.bytes -= e.bytes
	s.files -= len(e.objects)
	s.gone.add(e)
}

func (s *Shelf) bury(e *entry) {
	if err := s.removeObjects(e.objects); err != nil {
		s.o.Log.Warn("spilled result cannot be removed", "id", e.Artifact.ID, "error", err)
	}
}

func (s *Shelf) removeObjects(names []string) error {
	var failed error
	for i := len(names) - 1; i >= 0; i-- { // the manifest, written last, goes first
		if err := s.store.Remove(context.Background(), names[i]); err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}

// removeExpired removes what was not used for the TTL.
func (s *Shelf) removeExpired() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.work.Add(1)
	defer s.work.Done()
	now := s.o.Now()
	var victims []*entry
	for _, e := range s.entries {
		if e.pins == 0 && s.expired(e, now) {
			s.drop(e)
			victims = append(victims, e)
		}
	}
	s.mu.Unlock()
	if s.shared() {
		return // another process may be reading them: sweep comes later
	}
	for _, v := range victims {
		s.bury(v)
	}
}

func (s *Shelf) expired(e *entry, now time.Time) bool { return !now.Before(s.end(e)) }

// end is when the life of an entry ends, if nobody uses it.
func (s *Shelf) end(e *entry) time.Time {
	if s.shared() {
		return e.Artifact.Created.Add(s.o.TTL)
	}
	return e.used.Add(s.o.TTL)
}

// graves remembers who owned the results removed last, to tell "expired" from "never was".
type graves struct {
	owners map[string]Owner // by handle and long id
	order  []string
}

const maxGraves = 10000

func (g *graves) add(e *entry) {
	if g.owners == nil {
		g.owners = map[string]Owner{}
	}
	for _, name := range []string{e.Artifact.ID, e.Artifact.Handle} {
		if _, known := g.owners[name]; known {
			continue
		}
		g.owners[name] = e.Owner
		g.order = append(g.order, name)
	}
	for len(g.order) > maxGraves {
		delete(g.owners, g.order[0])
		g.order = g.order[1:]
	}
}
