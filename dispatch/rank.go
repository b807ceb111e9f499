package dispatch

import (
	"context"
	"slices"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/search"
)

// indexed is a search index with the entries its documents stand for.
type indexed struct {
	hash    string // of the snapshot
	entries map[string]*catalog.Entry
	mu      sync.RWMutex // read while searching, written to close
	ix      *search.Index
}

func (x *indexed) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.ix.Close()
	x.ix = nil
	return err
}

type rankedEntry struct {
	entry  *catalog.Entry
	score  float64
	fields []string
}

type ranking struct {
	hits      []rankedEntry
	total     int
	confident bool
	near      []string
	note      string
}

// rank ranks the entries that keep allows.
func (d *Dispatcher) rank(ctx context.Context, a Agent, v *view.View, query string, keep func(*catalog.Entry) bool) (ranking, error) {
	x, err := d.indexOf(d.lens(a), v)
	if err != nil {
		return ranking{}, err
	}
	defer x.mu.RUnlock()
	res, err := x.ix.Search(ctx, search.Query{Text: query, Keep: func(id string) bool { return keep(x.entries[id]) }})
	if err != nil {
		return ranking{}, &Error{Code: Internal, Message: "search: " + err.Error(), Err: err}
	}
	r := ranking{total: res.Total, confident: res.Confident, near: res.Near, note: res.Note}
	for _, h := range res.Hits {
		r.hits = append(r.hits, rankedEntry{entry: x.entries[h.ID], score: h.Score, fields: h.Fields})
	}
	return r, nil
}

// indexOf returns the index of what a lens shows, built at its first search, locked for reading.
func (d *Dispatcher) indexOf(l *lens, v *view.View) (*indexed, error) {
	l.indexing.Lock() // not mu: calls go on while an index is built
	defer l.indexing.Unlock()
	if x := l.index.Load(); x != nil && x.hash == v.Snapshot.Hash {
		x.mu.RLock()
		if x.ix != nil { // else it had to make room just now
			d.noteSearched(l)
			return x, nil
		}
		x.mu.RUnlock()
	}
	x := &indexed{hash: v.Snapshot.Hash, entries: map[string]*catalog.Entry{}}
	var docs []search.Doc
	for _, kind := range []catalog.Kind{catalog.Tool, catalog.Resource, catalog.Prompt} {
		for _, e := range v.Entries("", kind) {
			doc := d.document(v, e)
			if x.entries[doc.ID] == nil {
				x.entries[doc.ID] = e
				docs = append(docs, doc)
			}
		}
	}
	ix, err := d.o.Search.Build(docs)
	if err != nil {
		return nil, &Error{Code: Internal, Message: "build the search index: " + err.Error(), Err: err}
	}
	x.ix = ix
	x.mu.RLock()
	old := l.index.Swap(x)
	if old != nil { // waits for the searches that still use it, which take milliseconds
		if err := old.close(); err != nil {
			d.o.Log.Warn("close the old search index", "error", err)
		}
	}
	d.noteSearched(l)
	return x, nil
}

// noteSearched keeps the number of indexes within its bound.
func (d *Dispatcher) noteSearched(l *lens) {
	if err := d.book.Load().lenses.searched(l); err != nil {
		d.o.Log.Warn("close a search index", "error", err)
	}
}

// document is what search knows of an entry.
func (d *Dispatcher) document(v *view.View, e *catalog.Entry) search.Doc {
	doc := search.Doc{ID: string(e.Kind) + " " + e.Server + " " + e.Name, Kind: string(e.Kind), Server: e.Server,
		Name: e.Name, Title: e.Title, Description: e.Description, Keywords: d.book.Load().toolKeywords(e.Server, v.Origin(e).Entry.Name), About: d.book.Load().keywords[e.Server]}
	if srv := v.Snapshot.Server(e.Server); srv != nil && srv.Description != "" {
		doc.About = append(slices.Clone(doc.About), srv.Description)
	}
	if h := hintOf(e); h != "" {
		doc.Hints = []string{h}
	}
	for _, p := range e.Params() {
		doc.Params = append(doc.Params, search.Param{Name: p.Name, Description: p.Description, Enum: p.Enum})
	}
	return doc
}

// hintOf says in a word what a tool declares about its effects.
func hintOf(e *catalog.Entry) string {
	switch {
	case e.ReadOnly != nil && *e.ReadOnly:
		return "read-only"
	case e.Destructive != nil && *e.Destructive:
		return "destructive"
	}
	return ""
}
