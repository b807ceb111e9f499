package spill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/shape"
	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
)

// Files under AllowedRoots are read like results, in place. Their line index is made by reading them
// through once; the last few are remembered.

const (
	maxForeign    = 1 << 30 // bytes of a file under AllowedRoots
	foreignCached = 8
)

type foreignFiles struct {
	mu    sync.Mutex
	known []*foreignFile // last used first
}

type foreignFile struct {
	path    string
	root    string // the allowed folder
	rel     string // the file in it
	size    int64
	changed time.Time
	content content
	info    Artifact
}

// findForeign opens a file below one of the allowed folders, which no link leads out of.
func (s *Shelf) findForeign(ctx context.Context, path string) (*Artifact, error) {
	for _, root := range s.o.AllowedRoots {
		rel, ok := within(root, path)
		if !ok {
			continue
		}
		f, err := s.foreignFile(ctx, root, rel, path)
		if err != nil {
			return nil, err
		}
		a := f.info
		a.count = s.o.Tokens.Count
		return &a, nil
	}
	return nil, fmt.Errorf("path %.80q is neither a result nor under an allowed folder: %w", path, ErrDenied)
}

// within returns path relative to root, if it lies below, as spelled or with the root's links resolved.
func within(root, path string) (string, bool) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", false
	}
	spellings := []string{root}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		spellings = append(spellings, real)
	}
	for _, r := range spellings {
		rel, err := filepath.Rel(r, filepath.Clean(path))
		if err == nil && rel != "." && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

func openForeign(root, rel string) (store.File, fs.FileInfo, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return store.File{}, nil, fmt.Errorf("open allowed folder: %w", ErrNotFound)
	}
	defer r.Close()
	f, err := store.OpenRegular(r, rel, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return store.File{}, nil, fmt.Errorf("no file %.80q: %w", rel, ErrNotFound)
	case err != nil: // a folder, a fifo, a link that leads out
		return store.File{}, nil, fmt.Errorf("file %.80q: %w", rel, ErrDenied)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return store.File{}, nil, fmt.Errorf("file %.80q: %w", rel, err)
	}
	return f, info, nil
}

func (s *Shelf) foreignFile(ctx context.Context, root, rel, path string) (*foreignFile, error) {
	blob, info, err := openForeign(root, rel)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	if blob.Size() > maxForeign {
		return nil, fmt.Errorf("file %.80q has %d bytes, at most %d are read: %w", rel, blob.Size(), int64(maxForeign), ErrTooLarge)
	}
	f := &foreignFile{path: path, root: root, rel: rel, size: blob.Size(), changed: info.ModTime()}
	if known := s.foreign.get(f); known != nil {
		return known, nil
	}
	if err := s.readForeign(ctx, f, blob); err != nil {
		return nil, err
	}
	s.foreign.put(f)
	return f, nil
}

// readForeign learns what a report says of a file. Whether it is JSON, and its shape, takes the whole
// file in memory, so of large ones only the beginning is judged, as text.
func (s *Shelf) readForeign(ctx context.Context, f *foreignFile, blob store.Blob) error {
	whole := f.size <= maxNarrow
	head := make([]byte, byline.Block)
	if whole || f.size < byline.Block {
		head = make([]byte, f.size)
	}
	if err := byline.ReadAt(blob, head, 0); err != nil {
		return err
	}
	f.content = content{Name: f.rel, JSON: whole && rawjson.Valid(head), Binary: !isText(head), Size: f.size, MimeType: "text/plain"}
	f.info = Artifact{Handle: f.path, Path: f.path, Bytes: f.size, Created: f.changed, From: Sources{{File: filepath.Join(f.root, f.rel)}}}
	if f.content.JSON {
		f.content.MimeType = "application/json"
	}
	if f.content.Binary {
		f.content.MimeType = "application/octet-stream"
	} else {
		index, err := byline.IndexOf(ctx, blob, f.size)
		if err != nil {
			return err
		}
		f.content.Index = index
		f.info.Lines, f.info.LongestLine = index.Lines(), int(index.Longest)
		if err := s.count(&f.info, blob, f.size); err != nil {
			return err
		}
	}
	about := shape.Describe(head, f.content.JSON, f.content.Binary, f.content.MimeType)
	f.info.Kind, f.info.Shape, f.info.Sample, f.info.Keys, f.info.Rows = about.Kind, about.Shape, about.Sample, about.Keys, about.Rows
	f.info.table, f.info.field, f.info.question, f.info.MimeType = about.Table, about.Field, about.Question, f.content.MimeType
	f.info.foreign = f
	return nil
}

func (k *foreignFiles) get(f *foreignFile) *foreignFile {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, known := range k.known {
		if known.path == f.path && known.root == f.root && known.size == f.size && known.changed.Equal(f.changed) {
			copy(k.known[1:i+1], k.known[:i])
			k.known[0] = known
			return known
		}
	}
	return nil
}

func (k *foreignFiles) put(f *foreignFile) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = append([]*foreignFile{f}, k.known[:min(len(k.known), foreignCached-1)]...)
}
