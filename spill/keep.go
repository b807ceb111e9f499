package spill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
)

// A kept folder is shared by processes that come and go; so is a bucket, see shared.go. What they know of a
// result stands in its manifest, written last: objects without one are a result half written, or half removed.

const (
	manifestSuffix = ".meta"
	maxManifest    = 64 << 20
)

// load takes up the results that other processes wrote, and removes what is older than the TTL.
func (s *Shelf) load(ctx context.Context) error {
	list, err := s.store.List(ctx)
	if err != nil {
		return fmt.Errorf("load results: %w", err)
	}
	now := s.o.Now()
	if s.local != nil {
		if err := s.local.DropUnfinished(now.Add(-s.o.TTL)); err != nil {
			s.o.Log.Warn("unfinished spilled objects cannot be removed", "error", err)
		}
	}
	sizes := make(map[string]int64, len(list))
	for _, o := range list {
		sizes[o.Name] = o.Size
	}
	for _, o := range list {
		id, whole := strings.CutSuffix(o.Name, manifestSuffix)
		switch {
		case now.Sub(o.ModTime) >= s.o.TTL:
			if err := s.store.Remove(ctx, o.Name); err != nil {
				s.o.Log.Warn("old spilled object cannot be removed", "name", o.Name, "error", err)
			}
		case whole && idForm.MatchString(id):
			if err := s.loadEntry(ctx, id, o, sizes); err != nil && !errors.Is(err, fs.ErrNotExist) {
				s.o.Log.Warn("manifest of a spilled result is ignored", "name", o.Name, "error", err)
			}
		}
	}
	return nil
}

func (s *Shelf) loadEntry(ctx context.Context, id string, o store.Info, sizes map[string]int64) error {
	s.mu.Lock()
	known := s.entries[id] != nil
	s.mu.Unlock()
	if known {
		return nil
	}
	e, err := s.readEntry(ctx, id)
	if err != nil {
		return err
	}
	e.used = o.ModTime
	for name, size := range sizes {
		if strings.HasPrefix(name, id) && name != o.Name {
			e.objects = append(e.objects, name)
			e.bytes += size
		}
	}
	e.objects = append(e.objects, o.Name)
	e.bytes += o.Size
	s.takeUp(e)
	return nil
}

// readEntry reads the manifest of a result.
func (s *Shelf) readEntry(ctx context.Context, id string) (*entry, error) {
	blob, err := s.store.Open(ctx, id+manifestSuffix)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	if blob.Size() > maxManifest {
		return nil, fmt.Errorf("manifest of %d bytes: %w", blob.Size(), ErrTooLarge)
	}
	data := make([]byte, blob.Size())
	if err := byline.ReadAt(blob, data, 0); err != nil {
		return nil, err
	}
	e := &entry{}
	if err := json.Unmarshal(data, &e.manifest); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return e, e.check(id)
}

// takeUp puts the result of another process on the shelf.
func (s *Shelf) takeUp(e *entry) {
	s.locate(&e.manifest)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[e.Artifact.ID] == nil {
		s.entries[e.Artifact.ID], s.handles[e.Artifact.Handle] = e, e
		s.charge(e.Owner.Principal, e.bytes, len(e.objects))
	}
}

// locate sets the paths to where the objects are now.
func (s *Shelf) locate(m *manifest) {
	path := func(name string) string {
		if s.local == nil {
			return ""
		}
		return s.local.Path(name)
	}
	m.Artifact.Path = path(m.Contents[Data].Name)
	for i := range m.Artifact.Parts {
		p := &m.Artifact.Parts[i]
		p.Path = ""
		if c, ok := m.Contents[Part(p.N)]; ok {
			p.Path = path(c.Name)
		}
	}
}

// check refuses a manifest that names objects which are not its own.
func (e *entry) check(id string) error {
	ours := func(name string) bool { return strings.HasPrefix(name, id) && store.CheckName(name) == nil }
	ok := e.Artifact.ID == id && (e.RestName == "" || ours(e.RestName))
	for _, c := range e.Contents {
		ok = ok && ours(c.Name) && (c.Index != nil || c.Binary)
	}
	for _, p := range e.Pieces {
		_, known := e.Contents[p.From]
		ok = ok && (p.Own > 0 || known)
	}
	if _, known := e.Contents[Data]; !ok || !known {
		return fmt.Errorf("manifest of %s: %w", id, fs.ErrInvalid)
	}
	return nil
}
