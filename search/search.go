// Package search ranks short documents for a question.
package search

import (
	"context"
	"errors"
)

// Doc is one thing to be found: a tool, a resource or a prompt.
type Doc struct {
	ID          string   // unique key; breaks ties
	Kind        string   // what it is; not searched
	Server      string   // the server's name
	Name        string   // the entry's own name; finds it first when asked for exactly
	Title       string   // name for people
	Description string   // its first sentence weighs more than the rest
	Params      []Param  // input parameters
	Hints       []string // words such as "read-only"
	Keywords    []string // words that are searched and never shown
}

// Param is one input parameter of a Doc.
type Param struct {
	Name, Description string
	Enum              []string
}

// Query is one question. Text is plain words, never a query language; what is
// longer than 1,000 bytes is cut. Keep says which documents may be seen, nil
// means all; one it refuses is neither counted nor named.
type Query struct {
	Text string
	Keep func(id string) bool
}

// Hit is one document found. Score is above 0 and comparable only within one
// Result. Fields names where the words were found, in a fixed order: name,
// title, keyword, server, description, parameter, parameterDescription, enum, hint.
type Hit struct {
	ID     string
	Score  float64
	Fields []string
}

// Result is the answer to a Query. Hits are best first, ties by ID, at most
// 1,000; Total counts every document that holds one of the query's words.
// Confident is false when the best documents cover too little of the query;
// Near then names up to five documents ("server/name") spelled like it.
type Result struct {
	Hits      []Hit
	Total     int
	Confident bool
	Near      []string
}

// ErrClosed is returned by Search after Close.
var ErrClosed = errors.New("index is closed")

const (
	maxQuery = 1000 // bytes of a query that are looked at
	maxSlots = 40   // words of a query that are looked at
	maxHits  = 1000 // hits in a Result
	maxNear  = 5    // near names in a Result
)

// Search ranks the documents for q. It is safe for concurrent use. The error
// is ctx's, ErrClosed, or that of a damaged index.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.bleve == nil {
		return Result{}, ErrClosed
	}
	text := clip(q.Text, maxQuery)
	l := &lookup{x: x, ctx: ctx, stems: newStemmerOf(&x.tune), holders: map[string][]holder{}}
	slots, err := l.slots(text)
	if err != nil {
		return Result{}, err
	}
	b := x.board()
	defer x.boards.Put(b)
	defer b.clear()
	for i := range slots {
		if err := l.score(b, &slots[i]); err != nil {
			return Result{}, err
		}
	}
	if err := l.exact(b, text); err != nil {
		return Result{}, err
	}
	x.favour(b, slots)
	top, total := b.best(x, q.Keep)
	res := Result{Total: total, Hits: make([]Hit, len(top))}
	for i, c := range top {
		res.Hits[i] = Hit{ID: x.docs[c.doc].id, Score: float64(c.score), Fields: fieldNames(c.fields)}
	}
	res.Confident = x.confident(top, slots, l.vague)
	if !res.Confident {
		res.Near = x.near(text, q.Keep)
	}
	return res, ctx.Err()
}
