// Package store holds named objects that are written once and read in ranges: what that is, and a folder that does it.
package store

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// Store holds named objects that are written once and read in ranges: a local folder or a bucket. Names
// are flat (see CheckName). All methods are safe for concurrent use and give up when ctx ends. An absent
// object is fs.ErrNotExist. Package spilltest holds the tests every Store must pass.
type Store interface {
	// Create starts an object. Nobody sees it before the writer's Close has returned nil. A name in use is
	// fs.ErrExist, at Create or at Close. A store that is full says fault.ErrNoSpace.
	Create(ctx context.Context, name string) (Writer, error)
	// Open opens an object for reading. It may fail in the middle if the object is removed meanwhile.
	Open(ctx context.Context, name string) (Blob, error)
	// Remove removes an object; an absent one is no error.
	Remove(ctx context.Context, name string) error
	// List returns all finished objects, in any order.
	List(ctx context.Context) ([]Info, error)
}

// Writer is an object being written, by one goroutine.
type Writer interface {
	io.Writer
	// Close finishes the object. After an error nothing is left of it.
	Close() error
	// Abort drops the object. After Close it does nothing.
	Abort()
}

// Blob is an object open for reading; ReadAt may be called concurrently.
type Blob interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Info is one entry of a Store's list.
type Info struct {
	Name    string
	Size    int64
	ModTime time.Time
}

const maxName = 128

// CheckName tells whether a store takes the name: 1 to 128 of a-z, 0-9, "-", "_" and ".", beginning with
// a letter or digit. The error is an fs.ErrInvalid.
func CheckName(name string) error {
	if name == "" || len(name) > maxName || name[0] == '.' || name[0] == '-' || name[0] == '_' {
		return fmt.Errorf("object name %.40q: %w", name, fs.ErrInvalid)
	}
	for _, c := range []byte(name) {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_') {
			return fmt.Errorf("object name %.40q: %w", name, fs.ErrInvalid)
		}
	}
	return nil
}
