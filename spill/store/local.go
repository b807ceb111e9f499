package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/spill/fault"
)

// Local is a Store in one folder, readable by its owner only. Its names are opened within the folder and
// never through a link.
type Local struct {
	dir  string
	root *os.Root
	mu   sync.Mutex // one commit at a time: look for the name, then rename
}

const unfinished = ".tmp" // suffix of a file whose writer is not closed

// OpenLocal opens a folder that exists as a store. Close it after use.
func OpenLocal(dir string) (*Local, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return &Local{dir: dir, root: root}, nil
}

// Close releases the folder; its files stay.
func (l *Local) Close() error { return l.root.Close() }

// Dir returns the absolute path of the folder.
func (l *Local) Dir() string { return l.dir }

// Path returns the absolute path of an object.
func (l *Local) Path(name string) string { return filepath.Join(l.dir, name) }

// Create implements Store.
func (l *Local) Create(ctx context.Context, name string) (Writer, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	if _, err := l.root.Lstat(name); err == nil {
		return nil, fmt.Errorf("create %s: %w", name, fs.ErrExist)
	}
	f, err := l.root.OpenFile(name+unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY|noFollow, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, spaceError(err))
	}
	return &localWriter{store: l, name: name, file: f}, nil
}

// Open implements Store.
func (l *Local) Open(ctx context.Context, name string) (Blob, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, unfinished) {
		return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	return OpenRegular(l.root, name, false)
}

// Remove implements Store.
func (l *Local) Remove(ctx context.Context, name string) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	if err := l.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// List implements Store.
func (l *Local) List(ctx context.Context) ([]Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list store: %w", err)
	}
	var list []Info
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasSuffix(e.Name(), unfinished) || CheckName(e.Name()) != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		list = append(list, Info{Name: e.Name(), Size: info.Size(), ModTime: info.ModTime()})
	}
	return list, nil
}

// DropUnfinished removes what writers that are gone left: unfinished files not written to since a time.
func (l *Local) DropUnfinished(since time.Time) error {
	entries, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("list store: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), unfinished) || CheckName(e.Name()) != nil {
			continue
		}
		if info, err := e.Info(); err != nil || info.ModTime().After(since) {
			continue
		}
		if err := l.root.Remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", e.Name(), err)
		}
	}
	return nil
}

func check(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return CheckName(name)
}

type localWriter struct {
	store *Local
	name  string
	file  *os.File
	done  bool
}

func (w *localWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	return n, spaceError(err)
}

func (w *localWriter) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	err := w.file.Close()
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		_ = w.store.root.Remove(w.name + unfinished)
		return fmt.Errorf("write %s: %w", w.name, spaceError(err))
	}
	return nil
}

func (w *localWriter) commit() error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if _, err := w.store.root.Lstat(w.name); err == nil {
		return fs.ErrExist
	}
	return w.store.root.Rename(w.name+unfinished, w.name)
}

func (w *localWriter) Abort() {
	if w.done {
		return
	}
	w.done = true
	_ = w.file.Close()
	_ = w.store.root.Remove(w.name + unfinished)
}

// File is an open regular file as a Blob.
type File struct {
	*os.File
	size int64
}

// Size is that of the file when it was opened.
func (b File) Size() int64 { return b.size }

// OpenRegular opens a regular file below root. A fifo or device is refused before it is opened, and
// again should it have taken the file's place in between. Links within root are followed only if asked.
func OpenRegular(root *os.Root, name string, links bool) (File, error) {
	stat, flags := root.Lstat, os.O_RDONLY|noFollow
	if links {
		stat, flags = root.Stat, os.O_RDONLY|noWait
	}
	before, err := stat(name)
	if err != nil {
		return File{}, fmt.Errorf("open %s: %w", name, err)
	}
	if !before.Mode().IsRegular() {
		return File{}, fmt.Errorf("open %s: not a regular file: %w", name, fault.ErrDenied)
	}
	f, err := root.OpenFile(name, flags, 0)
	if err != nil {
		return File{}, fmt.Errorf("open %s: %w", name, err)
	}
	after, err := f.Stat()
	if err != nil || !after.Mode().IsRegular() || !os.SameFile(before, after) {
		_ = f.Close()
		return File{}, fmt.Errorf("open %s: it was replaced: %w", name, fault.ErrDenied)
	}
	return File{f, after.Size()}, nil
}

// spaceError makes fault.ErrNoSpace of the ways in which a disk is full.
func spaceError(err error) error {
	if err == nil {
		return nil
	}
	for _, full := range diskFull {
		if errors.Is(err, full) {
			return fmt.Errorf("%w: the disk is full: %w", fault.ErrNoSpace, err)
		}
	}
	return err
}
