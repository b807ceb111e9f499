package spill

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	maxPath = 4096 // bytes of a name
	scheme  = "spill://"
)

var (
	handleForm = regexp.MustCompile(`^r[1-9][0-9]{0,8}[a-z]{2,4}$`)
	idForm     = regexp.MustCompile(`^[a-z2-7]{26}$`)
)

// Find returns the artifact that name means for owner, and which part of it. A name is a handle, a long
// id, spill://ID or the absolute path of the main file, each with #N or #raw if wanted, or the absolute
// path of a file under AllowedRoots. What belongs to another owner is ErrNotFound like what never was;
// a path that leads anywhere else is ErrDenied. Finding a result restarts its life.
func (s *Shelf) Find(ctx context.Context, owner Owner, name string) (*Artifact, Part, error) {
	if err := s.begin(); err != nil {
		return nil, Data, err
	}
	defer s.work.Done()
	owner = s.scope(owner)
	if len(name) > maxPath || strings.ContainsRune(name, 0) {
		return nil, Data, fmt.Errorf("name %.40q: %w", name, ErrDenied)
	}
	base, part, err := splitPart(name)
	if err != nil {
		return nil, Data, err
	}
	if filepath.IsAbs(base) {
		return s.findPath(ctx, owner, name, base, part)
	}
	plain := strings.TrimPrefix(base, scheme)
	if strings.ContainsAny(plain, `/\`) || strings.Contains(plain, "..") {
		return nil, Data, fmt.Errorf("name %.80q: only absolute paths are opened: %w", name, ErrDenied)
	}
	a, err := s.findName(ctx, owner, plain)
	if err != nil {
		return nil, Data, err
	}
	return a, part, a.has(part, name)
}

// splitPart takes #N or #raw off a name.
func splitPart(name string) (string, Part, error) {
	base, suffix, found := strings.Cut(name, "#")
	if !found {
		return name, Data, nil
	}
	if suffix == "raw" {
		return base, Raw, nil
	}
	n, err := strconv.Atoi(suffix)
	if err != nil || n < 1 || len(suffix) > 6 {
		if filepath.IsAbs(name) { // a file may have the sign in its name
			return name, Data, nil
		}
		return "", Data, fmt.Errorf("%.80q has no part %.20q (#1, #2, … or #raw): %w", base, suffix, ErrNotFound)
	}
	return base, Part(n), nil
}

func (a *Artifact) has(p Part, name string) error {
	if p > Data && int(p) > len(a.Parts) || p == Raw && a.entry == nil {
		return fmt.Errorf("%.80q: the result has %d parts: %w", name, len(a.Parts), ErrNotFound)
	}
	return nil
}

// findName looks a handle or long id up.
func (s *Shelf) findName(ctx context.Context, owner Owner, name string) (*Artifact, error) {
	s.removeExpired()
	a, err := s.lookUp(owner, name)
	if err != nil && s.o.Keep { // another process may have written it
		load := s.load
		if s.shared() {
			load = func(ctx context.Context) error { return s.fetch(ctx, name) }
		}
		if err := load(ctx); err != nil {
			return nil, err
		}
		a, err = s.lookUp(owner, name)
	}
	return a, err
}

func (s *Shelf) lookUp(owner Owner, name string) (*Artifact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	if e == nil && (s.o.Keep || !owner.anonymous()) {
		e = s.handles[name]
	}
	switch {
	case e != nil && e.Owner == owner:
		e.used = s.o.Now()
		return s.snapshot(e), nil
	case e == nil && s.gone.has(name, owner):
		return nil, fmt.Errorf("%s: %w", name, ErrExpired)
	case e == nil && !s.o.Keep && handleForm.MatchString(name) && !strings.HasSuffix(name, s.letters):
		return nil, fmt.Errorf("%s %w", name, ErrStale)
	}
	return nil, fmt.Errorf("no result %.80q: %w", name, ErrNotFound)
}

func (g *graves) has(name string, owner Owner) bool {
	o, ok := g.owners[name]
	return ok && o == owner
}

// findPath opens the main file of a result by its path, or a file under AllowedRoots. The folder of a
// result may be spelled through links above it; within it the random name decides, so nothing a link
// leads to is opened.
func (s *Shelf) findPath(ctx context.Context, owner Owner, name, path string, part Part) (*Artifact, Part, error) {
	for _, element := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == filepath.Separator }) {
		if element == ".." {
			return nil, Data, fmt.Errorf("path %.80q: %w", path, ErrDenied)
		}
	}
	if os.IsPathSeparator(path[len(path)-1]) {
		return nil, Data, fmt.Errorf("path %.80q is a folder: %w", path, ErrDenied)
	}
	dir, file := filepath.Split(filepath.Clean(path))
	id, _, _ := strings.Cut(file, ".")
	if s.local != nil && idForm.MatchString(id) && sameFolder(dir, s.local.Dir()) {
		a, err := s.findName(ctx, owner, id)
		if err == nil && filepath.Base(a.Path) != file {
			err = fmt.Errorf("no result %.80q: %w", file, ErrNotFound)
		}
		if err != nil {
			return nil, Data, err
		}
		return a, part, a.has(part, name)
	}
	if part != Data { // the sign may belong to the name of the file
		if a, err := s.findForeign(ctx, name); err == nil {
			return a, Data, nil
		}
	}
	a, err := s.findForeign(ctx, path)
	if err == nil {
		err = a.has(part, name)
	}
	return a, Data, err
}

func sameFolder(dir, ours string) bool {
	if filepath.Clean(dir) == ours {
		return true
	}
	a, err := os.Stat(dir)
	if err != nil {
		return false
	}
	b, err := os.Stat(ours)
	return err == nil && os.SameFile(a, b)
}
