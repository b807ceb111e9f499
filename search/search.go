// Package search ranks short documents for a question.
package search

import (
	"cmp"
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
	About       []string // the same about its server as a whole
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
	Note      string // why meaning was not asked, if it should have been
}

// ErrClosed is returned by Search after Close.
var ErrClosed = errors.New("index is closed")

const (
	maxQuery = 1000 // bytes of a query that are looked at
	maxSlots = 40   // words of a query that are looked at
	maxHits  = 1000 // hits in a Result
	maxNear  = 5    // near names in a Result
)

// Search ranks the documents for q; the things a query asks for take turns. It is safe for concurrent use. The error
// is ctx's, ErrClosed, or that of a damaged index or lexicon.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.bleve == nil {
		return Result{}, ErrClosed
	}
	text := clip(q.Text, maxQuery)
	e := &errand{x: x, ctx: ctx, keep: q.Keep, holders: map[string][]holder{}, most: maxHits}
	parts := []string{text}
	if e.whole = x.tune.noIntents || x.isName(text); !e.whole {
		parts = intents(text)
	}
	asks := make([]asked, len(parts))
	if x.meaning != nil {
		for i, p := range parts {
			asks[i] = x.meaning.ask(ctx, p)
		}
	}
	if len(parts) > 1 {
		e.union = map[int32]bool{}
	}
	all := make([]ranked, len(parts))
	for i, p := range parts {
		var err error
		if all[i], err = e.rank(p, asks[i]); err != nil {
			return Result{}, err
		}
	}
	top, total := all[0].top, all[0].total
	if len(all) > 1 {
		top, total = x.takeTurns(all), len(e.union)
	}
	return x.result(all, top, total, q), ctx.Err()
}

// result tells what the intents of q found.
func (x *Index) result(all []ranked, top []candidate, total int, q Query) Result {
	res := Result{Total: total, Hits: make([]Hit, len(top))}
	for i, c := range top {
		res.Hits[i] = Hit{ID: x.docs[c.doc].id, Score: float64(c.score), Fields: fieldNames(c.fields)}
	}
	for _, r := range all {
		res.Confident = res.Confident || r.confident
		res.Note = cmp.Or(res.Note, r.note)
	}
	if !res.Confident {
		res.Near = x.near(clip(q.Text, maxQuery), q.Keep)
	}
	return res
}

// isName is true of a text that is some document's name, whatever it reads like.
func (x *Index) isName(text string) bool {
	r, err := x.reader.TermFieldReader(context.Background(), []byte(normal(text)), exactField, false, false, false)
	if err != nil {
		return false // the ranking meets the same error and tells it
	}
	defer r.Close()
	return r.Count() > 0
}
