package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// SearchRequest asks for what fits a description.
type SearchRequest struct {
	Query      string // plain words; `;` separates several intents
	Type       catalog.Kind
	Connection string
	Limit      int // 0 means 10
	Offset     int
	Refresh    bool
	Schemas    bool // add input schemas
}

// SearchAnswer is what fits, best first.
type SearchAnswer struct {
	Action       string        `json:"action"`
	Query        string        `json:"query"`
	TotalMatches int           `json:"totalMatches"` // before the page was cut
	Confident    bool          `json:"confident"`
	Results      []Found       `json:"results"`
	Unavailable  []Unavailable `json:"unavailable,omitempty"`
	Note         string        `json:"note,omitempty"` // how the ranking differs from what is configured
	Repairs      []string      `json:"repairs,omitempty"`

	near   []string
	offset int
	tokens int              // budget of the text
	count  func(string) int // tokens
}

// Found is one thing that fits a query.
type Found struct {
	Connection    string          `json:"connection"`
	Alias         string          `json:"alias"`
	Tool          string          `json:"tool"`
	Type          catalog.Kind    `json:"type"`
	Description   string          `json:"description"`
	Signature     string          `json:"signature"`
	Score         float64         `json:"score"`
	MatchedFields []string        `json:"matchedFields"`
	State         string          `json:"state"`
	InputSchema   json.RawMessage `json:"inputSchema,omitempty"`

	entry *catalog.Entry
}

const defaultHits = 10

func searchRequest(r *request) SearchRequest {
	return SearchRequest{Query: r.Query, Type: kindOf(r.Type), Connection: r.Connection, Limit: limitOf(r, defaultHits),
		Offset: int(r.Offset), Refresh: r.Refresh, Schemas: r.Format == "detail" || r.IncludeInputSchema}
}

func kindOf(typ string) catalog.Kind {
	if typ == "" {
		return catalog.Tool
	}
	return catalog.Kind(typ)
}

func limitOf(r *request, def int) int {
	if r.Limit == nil || *r.Limit == 0 {
		return def
	}
	return *r.Limit
}

// Search ranks what is seen for the query. It never waits longer than two seconds for servers.
func (d *Dispatcher) Search(ctx context.Context, a Agent, q SearchRequest) (*SearchAnswer, error) {
	if strings.TrimSpace(q.Query) == "" {
		return nil, &Error{Code: BadRequest, Message: "query is missing", Do: "Say in plain words what you want to do, or use list"}
	}
	v, err := d.fresh(ctx, a, q.Refresh, q.Connection)
	if err != nil {
		return nil, err
	}
	only := ""
	if srv := v.Snapshot.Server(q.Connection); q.Connection != "" && srv != nil {
		only = srv.Name
	}
	found, err := d.rank(ctx, a, v, q.Query, func(e *catalog.Entry) bool {
		return e.Kind == kindOf(string(q.Type)) && (only == "" || e.Server == only)
	})
	if err != nil {
		return nil, err
	}
	out := &SearchAnswer{Action: "search", Query: q.Query, TotalMatches: found.total, Confident: found.confident,
		Results: []Found{}, Unavailable: d.unavailable(v, only), Note: d.o.Redact(found.note), near: found.near, offset: q.Offset, tokens: d.o.SearchBudget, count: d.o.Tokens.Count}
	for _, h := range page(found.hits, q.Offset, limitOr(q.Limit, defaultHits)) {
		out.Results = append(out.Results, d.found(v, h, q.Schemas))
	}
	out.tokens = budgetFor(out.tokens, len(out.Results))
	return out, nil
}

// budgetFor is how many tokens an answer of n hits may take of the whole budget, which is for ten: few hits that are
// told at length cost more than they are worth.
func budgetFor(whole, n int) int {
	const few, most = 5, 10
	switch {
	case n <= few:
		return whole * 45 / 100
	case n < most:
		return whole * (45 + 55*(n-few)/(most-few)) / 100
	}
	return whole
}

func limitOr(n, def int) int {
	if n <= 0 {
		return def
	}
	return n
}

func page[T any](all []T, offset, limit int) []T {
	offset = min(max(offset, 0), len(all))
	return all[offset:min(offset+limit, len(all))]
}

func (d *Dispatcher) found(v *view.View, h rankedEntry, schemas bool) Found {
	e := h.entry
	f := Found{Connection: e.Server, Tool: catalog.Clean(e.Name), Type: e.Kind, Description: firstSentence(e.Description), Signature: e.Signature(),
		Score: h.score, MatchedFields: h.fields, State: d.state(e.Server), entry: e}
	if f.MatchedFields == nil {
		f.MatchedFields = []string{}
	}
	if srv := v.Snapshot.Server(e.Server); srv != nil {
		f.Alias = srv.Alias
	}
	if schemas {
		f.InputSchema = catalog.Visible(e.InputSchema)
	}
	return f
}

func (a *SearchAnswer) render(r *request, _ int) json.RawMessage {
	if r.wantsJSON() {
		a.Repairs = r.notes
		a.fitJSON()
		return jsonResult(a, false)
	}
	return textResult(withRepairs(r.notes, a.text()))
}

// Text returns the answer as lines for a model, within the token budget.
func (a *SearchAnswer) Text() string { return a.text() }

func (a *SearchAnswer) text() string {
	head, foot := a.head(), unavailableLine(a.Unavailable)
	if a.Note != "" {
		foot = strings.TrimLeft(foot+"\n"+clip(oneLine(a.Note), 200), "\n")
	}
	lines, cut := shrink(len(a.Results), a.tokens-a.count(head+foot)-40, a.count, func(i, level int) string { return a.Results[i].line(level) })
	var b strings.Builder
	b.WriteString(head)
	for _, l := range lines {
		b.WriteString("\n" + l)
	}
	if shown := a.offset + len(lines); shown < a.TotalMatches && a.Confident {
		fmt.Fprintf(&b, "\n%d of %d shown; next: offset %d", len(lines), a.TotalMatches, shown)
	}
	if cut != "" {
		b.WriteString("\n" + cut)
	}
	if foot != "" {
		b.WriteString("\n" + foot)
	}
	return strings.TrimLeft(b.String(), "\n")
}

func (a *SearchAnswer) head() string {
	if a.Confident && len(a.Results) == 0 {
		return fmt.Sprintf("nothing at offset %d: there are %d matches", a.offset, a.TotalMatches)
	}
	if a.Confident {
		return ""
	}
	head := "no confident match"
	if len(a.near) > 0 {
		head += "; near names: " + clip(strings.Join(a.near, ", "), 200)
	}
	if len(a.Results) > 0 {
		head += "; the nearest:"
	}
	return head
}

// fitJSON drops details, then hits, until the answer keeps its budget; totalMatches tells of the rest.
func (a *SearchAnswer) fitJSON() {
	size := func() int { return a.count(string(mustJSON(a))) }
	for _, shorten := range []func(*Found){
		func(f *Found) { f.Signature, f.Description = clip(f.Signature, 200), clip(f.Description, 160) },
		func(f *Found) { f.Signature, f.Description = clip(f.Signature, 100), clip(f.Description, 80) },
		func(f *Found) { f.InputSchema = nil },
	} {
		if size() <= a.tokens*3 { // JSON is for programs: three times the text's budget
			return
		}
		for i := range a.Results {
			shorten(&a.Results[i])
		}
	}
	for len(a.Results) > 1 && size() > a.tokens*3 {
		a.Results = a.Results[:len(a.Results)-1]
	}
}

// line renders a hit; the higher the level, the fewer its details.
func (f Found) line(level int) string {
	sig := [...]int{1200, 240, 140, 70, 0}[level]
	words := [...]int{240, 160, 90, 50, 0}[level]
	l := f.Connection + "/" + f.Tool
	if sig > 0 && f.Type != catalog.Resource {
		l += "(" + f.entry.SignatureWithin(sig) + ")"
	}
	if words > 0 && f.Description != "" {
		l += " — " + clip(f.Description, words)
	}
	if h := hintOf(f.entry); h != "" {
		l += " [" + h + "]"
	}
	if state, _, _ := strings.Cut(f.State, ":"); f.State != "" && state != "ready" {
		l += " [" + clip(f.State, 60) + "]"
	}
	if f.InputSchema != nil && level < 2 {
		l += "\n  " + oneLine(string(f.InputSchema))
	}
	return l
}
