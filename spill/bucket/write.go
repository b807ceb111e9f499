package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/minio/minio-go/v7"

	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
)

// Create implements Store.
func (b *Bucket) Create(ctx context.Context, name string) (store.Writer, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	return &writer{b: b, ctx: ctx, cancel: cancel, name: name, key: b.prefix + name}, nil
}

// writer sends an object part by part: one part is on its way while the next one fills. What fits into
// one part is sent in one request.
type writer struct {
	b      *Bucket
	ctx    context.Context // ends with Close or Abort
	cancel context.CancelFunc
	name   string
	key    string
	done   bool

	filling []byte
	spare   []byte
	upload  string // "" until the first part is full
	parts   []minio.CompletePart
	sending sync.WaitGroup
	failed  error // of the part sent last; read after sending.Wait
}

func (w *writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, fs.ErrClosed
	}
	written := 0
	for len(p) > 0 {
		if len(w.filling) == w.b.part {
			if err := w.send(); err != nil {
				return written, fmt.Errorf("write %s: %w", w.name, meaning(err))
			}
		}
		n := min(len(p), w.b.part-len(w.filling))
		w.filling = append(w.filling, p[:n]...)
		written, p = written+n, p[n:]
	}
	return written, nil
}

// send begins to send what is filled, when the part before has arrived.
func (w *writer) send() error {
	if err := w.settle(); err != nil {
		return err
	}
	if w.upload == "" {
		id, err := w.b.core.NewMultipartUpload(w.ctx, w.b.name, w.key, minio.PutObjectOptions{})
		if err != nil {
			return err
		}
		w.upload = id
	}
	data, number := w.filling, len(w.parts)+1
	w.parts = append(w.parts, minio.CompletePart{PartNumber: number})
	w.filling, w.spare = w.spare[:0], data
	w.sending.Go(func() {
		part, err := w.b.core.PutObjectPart(w.ctx, w.b.name, w.key, w.upload, number,
			bytes.NewReader(data), int64(len(data)), minio.PutObjectPartOptions{})
		w.parts[number-1].ETag, w.failed = part.ETag, err
	})
	return nil
}

func (w *writer) settle() error {
	w.sending.Wait()
	return w.failed
}

func (w *writer) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	defer w.cancel()
	err := w.finish()
	w.filling, w.spare = nil, nil
	if err != nil {
		w.takeBack(err)
		return fmt.Errorf("write %s: %w", w.name, meaning(err))
	}
	return nil
}

func (w *writer) finish() error {
	var once minio.PutObjectOptions
	once.SetMatchETagExcept("*")
	if w.upload == "" {
		_, err := w.b.core.PutObject(w.ctx, w.b.name, w.key, bytes.NewReader(w.filling), int64(len(w.filling)), "", "", once)
		return err
	}
	if len(w.filling) > 0 {
		if err := w.send(); err != nil {
			return err
		}
	}
	if err := w.settle(); err != nil {
		return err
	}
	_, err := w.b.core.CompleteMultipartUpload(w.ctx, w.b.name, w.key, w.upload, w.parts, once)
	return err
}

func (w *writer) Abort() {
	if w.done {
		return
	}
	w.done = true
	w.cancel()
	w.sending.Wait()
	w.filling, w.spare = nil, nil
	w.takeBack(nil)
}

// takeBack leaves nothing of an object that was not finished. If no answer came, the service may have
// finished it all the same; an answer says that it has not.
func (w *writer) takeBack(reason error) {
	w.sending.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), cleaning)
	defer cancel()
	if w.upload != "" {
		_ = w.b.core.AbortMultipartUpload(ctx, w.b.name, w.key, w.upload) // the service's own rule, or Tidy, gets what stays
	}
	var answer minio.ErrorResponse
	if reason != nil && !errors.As(reason, &answer) {
		_ = w.b.core.RemoveObject(ctx, w.b.name, w.key, minio.RemoveObjectOptions{})
	}
}
