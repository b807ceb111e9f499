package spill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// A store given with Keep, a bucket, is shared by processes that run at once, so that any of them answers
// for the results of all. It is not read through as a kept folder is: a result is looked up by its long id.
// That is also its handle, as a short one would be known to one process only, and it opens the result in
// any session of the principal, as sessions are of one process too. No process sees what others
// use: a result lives for the TTL from its making on, and its objects a little longer, for who reads then.

func (s *Shelf) shared() bool { return s.o.Keep && s.o.Store != nil }

// scope is what of an owner stands for it on this shelf.
func (s *Shelf) scope(o Owner) Owner {
	if s.shared() {
		o.Session = ""
	}
	return o
}

// grace is how long the objects of a result stay after its life.
func (s *Shelf) grace() time.Duration { return s.o.TTL / 8 }

// fetch takes up the result of another process, if there is one of that id.
func (s *Shelf) fetch(ctx context.Context, id string) error {
	if !idForm.MatchString(id) {
		return nil
	}
	e, err := s.readEntry(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up result %s: %w", id, err)
	}
	e.used = e.Artifact.Created
	sizes := map[string]int64{}
	for _, c := range e.Contents {
		sizes[c.Name] = c.Size
	}
	for name, size := range sizes {
		e.objects = append(e.objects, name)
		e.bytes += size
	}
	if s.expired(e, s.o.Now()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gone.add(e)
		return nil
	}
	s.takeUp(e)
	return nil
}

// sweep removes the objects of results whose time is over, whoever made them. What else is in the store
// is not ours.
func (s *Shelf) sweep(ctx context.Context) {
	list, err := s.store.List(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.o.Log.Warn("old spilled results are not looked for", "error", err)
		}
		return
	}
	over := s.o.Now().Add(-s.o.TTL - s.grace())
	for _, o := range list {
		id := o.Name[:strings.IndexAny(o.Name+".", ".-")]
		if !idForm.MatchString(id) || o.ModTime.After(over) {
			continue
		}
		if err := s.store.Remove(ctx, o.Name); err != nil {
			if ctx.Err() == nil {
				s.o.Log.Warn("old spilled object cannot be removed", "name", o.Name, "error", err)
			}
			return
		}
	}
}
