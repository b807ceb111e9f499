package search

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
)

// How a document is kept. The index holds one bleve field, and what bleve
// keeps as a term's frequency is the term's whole evidence for the document:
// the weighted, length-normalised sum over the document's own fields in the
// upper bits, and a mask of these fields in the lower ones. So a word costs
// one posting list instead of ten, and the ranking reads nothing else. A
// second bleve field holds the names as one word, for exact look-ups.
const (
	termField  = "t"
	exactField = "x"

	// Documents come to bleve in at most segments batches, of chunk documents
	// or more: small ones bound the memory a build takes, few ones the look-ups
	// of a query.
	segments = 8
	chunk    = 250
)

// Index answers queries over the documents it was built from. It is
// immutable: build a new one for a changed catalog.
type Index struct {
	mu      sync.RWMutex // held for reading while a search runs
	bleve   bleve.Index
	reader  index.IndexReader
	ord     []int32 // bleve's document number → position in docs
	docs    []doc
	order   []int32 // positions in docs by their places
	servers []server
	vocab   vocabulary
	stems   stemTable
	lexicon *Lexicon
	meaning *semantics // nil without
	boards  sync.Pool
	tune    tuning
}

// doc is what ranking needs of a Doc besides its words. The strings are the
// caller's, shared.
type doc struct {
	id, name string
	server   int32
	place    int32   // in the order of ids, which breaks ties
	nameSum  float32 // what the words of the name weigh together
}

// server is one server's name and the words that name it.
type server struct {
	name  string
	words []string
}

// Build is Options{}.Build.
func Build(docs []Doc) (*Index, error) { return Options{}.Build(docs) }

func build(docs []Doc, t tuning, o Options) (*Index, error) {
	bx, err := bleve.NewUsing("", bleve.NewIndexMapping(), scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("create index: %w", err)
	}
	x := &Index{bleve: bx, tune: t, lexicon: o.Lexicon, docs: make([]doc, len(docs))}
	x.boards.New = func() any { return newBoard(len(docs)) }
	b := newBuilder(x, docs)
	step := max(chunk, (len(docs)+segments-1)/segments)
	for start := 0; start < len(docs); start += step {
		if err := b.add(start, min(start+step, len(docs))); err != nil {
			return nil, closing(bx, err)
		}
	}
	if err := x.open(); err != nil {
		return nil, closing(bx, err)
	}
	b.finish()
	if o.Meaning != nil {
		x.meaning = newSemantics(o.Meaning, docs)
	}
	return x, nil
}

func closing(bx bleve.Index, err error) error {
	_ = bx.Close() // the first error is the one that matters
	return err
}

// Close frees the index; it waits for running searches.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.bleve == nil {
		return nil
	}
	err := x.reader.Close()
	if cerr := x.bleve.Close(); err == nil {
		err = cerr
	}
	x.bleve, x.reader = nil, nil
	if x.meaning != nil {
		x.meaning.close()
	}
	return err
}

// Learned waits until the vectors of all documents are there; without Meaning it returns at once. The error is ctx's,
// or that of the first failure to get them, after which they are asked for again in time.
func (x *Index) Learned(ctx context.Context) error {
	if x.meaning == nil {
		return nil
	}
	select {
	case <-x.meaning.ready:
		return nil
	case err := <-x.meaning.fault:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open takes the one reader all searches share and learns bleve's document
// numbers, which differ from run to run.
func (x *Index) open() error {
	ax, err := x.bleve.Advanced()
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	if x.reader, err = ax.Reader(); err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	x.ord = make([]int32, len(x.docs))
	ids, err := x.reader.DocIDReaderAll()
	if err != nil {
		return fmt.Errorf("list documents: %w", err)
	}
	defer ids.Close()
	for {
		id, err := ids.Next()
		if id == nil || err != nil {
			return err
		}
		name, err := x.reader.ExternalID(id)
		if err != nil {
			return fmt.Errorf("list documents: %w", err)
		}
		n, err := strconv.Atoi(name)
		if err != nil || int(id.Value()) >= len(x.ord) {
			return fmt.Errorf("list documents: unexpected %q", name)
		}
		x.ord[id.Value()] = int32(n)
	}
}
