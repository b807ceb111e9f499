package spill

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/layout"
	"github.com/proxy-dispatch/proxy-dispatch/spill/shape"
	"github.com/proxy-dispatch/proxy-dispatch/spill/tabular"
)

// maxValue is how many bytes a value handed on whole, or a text taken apart in memory, may have.
const maxValue = 64 << 20

// view is a readable text or blob: a stored object, a file, or what a path has left of one.
type view struct {
	content
	r     io.ReaderAt
	about *shape.About // nil: not looked at yet
	found []byte       // JSON in memory that is not laid out yet; then r and Index are nil
	rows  int          // elements, if it is known to be a list
	close func()
}

// view opens a part of an artifact. Close it after use; until then the artifact is not removed.
func (s *Shelf) view(ctx context.Context, a *Artifact, p Part) (*view, error) {
	if a.foreign != nil {
		return viewForeign(a)
	}
	if a.entry == nil {
		return nil, fmt.Errorf("artifact %.40q is not from Find: %w", a.Handle, ErrNotFound)
	}
	if err := s.use(a.entry); err != nil {
		return nil, err
	}
	v, err := s.viewEntry(ctx, a.entry, p)
	if err != nil {
		s.release(a.entry)
		if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("%s: %w", a.Handle, ErrExpired) // its file is gone
		}
		return nil, err
	}
	blob := v.close
	v.close = func() {
		blob()
		s.release(a.entry)
	}
	if p == Data {
		v.about, v.rows = a.about(), a.Rows
	}
	return v, nil
}

func viewForeign(a *Artifact) (*view, error) {
	f, info, err := openForeign(a.foreign.root, a.foreign.rel)
	if err != nil {
		return nil, err
	}
	if f.Size() != a.foreign.size || !info.ModTime().Equal(a.foreign.changed) {
		_ = f.Close()
		return nil, fmt.Errorf("file %.80q has changed; read it again: %w", a.foreign.rel, ErrExpired)
	}
	return &view{content: a.foreign.content, r: f, about: a.about(), close: func() { _ = f.Close() }}, nil
}

func (s *Shelf) viewEntry(ctx context.Context, e *entry, p Part) (*view, error) {
	c, err := s.contentOf(ctx, e, p)
	if err != nil {
		return nil, err
	}
	blob, err := s.store.Open(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	return &view{content: c, r: blob, close: func() { _ = blob.Close() }}, nil
}

// contentOf returns the stored content of a part. Texts beside the data, and the raw result, are not kept
// ready: they are taken out of the pieces when somebody first asks. Their names have letters of chance, as
// two processes may do that in one kept folder.
func (s *Shelf) contentOf(ctx context.Context, e *entry, p Part) (content, error) {
	e.making.Lock()
	defer e.making.Unlock()
	if c, ok := e.Contents[p]; ok {
		return c, nil
	}
	if p != Raw && (p < 1 || int(p) > len(e.Blocks)) {
		return content{}, fmt.Errorf("no part %s: %w", p, ErrNotFound)
	}
	d := &draft{ctx: ctx, shelf: s, entry: &entry{}}
	d.entry.Artifact.ID, d.entry.Owner = e.Artifact.ID, e.Owner
	var c content
	var err error
	if p == Raw {
		c, err = d.raw(e)
	} else {
		c, err = d.block(e, p)
	}
	if err != nil {
		d.drop()
		return content{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Contents[p] = c
	e.objects = append(d.entry.objects, e.objects...)
	e.bytes += d.reserved
	return c, nil
}

func (d *draft) raw(e *entry) (c content, err error) {
	c = content{Name: e.Artifact.ID + "-raw-" + randomLetters(6) + ".json", JSON: true, MimeType: "application/json", Index: &byline.Index{}}
	c.Size, err = d.object(c.Name, c.Index, func(w *bufio.Writer) error { return d.shelf.rebuild(d.ctx, e, w) })
	return c, err
}

func (d *draft) block(e *entry, p Part) (content, error) {
	spans := e.Blocks[p-1]
	text := spans.Text[1] > spans.Text[0]
	w := &window{span: rawjson.Span{From: spans.All[0], To: spans.All[1]}}
	if text {
		w.span = rawjson.Span{From: spans.Text[0], To: spans.Text[1]}
	}
	if err := d.shelf.rebuild(d.ctx, e, w); err != nil {
		return content{}, err
	}
	data := payload{bytes: w.kept, json: true}
	if text {
		data.bytes = rawjson.Text(w.kept)
		data.json = rawjson.Valid(data.bytes)
	}
	c, _, err := d.content(e.Artifact.ID+"-"+strconv.Itoa(int(p))+"-"+randomLetters(6)+data.extension(), data)
	return c, err
}

// foundView makes a view of JSON in memory, to be handed on or made ready.
func foundView(found []byte) *view {
	return &view{content: content{JSON: true, Size: int64(len(found)), MimeType: "application/json"}, found: found, close: func() {}}
}

// ready lays out what was found: strings raw, all else line by line.
func (v *view) ready() (*view, error) {
	if v.found == nil {
		return v, nil
	}
	if v.found[0] == '"' {
		return viewOf(rawjson.Text(v.found), false), nil
	}
	var out bytes.Buffer
	if _, err := layout.Write(&out, v.found); err != nil {
		return nil, err
	}
	laid := viewOf(bytes.TrimSuffix(out.Bytes(), []byte("\n")), true)
	if v.found[0] == '[' {
		for range rawjson.Elements(v.found) {
			laid.rows++
		}
	}
	return laid, nil
}

// shownAs makes a view ready to be shown, in the form the query asks for: form is csv or toon if that is what it is now.
func (v *view) shownAs(q Query) (shown *view, form string, err error) {
	asked := q.Format == "csv" || q.Format == "toon"
	chosen := q.Format == "" || q.Format == "compact"
	switch {
	case q.Op == "stat" || q.Op == "bytes" || !asked && (q.Op != "read" || !chosen) || !v.JSON:
	case asked:
		data, err := v.all(maxValue)
		if err != nil {
			return nil, "", err
		}
		text, rows, err := tabular.Write(data, q.Format)
		if err != nil {
			return nil, "", err
		}
		shown = viewOf(text, false)
		shown.rows = rows
		return shown, q.Format, nil
	case v.Size <= tabular.MaxCompare:
		data, err := v.all(tabular.MaxCompare)
		if err != nil {
			return nil, "", err
		}
		if form, text, rows := tabular.Smallest(data); form != "" {
			shown = viewOf(text, false)
			shown.rows = rows
			return shown, form, nil
		}
	}
	shown, err = v.ready()
	return shown, "", err
}

// isContainer tells whether the view is a JSON object or list of a size that can be written in another form.
func (v *view) isContainer() bool {
	if !v.JSON || v.Size == 0 || v.Size > maxValue {
		return false
	}
	first := [1]byte{}
	if v.found != nil {
		first[0] = v.found[0]
	} else if err := byline.ReadAt(v.r, first[:], 0); err != nil {
		return false
	}
	return first[0] == '{' || first[0] == '['
}

// viewOf makes a view of bytes in memory.
func viewOf(data []byte, isJSON bool) *view {
	x := &byline.Index{}
	_, _ = x.Write(data) // an index takes all
	c := content{JSON: isJSON, Size: int64(len(data)), MimeType: "text/plain", Index: x}
	if isJSON {
		c.MimeType = "application/json"
	}
	return &view{content: c, r: bytes.NewReader(data), close: func() {}}
}

// all reads the whole view, if it has at most limit bytes.
func (v *view) all(limit int64) ([]byte, error) {
	if v.Size > limit {
		return nil, fmt.Errorf("it has %d bytes, at most %d MiB are handled at once: %w", v.Size, limit>>20, ErrTooLarge)
	}
	if v.found != nil {
		return v.found, nil
	}
	data := make([]byte, v.Size)
	return data, byline.ReadAt(v.r, data, 0)
}

// text reads the whole view, if it has at most limit bytes.
func (v *view) text(limit int64) (string, error) {
	if v.Size > limit {
		return "", fmt.Errorf("it has %d bytes, at most %d MiB are handled at once: %w", v.Size, limit>>20, ErrTooLarge)
	}
	if v.found != nil {
		return string(v.found), nil
	}
	var out strings.Builder
	out.Grow(int(v.Size))
	n, err := io.Copy(&out, io.NewSectionReader(v.r, 0, v.Size))
	if err == nil && n < v.Size {
		err = io.ErrUnexpectedEOF
	}
	return out.String(), err
}

func (a *Artifact) about() *shape.About {
	return &shape.About{Kind: a.Kind, Shape: a.Shape, Sample: a.Sample, Keys: a.Keys, Rows: a.Rows, Table: a.table, Field: a.field, Question: a.question}
}

// describe says what is in the view; of one too large for memory only its beginning is judged.
func (v *view) describe() (shape.About, error) {
	if v.about != nil {
		return *v.about, nil
	}
	size, whole := v.Size, v.JSON
	if size > maxValue {
		size, whole = byline.Block, false
	}
	data := make([]byte, size)
	if err := byline.ReadAt(v.r, data, 0); err != nil {
		return shape.About{}, err
	}
	return shape.Describe(data, whole, v.Binary, v.MimeType), nil
}
