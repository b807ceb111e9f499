package spill

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/layout"
	"github.com/proxy-dispatch/proxy-dispatch/spill/shape"
)

const (
	growth     = 1 << 20 // bytes reserved at a time when a result is larger than it looked
	inlineRest = 1 << 10 // own bytes of a raw result up to which no object is made for them
)

// Put keeps a raw MCP result (one JSON object) for its owner: its data laid out line by line, its
// binary parts decoded, and what else is needed to rebuild it. The bytes are not changed and not held on
// to. A result that is not JSON is kept as a text. What the owner has of the same sources already, byte for byte, is not
// kept twice: its artifact is returned. known are strings in raw that the caller has passed over already, which saves
// looking for their ends again. ErrNoSpace leaves nothing behind.
func (s *Shelf) Put(ctx context.Context, owner Owner, from Sources, raw json.RawMessage, known ...rawjson.Span) (*Artifact, error) {
	sum := inTime(func() contentSum { return sumOf(owner, from, raw) })
	r, ok := dissect(raw, known)
	if !ok {
		sum()
		return s.PutData(ctx, owner, from, raw)
	}
	data := r.data()
	return s.keep(ctx, owner, from, r, data, sum())
}

// PutData keeps a computed outcome, JSON or text. It has no parts; its raw form is data itself.
func (s *Shelf) PutData(ctx context.Context, owner Owner, from Sources, data []byte) (*Artifact, error) {
	sum := inTime(func() contentSum { return sumOf(owner, from, data) })
	p := payload{bytes: data, json: rawjson.Valid(data)}
	if p.json {
		p.form, p.coded = asValue, rawjson.Span{To: len(data)}
	}
	return s.keep(ctx, owner, from, result{raw: data, other: true}, p, sum())
}

// inTime begins a computation on another processor; the function it returns waits for it.
func inTime[T any](f func() T) func() T {
	done := make(chan T, 1)
	go func() { done <- f() }()
	return func() T { return <-done }
}

// contentSum tells results of one owner and origin apart.
type contentSum [sha256.Size]byte

func sumOf(owner Owner, from Sources, raw []byte) (sum contentSum) {
	h := sha256.New()
	for _, s := range append([]string{owner.Principal, owner.Session}, from.Names()...) {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	h.Write([]byte{0}) // ends the names
	h.Write(raw)
	h.Sum(sum[:0])
	return sum
}

// again returns what is kept already under a sum, nil if nothing is.
func (s *Shelf) again(sum contentSum) *Artifact {
	if s.o.Keep { // others remove by the age of the files
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.sums[sum]
	if e == nil || e.removed || s.expired(e, s.o.Now()) {
		return nil
	}
	e.used = s.o.Now()
	return s.snapshot(e)
}

func (s *Shelf) keep(ctx context.Context, owner Owner, from Sources, r result, data payload, sum contentSum) (*Artifact, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.work.Done()
	if a := s.again(sum); a != nil {
		return a, nil
	}
	most, _ := s.allowance(owner.Principal)
	if size := int64(len(r.raw)); size > most {
		return nil, fmt.Errorf("%w: a result of %d bytes exceeds the quota of %d", ErrNoSpace, size, most)
	}
	d := &draft{ctx: ctx, shelf: s, r: r, entry: &entry{sum: sum, manifest: manifest{
		Artifact: Artifact{ID: randomID(), From: from, Created: s.o.Now()},
		Owner:    s.scope(owner), Contents: map[Part]content{},
	}}}
	if err := d.write(data); err != nil {
		d.drop()
		return nil, fmt.Errorf("keep result: %w", err)
	}
	return s.commit(d)
}

// draft is a result on its way into the store.
type draft struct {
	ctx      context.Context
	shelf    *Shelf
	r        result
	entry    *entry
	holes    []hole
	reserved int64
	spent    int64
}

// write writes all objects of a result.
func (d *draft) write(data payload) error {
	if err := d.shelf.reserve(d.entry.Owner.Principal, int64(len(d.r.raw)), 0); err != nil {
		return err
	}
	d.reserved = int64(len(d.r.raw))
	if err := d.data(data); err != nil {
		return err
	}
	if err := d.blocks(data); err != nil {
		return err
	}
	if err := d.rest(); err != nil {
		return err
	}
	d.shelf.locate(&d.entry.manifest)
	if d.shelf.o.Keep {
		return d.manifest()
	}
	return nil
}

// data writes the main object and describes it.
func (d *draft) data(p payload) error {
	a := &d.entry.Artifact
	looked := inTime(func() shape.About { return shape.Describe(p.bytes, p.json, p.binary, p.mimeType) })
	rebuilt := inTime(func() coding { return codingOf(d.r.raw, p) })
	c, compact, err := d.content(a.ID+p.extension(), p)
	about, code := looked(), rebuilt()
	if err != nil {
		return err
	}
	d.entry.Contents[Data] = c
	if h, ok := code.hole(p, Data, compact); ok {
		d.holes = append(d.holes, h)
	} else if d.r.other && !p.json { // a text of its own: its raw form is its content
		d.holes = append(d.holes, hole{rawjson.Span{To: len(d.r.raw)}, piece{}})
	}
	a.MimeType, a.Bytes = c.MimeType, c.Size
	a.Kind, a.Shape, a.Sample, a.Keys, a.Rows = about.Kind, about.Shape, about.Sample, about.Keys, about.Rows
	d.entry.Table, d.entry.Field, d.entry.Question = about.Table, about.Field, about.Question
	if c.Index == nil {
		return nil
	}
	a.Lines, a.LongestLine = c.Index.Lines(), int(c.Index.Longest)
	return d.shelf.count(a, bytes.NewReader(p.bytes), int64(len(p.bytes)))
}

// count says what the data costs a model.
func (s *Shelf) count(a *Artifact, r io.ReaderAt, size int64) (err error) {
	a.Tokens, a.TokensError, err = s.o.Tokens.Measure(r, size)
	a.TokensExact = a.TokensError == 0
	return err
}

// blocks lists the content blocks, writes the blobs among them, and notes which are the data again.
func (d *draft) blocks(data payload) error {
	for i, b := range d.r.blocks {
		n := Part(i + 1)
		d.entry.Blocks = append(d.entry.Blocks, blockSpans{[2]int{b.All.From, b.All.To}, [2]int{b.Text.From, b.Text.To}})
		info := PartInfo{N: i + 1, Type: b.Type, MimeType: b.MimeType, Name: brief.Clip(b.Name, 200), Bytes: int64(len(b.All.Of(d.r.raw)))}
		switch {
		case int(n) == data.block:
			info.Bytes, info.Binary = int64(len(data.bytes)), data.binary
			d.entry.Contents[n] = d.entry.Contents[Data]
		case !b.Blob.Empty():
			if err := d.blob(n, &info); err != nil {
				return err
			}
		case !b.Text.Empty():
			p := d.r.block(i)
			info.Bytes = int64(len(p.bytes))
			d.same(n, data, p)
		}
		d.entry.Artifact.Parts = append(d.entry.Artifact.Parts, info)
	}
	return nil
}

func (d *draft) blob(n Part, info *PartInfo) error {
	p := d.r.block(int(n) - 1)
	if p.form != asBlob {
		return nil
	}
	c, _, err := d.content(d.entry.Artifact.ID+"-"+strconv.Itoa(int(n))+p.extension(), p)
	if err != nil {
		return err
	}
	d.entry.Contents[n] = c
	info.Bytes, info.Binary = c.Size, c.Binary
	if h, ok := holeFor(d.r.raw, p, n, true); ok {
		d.holes = append(d.holes, h)
	}
	return nil
}

// same notes a text that says what structuredContent says: servers send both for old clients.
func (d *draft) same(n Part, data, text payload) {
	if data.form != asValue || !text.json {
		return
	}
	same, compact := layout.Same(text.bytes, data.bytes)
	if !same {
		return
	}
	d.entry.Contents[n] = d.entry.Contents[Data]
	if h, ok := holeFor(d.r.raw, text, Data, compact); ok {
		d.holes = append(d.holes, h)
	}
}

// rest keeps the bytes of the raw result that nothing stored gives back.
func (d *draft) rest() error {
	e := d.entry
	var rest []byte
	if e.Pieces, rest = piecesOf(d.r.raw, d.holes); len(rest) <= inlineRest {
		e.Rest = rest
		return nil
	}
	e.RestName = e.Artifact.ID + "-rest"
	_, err := d.object(e.RestName, nil, func(w *bufio.Writer) error {
		_, err := w.Write(rest)
		return err
	})
	return err
}

// manifest writes the object without which a kept result does not exist; so it comes last.
func (d *draft) manifest() error {
	d.entry.Artifact.Handle = d.shelf.nextHandle(d.entry)
	data, err := json.Marshal(d.entry.manifest)
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	_, err = d.object(d.entry.Artifact.ID+manifestSuffix, nil, func(w *bufio.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return err
}

// content stores a payload: JSON laid out, all else as it is. compact: see layout.
func (d *draft) content(name string, p payload) (c content, compact bool, err error) {
	c = content{Name: name, JSON: p.json, Binary: p.binary, MimeType: p.mimeType}
	if p.json {
		c.MimeType = "application/json"
	} else if c.MimeType == "" {
		c.MimeType = "text/plain"
	}
	if !p.binary {
		c.Index = &byline.Index{}
	}
	c.Size, err = d.object(name, c.Index, func(w *bufio.Writer) (err error) {
		if p.json {
			compact, err = layout.Write(w, p.bytes)
			return err
		}
		_, err = w.Write(p.bytes)
		return err
	})
	return c, compact, err
}

// object writes one object.
func (d *draft) object(name string, index *byline.Index, fill func(*bufio.Writer) error) (int64, error) {
	if err := d.shelf.reserve(d.entry.Owner.Principal, 0, 1); err != nil {
		return 0, err
	}
	w, err := d.shelf.store.Create(d.ctx, name)
	if err != nil {
		d.shelf.giveBack(d.entry.Owner.Principal, 0, 1)
		return 0, err
	}
	d.entry.objects = append(d.entry.objects, name)
	defer w.Abort()
	out := &output{draft: d, w: w, index: index}
	buffered := bufio.NewWriterSize(out, byline.Block)
	if err := fill(buffered); err != nil {
		return 0, err
	}
	if err := buffered.Flush(); err != nil {
		return 0, err
	}
	return out.size, w.Close()
}

// afford makes sure that so many more bytes are reserved, and spends them.
func (d *draft) afford(bytes int64) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if short := d.spent + bytes - d.reserved; short > 0 {
		more := max(short, min(growth, d.reserved))
		if err := d.shelf.reserve(d.entry.Owner.Principal, more, 0); err != nil {
			return err
		}
		d.reserved += more
	}
	d.spent += bytes
	return nil
}

// drop leaves nothing behind.
func (d *draft) drop() {
	d.shelf.bury(d.entry)
	d.shelf.giveBack(d.entry.Owner.Principal, d.reserved, len(d.entry.objects))
}

// commit puts a written result on the shelf.
func (s *Shelf) commit(d *draft) (*Artifact, error) {
	e := d.entry
	e.bytes = d.spent
	s.giveBack(e.Owner.Principal, d.reserved-d.spent, 0)
	if e.Artifact.Handle == "" {
		e.Artifact.Handle = s.nextHandle(e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.used = s.o.Now()
	s.entries[e.Artifact.ID] = e
	s.handles[e.Artifact.Handle] = e
	s.sums[e.sum] = e
	return s.snapshot(e), nil
}

// likeHandle matches short handles with or without a part, and whatever may be an id, a path or an address.
var likeHandle = regexp.MustCompile(`^r\d+[a-z]{2}(#\w+)?$|/|\\|^[0-9A-Za-z_-]{20,}(#\w+)?$`)

// LikeHandle reports whether a name may have been meant for a result, known or not.
func LikeHandle(name string) bool { return likeHandle.MatchString(name) }

// nextHandle returns a new short name; the long one for an anonymous owner, and where all processes know it.
func (s *Shelf) nextHandle(e *entry) string {
	if s.shared() || e.Owner.anonymous() && !s.o.Keep {
		return e.Artifact.ID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counter++
	return "r" + strconv.Itoa(s.counter) + s.letters
}
