package spill

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/layout"
)

// A raw result is not kept beside its data: that would double or triple what the disk holds. It is kept
// as pieces: bytes of its own, and references to stored contents that give the missing bytes back by a
// transformation which was checked when it was noted. What no transformation gives is kept as it came.

// piece is one stretch of a raw result.
type piece struct {
	Own    int64        `json:",omitempty"` // so many bytes of the rest, one after the other; 0 = a reference
	From   Part         `json:",omitempty"` // content referred to
	Strip  bool         `json:",omitempty"` // without white space between tokens,
	Quote  layout.Style `json:",omitempty"` // then escaped as in a string,
	Base64 bool         `json:",omitempty"` // or coded
}

// hole is a stretch of the raw result that a piece stands for.
type hole struct {
	at rawjson.Span
	piece
}

// write gives to w the bytes the piece stands for, from its content.
func (p piece) write(w io.Writer, content io.Reader) error {
	var closers []io.Closer
	if p.Base64 {
		c := base64.NewEncoder(base64.StdEncoding, w)
		w, closers = c, append(closers, c)
	}
	if p.Quote != "" {
		q := &layout.Quoter{W: w, Style: p.Quote}
		w, closers = q, append(closers, q)
	}
	if p.Strip {
		w = &layout.Stripper{W: w}
	}
	// Hiding their other methods keeps reader and writer from handing over the whole at once.
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{content}, make([]byte, byline.Block)); err != nil {
		return err
	}
	for _, c := range closers {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// coding is how a payload gives back the bytes it came from; ok is false if it does not.
type coding struct {
	at rawjson.Span
	piece
	ok bool
}

// codingOf finds the coding of a payload.
func codingOf(raw []byte, p payload) coding {
	inner := rawjson.Span{From: p.coded.From + 1, To: p.coded.To - 1} // without the quotes
	switch p.form {
	case asValue:
		return coding{p.coded, piece{Strip: true}, true}
	case asBlob:
		c := piece{Base64: true}
		return coding{inner, c, gives(c, p.bytes, inner.Of(raw))}
	case asText:
		if plainlyQuoted(inner.Of(raw)) {
			return coding{inner, piece{Strip: p.json, Quote: layout.Short}, true}
		}
		for _, s := range layout.Styles {
			if gives(piece{Quote: s}, p.bytes, inner.Of(raw)) {
				return coding{inner, piece{Strip: p.json, Quote: s}, true}
			}
		}
	}
	return coding{}
}

// plainlyQuoted tells, of the inside of a valid JSON string, whether the short layout.Style gives it back, without trying: it
// does if each escape is one of two bytes, other than that of a slash.
func plainlyQuoted(inside []byte) bool {
	return !bytes.Contains(inside, []byte(`\u`)) && !bytes.Contains(inside, []byte(`\/`))
}

// hole is the stretch of the raw result that a payload, stored as the content from, gives back. compact says that
// stripping the stored form gives the payload.
func (c coding) hole(p payload, from Part, compact bool) (hole, bool) {
	if !c.ok || p.json && !compact {
		return hole{}, false
	}
	c.From = from
	return hole{c.at, c.piece}, true
}

// holeFor is hole for the coding of a payload.
func holeFor(raw []byte, p payload, from Part, compact bool) (hole, bool) {
	return codingOf(raw, p).hole(p, from, compact)
}

var errDiffers = errors.New("differs")

// comparer takes only what it wants.
type comparer struct{ want []byte }

func (c *comparer) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(c.want, p) {
		return 0, errDiffers
	}
	c.want = c.want[len(p):]
	return len(p), nil
}

func gives(p piece, content, want []byte) bool {
	c := &comparer{want}
	return p.write(c, bytes.NewReader(content)) == nil && len(c.want) == 0
}

// piecesOf cuts the raw result at the holes; rest is what no hole covers.
func piecesOf(raw []byte, holes []hole) (pieces []piece, rest []byte) {
	slices.SortFunc(holes, func(a, b hole) int { return a.at.From - b.at.From })
	at := 0
	for _, h := range holes {
		if h.at.From > at {
			pieces = append(pieces, piece{Own: int64(h.at.From - at)})
			rest = append(rest, raw[at:h.at.From]...)
		}
		pieces = append(pieces, h.piece)
		at = h.at.To
	}
	if at < len(raw) {
		pieces = append(pieces, piece{Own: int64(len(raw) - at)})
		rest = append(rest, raw[at:]...)
	}
	return pieces, rest
}

// rebuild writes the raw result of an entry to w.
func (s *Shelf) rebuild(ctx context.Context, e *entry, w io.Writer) error {
	var rest io.Reader = bytes.NewReader(e.Rest)
	if e.RestName != "" {
		blob, err := s.store.Open(ctx, e.RestName)
		if err != nil {
			return fmt.Errorf("rebuild result: %w", err)
		}
		defer blob.Close()
		rest = io.NewSectionReader(blob, 0, blob.Size())
	}
	for _, p := range e.Pieces {
		if err := s.rebuildPiece(ctx, e, p, rest, w); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shelf) rebuildPiece(ctx context.Context, e *entry, p piece, rest io.Reader, w io.Writer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.Own > 0 {
		_, err := io.CopyN(w, rest, p.Own)
		return err
	}
	blob, err := s.store.Open(ctx, e.Contents[p.From].Name)
	if err != nil {
		return fmt.Errorf("rebuild result: %w", err)
	}
	defer blob.Close()
	return p.write(w, io.NewSectionReader(blob, 0, blob.Size()))
}

// window keeps the bytes of a stretch of what is written to it.
type window struct {
	span rawjson.Span
	at   int
	kept []byte
}

func (w *window) Write(p []byte) (int, error) {
	from, to := max(w.span.From-w.at, 0), min(w.span.To-w.at, len(p))
	if from < to {
		w.kept = append(w.kept, p[from:to]...)
	}
	w.at += len(p)
	return len(p), nil
}
