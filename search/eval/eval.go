// Package eval measures how well search finds what labelled queries want.
package eval

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/search"
)

// Tool is one element of a catalog file: what `tools --json` prints.
type Tool struct {
	Server, Name, Title, Description string
	InputSchema, Annotations         json.RawMessage
}

// ID is the tool's key in the index.
func (t Tool) ID() string { return Ref{t.Server, t.Name}.ID() }

// Ref names a tool.
type Ref struct {
	Server string `json:"server"`
	Name   string `json:"name"`
}

// ID is the key of the tool in the index.
func (r Ref) ID() string { return r.Server + "/" + r.Name }

// Query is a question with the tools that answer it; any of them will do, the more of them the better.
type Query struct {
	ID       string `json:"id"`
	Query    string `json:"query"`
	Category string `json:"category"`
	Relevant []Ref  `json:"relevant"`
}

// ReadCatalog reads a JSON array of tools.
func ReadCatalog(r io.Reader) ([]Tool, error) {
	var tools []Tool
	if err := json.NewDecoder(r).Decode(&tools); err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	for i, t := range tools {
		if t.Name == "" {
			return nil, fmt.Errorf("read catalog: element %d has no name", i+1)
		}
	}
	return tools, nil
}

// maxLine bounds a line of the files of queries and ranks.
const maxLine = 4 << 20

// ReadQueries reads one query a line; blank lines count for nothing.
func ReadQueries(r io.Reader) ([]Query, error) {
	qs, err := readLines[Query](r, "queries")
	for i, q := range qs {
		if q.Query == "" || len(q.Relevant) == 0 {
			return nil, fmt.Errorf("read queries: number %d has no query or no relevant tool", i+1)
		}
		if q.ID == "" {
			qs[i].ID = fmt.Sprint(i + 1)
		}
	}
	return qs, err
}

func readLines[T any](r io.Reader, what string) ([]T, error) {
	var all []T
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for n := 1; s.Scan(); n++ {
		line := bytes.TrimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("read %s: line %d: %w", what, n, err)
		}
		all = append(all, v)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return all, nil
}

// Searcher answers queries; search.Index is one.
type Searcher interface {
	Search(ctx context.Context, q search.Query) (search.Result, error)
}

// Options say what is measured.
type Options struct {
	Search  Searcher
	Queries []Query
	Repeat  int // how often all queries are asked; the best time of each counts; 0 means 1
	Depth   int // hits kept of each query; 0 means 20
}

// Outcome is what one query got.
type Outcome struct {
	Query     Query
	Ranked    []Ranked
	Figures   Figures
	Confident bool
	Note      string // what the index says beside its hits
	Took      time.Duration
}

// Ranked is one hit.
type Ranked struct {
	Server string  `json:"server"`
	Name   string  `json:"name"`
	Score  float64 `json:"score"`
}

// Run asks every query, one at a time.
func Run(ctx context.Context, tools []Tool, o Options) ([]Outcome, error) {
	if o.Search == nil {
		return nil, errors.New("run queries: nothing to ask")
	}
	known := make(map[string]Ref, len(tools))
	for _, t := range tools {
		known[t.ID()] = Ref{t.Server, t.Name}
	}
	out := make([]Outcome, len(o.Queries))
	for round := range max(o.Repeat, 1) {
		for i, q := range o.Queries {
			start := time.Now()
			r, err := o.Search.Search(ctx, search.Query{Text: q.Query})
			took := time.Since(start)
			if err != nil {
				return nil, fmt.Errorf("ask %q: %w", clip(q.Query, 80), err)
			}
			if round == 0 {
				out[i] = outcome(q, r, known, o.Depth)
				out[i].Took = took
			}
			out[i].Took = min(out[i].Took, took)
		}
	}
	return out, nil
}

func outcome(q Query, r search.Result, known map[string]Ref, depth int) Outcome {
	if depth <= 0 {
		depth = 20
	}
	o := Outcome{Query: q, Confident: r.Confident, Note: r.Note, Ranked: []Ranked{}}
	for _, h := range r.Hits[:min(len(r.Hits), depth)] {
		ref := known[h.ID]
		o.Ranked = append(o.Ranked, Ranked{ref.Server, ref.Name, h.Score})
	}
	o.Figures = grade(o.Ranked, q.Relevant)
	return o
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
