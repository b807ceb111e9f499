package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"

	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
)

// Readers ask for 64 KiB at a time. A request costs as much time as some hundred KiB on the way, so a
// reader gets more than it asks for, and twice as much each time it goes on where it was.
const (
	firstAhead = 256 << 10
	mostAhead  = 4 << 20
	kept       = 4 // ranges held by a blob: as many readers may go through it side by side
)

// Open implements Store. Its one request brings the first bytes as well. The blob's reads end with ctx.
func (b *Bucket) Open(ctx context.Context, name string) (store.Blob, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	o := &blob{b: b, ctx: ctx, cancel: cancel, name: name}
	data := make([]byte, firstAhead)
	n, size, err := b.get(ctx, name, 0, data)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	o.size = size
	first := newSpan(0, n)
	first.data = data[:n:n]
	close(first.ready)
	o.spans = []*span{first}
	return o, nil
}

// get fetches len(p) bytes from at on, fewer at the end, and tells the size of the whole object.
func (b *Bucket) get(ctx context.Context, name string, at int64, p []byte) (n int, size int64, err error) {
	var ranged minio.GetObjectOptions
	if err := ranged.SetRange(at, at+int64(len(p))-1); err != nil {
		return 0, 0, err
	}
	body, _, header, err := b.core.GetObject(ctx, b.name, b.prefix+name, ranged)
	if err != nil {
		var answer minio.ErrorResponse
		if at == 0 && errors.As(err, &answer) && answer.StatusCode == http.StatusRequestedRangeNotSatisfiable {
			return 0, 0, nil // an empty object has no first byte
		}
		return 0, 0, meaning(err)
	}
	defer body.Close()
	from, size, ok := contentRange(header)
	if !ok || from != at {
		return 0, 0, fmt.Errorf("the service answers with range %q to bytes from %d on", header.Get("Content-Range"), at)
	}
	p = p[:min(int64(len(p)), size-at)]
	if n, err = io.ReadFull(body, p); err != nil {
		return n, 0, fmt.Errorf("read at %d: %w", at, err)
	}
	return n, size, nil
}

// contentRange takes apart what an answer holds; one without a range holds the whole object.
func contentRange(h http.Header) (from, size int64, ok bool) {
	text := h.Get("Content-Range")
	if text == "" {
		size, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
		return 0, size, err == nil && size >= 0
	}
	span, whole, ok := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, _, _ := strings.Cut(span, "-")
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil || !ok {
		return 0, 0, false
	}
	size, err = strconv.ParseInt(whole, 10, 64)
	return from, size, err == nil && 0 <= from && from < size
}

// span is a range of an object in memory, or on its way.
type span struct {
	from  int64
	size  int
	ready chan struct{} // closed when data and err are set
	data  []byte
	err   error
}

func newSpan(from int64, size int) *span {
	return &span{from: from, size: size, ready: make(chan struct{})}
}

func (s *span) end() int64 { return s.from + int64(s.size) }

type blob struct {
	b      *Bucket
	ctx    context.Context
	cancel context.CancelFunc
	name   string
	size   int64

	mu    sync.Mutex
	spans []*span // used last first
}

func (o *blob) Size() int64 { return o.size }

func (o *blob) Close() error {
	o.cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spans = nil
	return nil
}

func (o *blob) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 {
		return 0, fmt.Errorf("read %s at %d: %w", o.name, at, fs.ErrInvalid)
	}
	done := 0
	for done < len(p) {
		here := at + int64(done)
		if here >= o.size {
			return done, io.EOF
		}
		s := o.span(here, len(p)-done)
		if s == nil {
			n, err := o.fetch(p[done:], here)
			if done += n; err != nil {
				return done, fmt.Errorf("read %s: %w", o.name, err)
			}
			continue
		}
		select {
		case <-s.ready:
		case <-o.ctx.Done():
			return done, fmt.Errorf("read %s: %w", o.name, o.ctx.Err())
		}
		if s.err != nil {
			return done, fmt.Errorf("read %s: %w", o.name, s.err)
		}
		done += copy(p[done:], s.data[here-s.from:])
	}
	return done, nil
}

// span returns the range that holds the byte, fetching it if nobody has yet. Who comes meanwhile waits
// for the same range. It is nil if so much is wanted that it should go where it is wanted at once.
func (o *blob) span(at int64, wanted int) *span {
	o.mu.Lock()
	ahead, drop := firstAhead, kept-1
	for i, s := range o.spans {
		if s.from <= at && at < s.end() {
			copy(o.spans[1:i+1], o.spans[:i])
			o.spans[0] = s
			o.mu.Unlock()
			return s
		}
		if s.end() == at {
			ahead, drop = max(ahead, min(2*s.size, mostAhead)), i // its reader is through with it
		}
	}
	if wanted >= mostAhead {
		o.mu.Unlock()
		return nil
	}
	s := newSpan(at, int(min(int64(max(wanted, ahead)), o.size-at)))
	if drop < len(o.spans) {
		o.spans = slices.Delete(o.spans, drop, drop+1)
	}
	o.spans = slices.Insert(o.spans, 0, s)
	o.mu.Unlock()
	s.data = make([]byte, s.size)
	if _, s.err = o.fetch(s.data, at); s.err != nil {
		o.forget(s)
	}
	close(s.ready)
	return s
}

// fetch reads from the service what the object has of p.
func (o *blob) fetch(p []byte, at int64) (int, error) {
	n, size, err := o.b.get(o.ctx, o.name, at, p)
	if err == nil && size != o.size {
		err = fmt.Errorf("the object has %d bytes now, had %d: %w", size, o.size, fs.ErrNotExist)
	}
	return n, err
}

// forget lets the next reader try again.
func (o *blob) forget(failed *span) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spans = slices.DeleteFunc(o.spans, func(s *span) bool { return s == failed })
}
