package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/search"
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
	Repairs      []string      `json:"repairs,omitempty"`

	near   []string
	offset int
	tokens int // budget of the text
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

	hint string
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
func (d *Dispatcher) Search(ctx context.Context, _ Agent, q SearchRequest) (*SearchAnswer, error) {
	if strings.TrimSpace(q.Query) == "" {
		return nil, &Error{Code: BadRequest, Message: "query is missing", Do: "Say in plain words what you want to do, or use list"}
	}
	v, err := d.fresh(ctx, q.Refresh, q.Connection)
	if err != nil {
		return nil, err
	}
	only := ""
	if srv := v.Snapshot.Server(q.Connection); q.Connection != "" && srv != nil {
		only = srv.Name
	}
	found, err := d.rank(ctx, v, q.Query, func(e *catalog.Entry) bool {
		return e.Kind == kindOf(string(q.Type)) && (only == "" || e.Server == only)
	})
	if err != nil {
		return nil, err
	}
	a := &SearchAnswer{Action: "search", Query: q.Query, TotalMatches: found.total, Confident: found.confident,
		Results: []Found{}, Unavailable: d.unavailable(v, only), near: found.near, offset: q.Offset, tokens: d.o.SearchBudget}
	for _, h := range page(found.hits, q.Offset, limitOr(q.Limit, defaultHits)) {
		a.Results = append(a.Results, d.found(v, h, q.Schemas))
	}
	return a, nil
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
	f := Found{Connection: e.Server, Tool: e.Name, Type: e.Kind, Description: firstSentence(e.Description), Signature: e.Signature(),
		Score: h.score, MatchedFields: h.fields, State: d.state(e.Server), hint: hintOf(e)}
	if f.MatchedFields == nil {
		f.MatchedFields = []string{}
	}
	if srv := v.Snapshot.Server(e.Server); srv != nil {
		f.Alias = srv.Alias
	}
	if schemas {
		f.InputSchema = e.InputSchema
	}
	return f
}

// indexed is a search index with the entries its documents stand for.
type indexed struct {
	view    *view.View
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
}

// rank ranks the entries for each intent of the query and takes turns between the intents.
func (d *Dispatcher) rank(ctx context.Context, v *view.View, query string, keep func(*catalog.Entry) bool) (ranking, error) {
	var per []ranking
	for intent := range strings.SplitSeq(query, ";") {
		if strings.TrimSpace(intent) == "" {
			continue
		}
		r, err := d.rankOne(ctx, v, intent, keep)
		if err != nil {
			return ranking{}, err
		}
		per = append(per, r)
	}
	if len(per) == 1 {
		return per[0], nil
	}
	return interleave(per), nil
}

func interleave(per []ranking) ranking {
	var out ranking
	seen := map[catalog.Ref]bool{}
	for turn, more := 0, true; more; turn++ {
		more = false
		for _, r := range per {
			if turn >= len(r.hits) {
				continue
			}
			more = true
			if h := r.hits[turn]; !seen[h.entry.Ref] {
				seen[h.entry.Ref] = true
				out.hits = append(out.hits, h)
			}
		}
	}
	out.total = len(out.hits)
	for _, r := range per {
		out.total = max(out.total, r.total)
		out.confident = out.confident || r.confident
		out.near = append(out.near, r.near...)
	}
	return out
}

func (d *Dispatcher) rankOne(ctx context.Context, v *view.View, query string, keep func(*catalog.Entry) bool) (ranking, error) {
	x, err := d.indexOf(v)
	if err != nil {
		return ranking{}, err
	}
	defer x.mu.RUnlock()
	res, err := x.ix.Search(ctx, search.Query{Text: query, Keep: func(id string) bool { return keep(x.entries[id]) }})
	if err != nil {
		return ranking{}, &Error{Code: Internal, Message: "search: " + err.Error(), Err: err}
	}
	r := ranking{total: res.Total, confident: res.Confident, near: res.Near}
	for _, h := range res.Hits {
		r.hits = append(r.hits, rankedEntry{entry: x.entries[h.ID], score: h.Score, fields: h.Fields})
	}
	return r, nil
}

// indexOf returns the index of a view, built at its first search, locked for reading.
func (d *Dispatcher) indexOf(v *view.View) (*indexed, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index != nil && d.index.view == v {
		d.index.mu.RLock()
		return d.index, nil
	}
	x := &indexed{view: v, entries: map[string]*catalog.Entry{}}
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
	ix, err := search.Build(docs)
	if err != nil {
		return nil, &Error{Code: Internal, Message: "build the search index: " + err.Error(), Err: err}
	}
	x.ix = ix
	old := d.index
	d.index = x
	x.mu.RLock()
	if old != nil { // waits for the searches that still use it, which take milliseconds
		if err := old.close(); err != nil {
			d.o.Log.Warn("close the old search index", "error", err)
		}
	}
	return x, nil
}

// document is what search knows of an entry.
func (d *Dispatcher) document(v *view.View, e *catalog.Entry) search.Doc {
	doc := search.Doc{ID: string(e.Kind) + " " + e.Server + " " + e.Name, Kind: string(e.Kind), Server: e.Server,
		Name: e.Name, Title: e.Title, Description: e.Description, Keywords: d.o.Keywords[e.Server]}
	if srv := v.Snapshot.Server(e.Server); srv != nil && srv.Description != "" {
		doc.Keywords = append(append([]string(nil), doc.Keywords...), srv.Description)
	}
	if h := hintOf(e); h != "" {
		doc.Hints = []string{h}
	}
	gjson.Get(alias(e.InputSchema), "properties").ForEach(func(k, p gjson.Result) bool {
		param := search.Param{Name: k.String(), Description: p.Get("description").String()}
		for _, x := range p.Get("enum").Array() {
			param.Enum = append(param.Enum, x.String())
		}
		doc.Params = append(doc.Params, param)
		return len(doc.Params) < 200
	})
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

// firstSentence returns the first sentence of a description, on one line.
func firstSentence(s string) string {
	para, _, _ := strings.Cut(strings.TrimSpace(s), "\n\n")
	line := oneLine(para)
	for i := 0; i+1 < len(line); i++ {
		if (line[i] == '.' || line[i] == '!' || line[i] == '?') && line[i+1] == ' ' && !abbreviation(line[:i]) {
			return line[:i+1]
		}
	}
	return line
}

// abbreviation reports whether a full stop after s ends a short form rather than a sentence.
func abbreviation(s string) bool {
	for _, short := range []string{"e.g", "i.e", "etc", "vs", "cf", "approx"} {
		if strings.HasSuffix(s, short) {
			return true
		}
	}
	return false
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
	lines, cut := shrink(len(a.Results), a.tokens-roughTokens(head)-roughTokens(foot)-40, func(i, level int) string { return a.Results[i].line(level) })
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
	size := func() int { return roughTokens(alias(mustJSON(a))) }
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
		l += "(" + clip(f.Signature, sig) + ")"
	}
	if words > 0 && f.Description != "" {
		l += " — " + clip(f.Description, words)
	}
	if f.hint != "" {
		l += " [" + f.hint + "]"
	}
	if state, _, _ := strings.Cut(f.State, ":"); state != "ready" && state != "asleep" {
		l += " [" + clip(f.State, 60) + "]"
	}
	if f.InputSchema != nil && level < 2 {
		l += "\n  " + oneLine(alias(f.InputSchema))
	}
	return l
}

// shrink renders n lines within a token budget: details shrink for all lines before lines drop. It
// says what was cut.
func shrink(n, budget int, line func(i, level int) string) (lines []string, cut string) {
	const levels = 5
	for level := range levels {
		lines = lines[:0]
		used := 0
		for i := range n {
			l := line(i, level)
			used += roughTokens(l) + 1
			if used > budget {
				break
			}
			lines = append(lines, l)
		}
		if len(lines) == n {
			if level > 0 {
				cut = "details shortened; describe shows them whole"
			}
			return lines, cut
		}
	}
	return lines, fmt.Sprintf("%d more left out for space", n-len(lines))
}
