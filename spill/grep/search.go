package grep

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"regexp/syntax"
	"runtime"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
)

// Search says what is looked for, and where.
type Search struct {
	Pattern  *Pattern
	Text     io.ReaderAt
	Index    *byline.Index // of the text
	From, To int           // lines searched, from 1, inclusive
	Invert   bool          // the lines that do not match
	Limit    int           // hits returned; all are counted
}

// Found is what a search gave.
type Found struct {
	Count int
	Hits  []Hit // the first of them
	Next  int   // line of the first hit that is not among Hits, 0 if there is none
}

// Run searches. It ends early when ctx does.
func (s Search) Run(ctx context.Context) (Found, error) {
	g := &search{Search: s, re: s.Pattern.re, tree: s.Pattern.tree}
	err := g.run(ctx)
	return g.Found, err
}

// search goes once through the lines, block by block, on as many processors as there are, at most four. Where a line
// stands in the text is known from the index, so only lines that are shown are counted up to.
type search struct {
	Search
	Found
	re    *regexp.Regexp
	tree  *syntax.Regexp
	from  int64 // bytes searched
	end   int64
	quick *fragment // nil: every line is looked at
	whole bool      // the fragment is the whole pattern
}

// found is what one block gave.
type found struct {
	count int
	hits  []Hit
	err   error
}

func (g *search) run(ctx context.Context) (err error) {
	if g.from, err = g.Index.Start(g.Text, g.From); err != nil {
		return err
	}
	if g.end, err = g.Index.Start(g.Text, g.To+1); err != nil {
		return err
	}
	if g.from >= g.end {
		return nil
	}
	if err := g.prepare(); err != nil {
		return err
	}
	results := make([]found, (g.end-g.from+grepBlock-1)/grepBlock)
	var work sync.WaitGroup
	blocks := make(chan int)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range min(runtime.GOMAXPROCS(0), 4, len(results)) {
		work.Go(func() {
			w := g.worker(ctx)
			for i := range blocks {
				if results[i] = w.block(g.from + int64(i)*grepBlock); results[i].err != nil {
					stop()
				}
			}
		})
	}
	for i := range results {
		select {
		case blocks <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(blocks)
	work.Wait()
	for _, r := range results {
		if r.err != nil {
			return r.err
		}
		g.Count += r.count
		g.Hits = append(g.Hits, r.hits[:min(len(r.hits), g.Limit+1-len(g.Hits))]...)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return g.number()
}

// prepare looks at a sample of the text, to choose what to look for first.
func (g *search) prepare() error {
	sample := make([]byte, min(g.end-g.from, byline.Block))
	if err := byline.ReadAt(g.Text, sample, g.from+(g.end-g.from-int64(len(sample)))/2); err != nil {
		return err
	}
	if g.Invert {
		return nil
	}
	all := fragments(g.tree)
	g.quick = rarest(all, sample)
	g.whole = g.quick != nil && g.tree.Op == syntax.OpLiteral && g.tree.Flags&syntax.FoldCase != 0 && len(all) == 1 && len(all[0]) == len(g.tree.Rune)
	return nil
}

// number finds the numbers of the lines that are shown, and of the one behind.
func (g *search) number() error {
	for i := range g.Hits {
		n, err := g.Index.Number(g.Text, g.Hits[i].At)
		if err != nil {
			return err
		}
		g.Hits[i].Line = n
	}
	if len(g.Hits) > g.Limit {
		g.Next = g.Hits[g.Limit].Line
		g.Hits = g.Hits[:g.Limit]
	}
	return nil
}

// worker searches blocks, one after the other.
type worker struct {
	*search
	ctx  context.Context
	auto *automaton // nil: none for this pattern
	slow int        // lines that took package regexp
	buf  []byte
}

func (g *search) worker(ctx context.Context) *worker {
	return &worker{search: g, ctx: ctx, auto: newAutomaton(g.tree), buf: make([]byte, 1, grepBlock+byline.Block)}
}

// block searches the lines that begin in one block of the text.
func (w *worker) block(at int64) (f found) {
	end := min(at+grepBlock, w.end)
	if at > w.from { // a line that began before belongs to the block before
		at--
	}
	b, err := w.read(at, end)
	if err != nil {
		return found{err: err}
	}
	if at > w.from {
		feed := bytes.IndexByte(b, '\n')
		if feed < 0 || at+int64(feed)+1 >= end {
			return found{}
		}
		b, at = b[feed+1:], at+int64(feed)+1
	}
	whole := len(b)
	if at+int64(whole) < w.end && b[whole-1] != '\n' { // the last line is too long for memory
		whole = bytes.LastIndexByte(b, '\n') + 1
	}
	if w.quick != nil {
		w.skim(&f, b[:whole], at)
	} else {
		w.all(&f, b[:whole], at)
	}
	if whole < len(b) {
		f.err = w.long(&f, at+int64(whole))
	}
	return f
}

// read fills the buffer from at to end, and on to the end of the line that end lies in, if that is not far.
func (w *worker) read(at, end int64) ([]byte, error) {
	w.buf = w.buf[:0]
	for {
		n := len(w.buf)
		more := int(end-at) - n
		if cap(w.buf) < n+more {
			w.buf = append(make([]byte, 0, 2*cap(w.buf)+more), w.buf...)
		}
		w.buf = w.buf[:n+more]
		if err := byline.ReadAt(w.Text, w.buf[n:], at+int64(n)); err != nil {
			return nil, err
		}
		if n > 0 {
			if feed := bytes.IndexByte(w.buf[n:], '\n'); feed >= 0 {
				return w.buf[:n+feed+1], nil
			}
		}
		if end == w.end || n == 0 && w.buf[len(w.buf)-1] == '\n' || len(w.buf) > grepBlock+grepLine {
			return w.buf, nil
		}
		end = min(end+byline.Block, w.end)
	}
}

// skim looks for the fragment and at the lines that hold it.
func (w *worker) skim(f *found, b []byte, at int64) {
	for i := 0; i < len(b); {
		place := w.quick.find(b, i)
		if place < 0 {
			return
		}
		start := bytes.LastIndexByte(b[i:place], '\n') + 1 + i
		end := len(b)
		if n := bytes.IndexByte(b[place:], '\n'); n >= 0 {
			end = place + n
		}
		if w.whole || w.matches(b[start:end]) {
			w.add(f, b[start:end], at+int64(start))
		}
		i = end + 1
	}
}

// all looks at every line.
func (w *worker) all(f *found, b []byte, at int64) {
	for i := 0; i < len(b); {
		end := len(b)
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			end = i + n
		}
		if w.matches(b[i:end]) != w.Invert {
			w.add(f, b[i:end], at+int64(i))
		}
		i = end + 1
	}
}

func (w *worker) matches(line []byte) bool {
	if w.auto != nil {
		if match, sure := w.auto.line(line); sure {
			return match
		}
	}
	if w.slow++; w.slow%64 == 0 && w.ctx.Err() != nil {
		return false // the search has failed
	}
	return w.re.Match(line)
}

func (w *worker) add(f *found, line []byte, at int64) {
	f.count++
	if len(f.hits) > w.Limit {
		return
	}
	h := Hit{At: at}
	if !w.Invert {
		if m := w.re.FindIndex(line); m != nil {
			h.Match = int64(m[0])
		}
	}
	f.hits = append(f.hits, h)
}

// long searches one line too long for memory as it is read.
func (w *worker) long(f *found, at int64) error {
	n, err := w.Index.Number(w.Text, at)
	if err != nil {
		return err
	}
	end, err := w.Index.Start(w.Text, n+1)
	if err != nil {
		return err
	}
	if int64(n) <= w.Index.Feeds {
		end-- // its feed
	}
	source := &runeReader{Reader: bufio.NewReaderSize(io.NewSectionReader(w.Text, at, end-at), byline.Block)}
	m := w.re.FindReaderIndex(source)
	if source.err != nil && !errors.Is(source.err, io.EOF) {
		return source.err
	}
	if (m == nil) == w.Invert {
		f.count++
		h := Hit{At: at}
		if m != nil {
			h.Match = int64(m[0])
		}
		f.hits = append(f.hits, h)
	}
	return nil
}
