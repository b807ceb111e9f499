package spill

import (
	"context"
	"fmt"
	"time"
)

// usage is what somebody's results take.
type usage struct {
	bytes int64
	files int
}

func (u usage) within(bytes int64, files int) bool { return u.bytes <= bytes && u.files <= files }

// allowance is the most a principal may keep.
func (s *Shelf) allowance(principal string) (bytes int64, files int) {
	if s.o.Allowance != nil {
		bytes, files = s.o.Allowance(principal)
	}
	if bytes <= 0 {
		bytes = s.o.PrincipalBytes
	}
	if files <= 0 {
		files = s.o.PrincipalFiles
	}
	return min(bytes, s.o.QuotaBytes), min(files, s.o.QuotaFiles)
}

// charge changes the accounts of a principal and of all. The lock is held.
func (s *Shelf) charge(principal string, bytes int64, files int) {
	s.all.bytes += bytes
	s.all.files += files
	u := s.own[principal]
	u.bytes += bytes
	u.files += files
	if s.own[principal] = u; u == (usage{}) {
		delete(s.own, principal)
	}
}

// reserve puts bytes and files on the account of a principal, removing the results that were not used for the longest
// time to make room: the principal's own where it has too much, else anybody's. One in use is never removed.
func (s *Shelf) reserve(principal string, bytes int64, files int) error {
	mostBytes, mostFiles := s.allowance(principal)
	s.mu.Lock()
	var victims []*entry
	s.charge(principal, bytes, files)
	fits := s.o.Keep
	for !fits {
		own := s.own[principal].within(mostBytes, mostFiles)
		if fits = own && s.all.within(s.o.QuotaBytes, s.o.QuotaFiles); fits {
			break
		}
		oldest := s.oldest(func(e *entry) bool { return own || e.Owner.Principal == principal })
		if oldest == nil {
			break
		}
		s.drop(oldest)
		victims = append(victims, oldest)
	}
	if !fits {
		s.charge(principal, -bytes, -files)
	}
	s.mu.Unlock()
	for _, v := range victims {
		s.bury(v)
	}
	if !fits {
		return fmt.Errorf("%w: the quota of %d bytes and %d files is in use", ErrNoSpace, mostBytes, mostFiles)
	}
	return nil
}

func (s *Shelf) giveBack(principal string, bytes int64, files int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.charge(principal, -bytes, -files)
}

// oldest returns the entry to go first of those that may, nil if all are in use. The lock is held.
func (s *Shelf) oldest(may func(*entry) bool) *entry {
	var found *entry
	for _, e := range s.entries {
		if e.pins == 0 && may(e) && (found == nil || e.used.Before(found.used)) {
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
	s.charge(e.Owner.Principal, -e.bytes, -len(e.objects))
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
