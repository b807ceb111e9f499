package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// files reaches the file system below its roots.
type files struct {
	roots    []string // absolute
	max      int64
	readOnly bool
}

// spot is a place below a root. Close it.
type spot struct {
	root *os.Root
	dir  string // the root's path
	rel  string // within it, "." for the root itself
}

func (s *spot) Close() error { return s.root.Close() }

// path is the absolute path, for answers.
func (s *spot) path(rel string) string { return filepath.Join(s.dir, rel) }

func (f *files) instructions() string {
	if len(f.roots) == 0 {
		return "Current time; no folder is open to the file tools here."
	}
	how := "read and changed"
	if f.readOnly {
		how = "read"
	}
	return fmt.Sprintf("Current time, and files below %s, which can be %s. Relative paths start at the first folder. Large files: give lineStart and maxLines, or search.", strings.Join(f.roots, ", "), how)
}

// locate finds the root a path belongs to. An absolute path belongs to the
// innermost root above it, a relative one to the first root that has it.
func (f *files) locate(path string) (*spot, error) {
	if len(f.roots) == 0 {
		return nil, errors.New("no folder is open to the file tools: the configuration names no roots")
	}
	if path == "" {
		path = "."
	}
	if strings.ContainsRune(path, 0) {
		return nil, errors.New("path holds a NUL character")
	}
	if filepath.IsAbs(path) {
		return f.absolute(filepath.Clean(path))
	}
	if path = filepath.FromSlash(path); !filepath.IsLocal(path) {
		return nil, f.outside(path)
	}
	path = filepath.Clean(path)
	for _, dir := range f.roots {
		s, err := open(dir, path)
		if err != nil {
			return nil, err
		}
		if _, err := s.root.Lstat(path); err == nil {
			return s, nil
		}
		s.Close()
	}
	return open(f.roots[0], path)
}

func (f *files) absolute(path string) (*spot, error) {
	dir, rel := "", ""
	for _, r := range f.roots {
		for _, base := range []string{r, resolved(r)} {
			if in, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(in) && len(r) > len(dir) {
				dir, rel = r, in
			}
		}
	}
	if dir == "" {
		return nil, f.outside(path)
	}
	return open(dir, rel)
}

// resolved is the path a root has after its own links; a root may be reached
// through one, only what is below it may not leave.
func resolved(root string) string {
	if r, err := filepath.EvalSymlinks(root); err == nil {
		return r
	}
	return root
}

func (f *files) outside(path string) error {
	return fmt.Errorf("%s is outside the allowed folders (%s)", path, strings.Join(f.roots, ", "))
}

func open(dir, rel string) (*spot, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, plain(err, dir)
	}
	return &spot{r, dir, rel}, nil
}

// plain says in words for an agent what went wrong at path.
func plain(err error, path string) error {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", path)
	case errors.As(err, &pe):
		return fmt.Errorf("%s: %w", path, pe.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// regular opens a file for reading, and refuses folders, pipes and devices.
func (s *spot) regular() (*os.File, fs.FileInfo, error) {
	f, err := s.root.OpenFile(s.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, plain(err, s.rel)
	}
	info, err := f.Stat()
	if err == nil {
		err = mustBeRegular(info, s.rel)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func mustBeRegular(info fs.FileInfo, path string) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a folder: use operation list", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}

type initArgs struct {
	Root      string
	Readwrite bool
}

type initAnswer struct {
	Roots     []string `json:"roots"`
	Root      string   `json:"root,omitempty"`
	Readwrite bool     `json:"readwrite"`
	MaxBytes  int64    `json:"maxBytes"`
}

func (f *files) init(_ context.Context, raw json.RawMessage) (any, error) {
	args, err := read[initArgs](raw)
	if err != nil {
		return nil, err
	}
	a := initAnswer{Roots: f.roots, Readwrite: !f.readOnly && len(f.roots) > 0, MaxBytes: f.max}
	if a.Roots == nil {
		a.Roots = []string{}
	}
	if args.Root == "" {
		return a, nil
	}
	s, err := f.locate(args.Root)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	info, err := s.root.Stat(s.rel)
	if err != nil {
		return nil, plain(err, args.Root)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", args.Root)
	}
	if args.Readwrite && f.readOnly {
		return nil, errors.New("files can only be read here")
	}
	a.Root = s.path(s.rel)
	return a, nil
}
