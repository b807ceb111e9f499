package bucket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Try writes a small object, reads it back and removes it: what keeping results takes. The error says which of them failed.
func (b *Bucket) Try(ctx context.Context) (err error) {
	name := "try-" + strings.ToLower(rand.Text())
	const said = "proxy-dispatch tries whether it can keep results here"
	w, err := b.Create(ctx, name)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	defer w.Abort()
	if _, err := w.Write([]byte(said)); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	defer func() {
		if failed := b.Remove(ctx, name); failed != nil {
			err = errors.Join(err, fmt.Errorf("remove: %w", failed))
		}
	}()
	blob, err := b.Open(ctx, name)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer blob.Close()
	read := make([]byte, len(said))
	if _, err := blob.ReadAt(read, 0); err != nil && err != io.EOF {
		return fmt.Errorf("read: %w", err)
	}
	if string(read) != said {
		return errors.New("read: what came back is something else")
	}
	return nil
}
