package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/spill/fault"
)

// errHeld: a process folder belongs to a living process.
var errHeld = errors.New("in use")

const folderPrefix = "p-" // of the folders of processes, below the base

// Folder is the place of one process: a folder of its own below the base, locked while it lives.
type Folder struct {
	base *os.Root
	name string
	lock *os.File // nil on file systems without locks; such a folder is never swept
	Path string   // absolute
}

// BaseDir returns the folder that holds the folders of all our processes, made if need be. The default
// one lies where other users can write, so it must be ours, closed to others, and no link.
func BaseDir(dir string) (string, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("make spill folder: %w", err)
		}
		return filepath.EvalSymlinks(dir)
	}
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("find temporary folder: %w", err)
	}
	dir = filepath.Join(temp, "proxy-dispatch-"+userName())
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make spill folder: %w", err)
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return "", fmt.Errorf("make spill folder: %w", err)
	case !info.IsDir() || !ownedByUs(info):
		return "", fmt.Errorf("spill folder %s is not ours: %w", dir, fault.ErrDenied)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(dir, 0o700); err != nil {
			return "", fmt.Errorf("close spill folder: %w", err)
		}
	}
	return dir, nil
}

// NewFolder sweeps the folders of dead processes and makes one for this process.
func NewFolder(dir string, log *slog.Logger) (*Folder, error) {
	dir, err := BaseDir(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find spill folder: %w", err)
	}
	base, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open spill folder: %w", err)
	}
	sweep(base, log)
	for range 20 {
		name := folderPrefix + strings.ToLower(rand.Text()[:10])
		if err := base.Mkdir(name, 0o700); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			_ = base.Close()
			return nil, fmt.Errorf("make process folder: %w", spaceError(err))
		}
		lock, err := claim(base, name)
		if errors.Is(err, errHeld) {
			continue // a sweeper came between making and locking, and removes it
		}
		if err != nil {
			log.Warn("spill folder cannot be locked and will not be swept", "folder", name, "error", err)
		}
		return &Folder{base: base, name: name, lock: lock, Path: filepath.Join(dir, name)}, nil
	}
	_ = base.Close()
	return nil, fmt.Errorf("make process folder in %s: %w", dir, errHeld)
}

// claim locks a folder and makes sure that it is still the one of that name.
func claim(base *os.Root, name string) (*os.File, error) {
	lock, err := lockFolder(base, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errHeld
	}
	if err != nil || runtime.GOOS == "windows" {
		return lock, err
	}
	locked, err := lock.Stat()
	now, gone := base.Lstat(name)
	if err != nil || gone != nil || !os.SameFile(locked, now) {
		_ = lock.Close()
		return nil, errHeld
	}
	return lock, nil
}

// sweep removes the folders whose process is dead: those whose lock can be had.
func sweep(base *os.Root, log *slog.Logger) {
	entries, err := fs.ReadDir(base.FS(), ".")
	if err != nil {
		log.Warn("spill folder cannot be listed", "error", err)
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), folderPrefix) {
			continue
		}
		lock, err := lockFolder(base, e.Name())
		if err != nil {
			continue
		}
		if runtime.GOOS == "windows" {
			_ = lock.Close() // an open file cannot be removed there
		}
		if err := base.RemoveAll(e.Name()); err != nil {
			log.Warn("leftover spill folder cannot be removed", "folder", e.Name(), "error", err)
		}
		_ = lock.Close()
	}
}

// Remove removes the folder with all it holds.
func (f *Folder) Remove() error {
	if f.lock != nil && runtime.GOOS == "windows" {
		_ = f.lock.Close()
	}
	err := f.base.RemoveAll(f.name)
	if f.lock != nil {
		_ = f.lock.Close()
	}
	_ = f.base.Close()
	if err != nil {
		return fmt.Errorf("remove spill folder: %w", err)
	}
	return nil
}
