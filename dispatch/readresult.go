package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// ReadRequest reads a part of a spilled result.
type ReadRequest struct {
	// Files names what to read: a handle, path, long id or spill:// URI, each with an optional #part. Of several it is
	// the list of their data.
	Files []string
	// Query says what to show; Budget is filled in from the agent's.
	Query spill.Query
	// ToFile keeps what Query.Path and Query.JQ made of it under a new handle.
	ToFile bool
}

// ReadAnswer is a part of a spilled result.
type ReadAnswer struct {
	Action          string            `json:"action"`
	Op              string            `json:"op"`
	ResultFile      string            `json:"resultFile"`
	ByteSize        int64             `json:"byteSize"`
	TotalLines      int               `json:"totalLines"`
	Lines           int               `json:"lines,omitempty"`
	FromLine        int               `json:"fromLine,omitempty"`
	ToLine          int               `json:"toLine,omitempty"`
	Pattern         string            `json:"pattern,omitempty"`
	MatchCount      *int              `json:"matchCount,omitempty"`
	ReturnedMatches *int              `json:"returnedMatches,omitempty"`
	Shape           string            `json:"shape,omitempty"`
	Parts           []spill.PartInfo  `json:"parts,omitempty"`
	LongestLine     int               `json:"longestLine,omitempty"`
	Expires         string            `json:"expires,omitempty"`
	From            []string          `json:"from,omitempty"` // where the data came from, with op stat
	Rows            int               `json:"rows,omitempty"`
	Form            string            `json:"form,omitempty"` // csv or toon, if the text is that
	Truncated       bool              `json:"truncated"`
	NextLine        int               `json:"nextLine,omitempty"`
	NextOffset      int64             `json:"nextOffset,omitempty"`
	EstimatedTokens int               `json:"estimatedTokens"`
	Handle          string            `json:"handle,omitempty"` // of what was kept by ToFile
	Repairs         []string          `json:"repairs,omitempty"`
	Content         []json.RawMessage `json:"content"`

	Text   string          `json:"-"`
	Block  json.RawMessage `json:"-"` // an image block, nil if none
	Base64 bool            `json:"-"` // Text is bytes in base64
}

// Ops are the ways to read, in the order help shows them.
var Ops = []string{"stat", "head", "tail", "slice", "bytes", "grep", "read", "shape", "sample"}

// opSpellings are other words for an op.
var opSpellings = map[string]string{"get": "read", "jq": "read"}

func readRequest(r *request) ReadRequest {
	q := spill.Query{Op: r.Op, Path: r.Path, JQ: r.JQ, Lines: r.Lines, FromLine: r.FromLine, ToLine: r.ToLine, Context: r.Context,
		Offset: r.Offset, MaxBytes: r.MaxBytes, Pattern: r.Pattern, Invert: r.Invert, Format: r.Format}
	if r.Limit != nil {
		q.Limit = *r.Limit
	}
	if q.Op == "" {
		q.Op = r.impliedOp()
	}
	if op, ok := opSpellings[q.Op]; ok {
		q.Op = op
	}
	return ReadRequest{Files: r.ResultFile, Query: q, ToFile: r.ResultToFile}
}

// checkRead refuses a bad op or expression before anything is read or called.
func (d *Dispatcher) checkRead(r ReadRequest) error {
	if !slices.Contains(Ops, r.Query.Op) {
		return &Error{Code: BadRequest, Message: fmt.Sprintf("there is no op %q", r.Query.Op), Do: "Ops: " + strings.Join(Ops, ", "),
			Suggestions: arguments.Nearest(r.Query.Op, Ops, 2)}
	}
	if err := d.o.Shelf.Check(r.Query); err != nil {
		return shelfError("", err)
	}
	return nil
}

// ReadResult reads a part of a spilled result, bounded by the agent's budget.
func (d *Dispatcher) ReadResult(ctx context.Context, a Agent, r ReadRequest) (*ReadAnswer, error) {
	if len(r.Files) == 0 {
		return nil, &Error{Code: BadRequest, Message: "resultFile is missing", Do: "Give the handle that the report of a spilled result names"}
	}
	if err := d.checkRead(r); err != nil {
		return nil, err
	}
	items, err := d.items(ctx, a, r.Files)
	if err != nil {
		return nil, err
	}
	answer, err := d.read(ctx, a, items, r)
	if err != nil {
		return nil, shelfError(strings.Join(r.Files, ", "), err)
	}
	if r.ToFile {
		return d.keepRead(ctx, a, answer, items, r)
	}
	return answer, nil
}

// read runs one query within the agent's budget.
func (d *Dispatcher) read(ctx context.Context, a Agent, items []spill.Item, r ReadRequest) (*ReadAnswer, error) {
	budget := d.Budget(a.Client)
	q := r.Query
	q.Budget = budget - min(aroundText, budget/4)
	out, err := d.readWithin(ctx, items, q)
	if err != nil || q.MaxBytes > 0 || q.Format != "json" {
		return out, err
	}
	// As a string in JSON a text takes more; how much more is known once it is there.
	if size := len(mustJSON(out)) + len(textBlock(out.Text)); size > budget {
		q.Budget = max(q.Budget-(size-budget)-aroundText, q.Budget*q.Budget/size*9/10)
		return d.readWithin(ctx, items, q)
	}
	return out, nil
}

// aroundText is what an answer says around the text it shows, in bytes: counts, repairs, where to go on.
const aroundText = 200

// readWithin runs one query within its budget.
func (d *Dispatcher) readWithin(ctx context.Context, items []spill.Item, q spill.Query) (*ReadAnswer, error) {
	got, err := d.o.Shelf.ReadAll(ctx, items, q)
	if err != nil {
		return nil, err
	}
	art := items[0].Artifact
	out := &ReadAnswer{Action: "readresult", Op: got.Op, ResultFile: fileOf(art), ByteSize: got.ByteSize, TotalLines: got.TotalLines,
		Lines: got.Lines, FromLine: got.FromLine, ToLine: got.ToLine, Pattern: got.Pattern, Shape: got.Shape, LongestLine: got.LongestLine,
		Rows: got.Rows, Form: got.Format, Truncated: got.Truncated, NextLine: got.NextLine, NextOffset: got.NextOffset, Text: got.Text, Block: got.Block, Base64: got.Base64, Content: []json.RawMessage{}}
	if got.Op == "grep" {
		out.MatchCount, out.ReturnedMatches = &got.MatchCount, &got.ReturnedMatches
	}
	if got.Op == "stat" {
		out.From = spill.SourcesOf(items).Names()
		out.Parts, out.Expires, out.EstimatedTokens = art.Parts, art.Expires.UTC().Format("2006-01-02T15:04:05Z"), art.Tokens
	} else {
		out.EstimatedTokens = d.tokensOf(got.Text)
	}
	return out, nil
}

// tokensOf is what a text costs a model; of a long one, which only programs read, an estimate from samples.
func (d *Dispatcher) tokensOf(text string) int {
	const long = 128 << 10
	if len(text) > long {
		if n, _, err := d.o.Tokens.Estimate(strings.NewReader(text), int64(len(text))); err == nil {
			return n
		}
	}
	return d.o.Tokens.Count(text)
}

// fileOf names an artifact for programs: its path in a local store, else its handle.
func fileOf(art *spill.Artifact) string {
	if art.Path != "" {
		return art.Path
	}
	return art.Handle
}

// keepRead keeps what path and jq made of the results under a new handle.
func (d *Dispatcher) keepRead(ctx context.Context, a Agent, answer *ReadAnswer, items []spill.Item, r ReadRequest) (*ReadAnswer, error) {
	v, err := d.o.Shelf.Extract(ctx, items, spill.Want{Path: r.Query.Path, JQ: r.Query.JQ})
	if err != nil {
		return nil, shelfError(strings.Join(r.Files, ", "), err)
	}
	kept, err := d.o.Shelf.PutData(ctx, owner(a), spill.SourcesOf(items), v)
	if err != nil {
		return nil, shelfError(r.Files[0], err)
	}
	answer.Handle = kept.Handle
	answer.Text, answer.Block = kept.Report(spill.ReportExtra{}), nil
	answer.Truncated, answer.NextLine, answer.NextOffset = false, 0, 0
	return answer, nil
}

// nothing reports whether a path or filter was sound and led to nothing.
func nothing(err error) bool { return errors.Is(err, spill.ErrNoMatch) }

// shelfError turns a store's failure into words an agent can act on.
func shelfError(name string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e := &Error{Code: Internal, Message: err.Error(), Err: err}
	name = clip(name, 80)
	switch {
	case errors.Is(err, spill.ErrStale):
		e.Code, e.Message, e.Do = NotFound, name+" is from before a restart", "Repeat the call"
	case errors.Is(err, spill.ErrExpired):
		e.Code, e.Message, e.Do = Expired, name+" has expired", "Repeat the call"
	case errors.Is(err, spill.ErrNotFound):
		e.Code, e.Message, e.Do = NotFound, fmt.Sprintf("there is no result %q", name), "Use the handle that the report of a spilled result names"
	case errors.Is(err, spill.ErrDenied):
		e.Code, e.Message, e.Do = Denied, fmt.Sprintf("%q may not be read", name), "Only spilled results and files under allowedRoots can be read"
	case errors.Is(err, spill.ErrNoMatch):
		e.Code, e.Do = BadRequest, "The result is kept; look at it with op stat"
	case errors.Is(err, spill.ErrBadQuery):
		e.Code = BadRequest
	case errors.Is(err, spill.ErrTooLarge), errors.Is(err, spill.ErrNoSpace):
		e.Code, e.Do = TooLarge, "Ask for less: narrow it with path or jq, or look with grep, slice or sample"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Code = Timeout
	}
	return e
}

func (a *ReadAnswer) render(r *request, budget int) json.RawMessage {
	blocks := []json.RawMessage{textBlock(a.body())}
	if a.Block != nil {
		blocks = append(blocks, a.Block)
	}
	if !r.wantsJSON() {
		if text := withRepairs(r.notes, a.body()); text != "" || a.Block == nil {
			blocks[0] = textBlock(text)
		} else {
			blocks = blocks[1:]
		}
		return contentResult(blocks, false)
	}
	a.Repairs = r.notes
	a.Content = append([]json.RawMessage{textBlock(a.Text)}, blocks[1:]...)
	return jsonResult(a, false)
}

// body is the text of the answer and, where something was cut, where to go on.
func (a *ReadAnswer) body() string {
	var b strings.Builder
	if a.MatchCount != nil {
		fmt.Fprintf(&b, "%d matches, %d shown\n", *a.MatchCount, *a.ReturnedMatches)
	}
	if a.Form != "" {
		fmt.Fprintf(&b, "%d rows as %s:\n", a.Rows, a.Form)
	}
	b.WriteString(a.Text)
	switch {
	case a.NextLine > 0:
		fmt.Fprintf(&b, "\n(cut; nextLine: %d of %d)", a.NextLine, a.TotalLines)
	case a.NextOffset > 0:
		fmt.Fprintf(&b, "\n(cut; nextOffset: %d of %d bytes)", a.NextOffset, a.ByteSize)
	case a.Truncated:
		b.WriteString("\n(cut; ask for less, or raise maxBytes)")
	}
	return b.String()
}
