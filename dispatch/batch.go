package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// Limits of a batch.
const (
	maxBatch        = 50
	batchConcurrent = 8
)

// BatchRequest is several calls at once. A call whose arguments hold {"$from": ID} of another waits
// for that one.
type BatchRequest struct {
	Calls []CallRequest
	// IDs names the calls; an empty or missing one is its index.
	IDs []string
	// ForEach, if not nil, is a list, or a {"$from": …} of one: the one call in Calls runs for each of its
	// elements, which its arguments name {"$from":"item"}.
	ForEach json.RawMessage
	// Concurrency is how many calls run at once; 0 means 8.
	Concurrency int
	// Max is the most elements ForEach runs for; 0 means 100.
	Max int
	// Threshold bounds the sum of what is inline, in bytes; 0 means without limit, nil the agent's.
	Threshold *int64
	// ToFile keeps [{id, tool, isError, result}] under a handle, and nothing stays inline.
	ToFile bool
	// Reader is CallRequest.Reader, for what is kept of the whole batch.
	Reader func(uri string) string

	bad map[int]error // calls that could not be read
}

// BatchAnswer is what each call of a batch gave, in their order.
type BatchAnswer struct {
	Action     string      `json:"action"`
	Items      []BatchItem `json:"items"`
	Handle     string      `json:"handle,omitempty"`
	ResultFile string      `json:"resultFile,omitempty"`
	Note       string      `json:"note,omitempty"` // what a forEach left out, how much of it failed
	Repairs    []string    `json:"repairs,omitempty"`

	report string
}

// BatchItem is what one call gave: an answer or an error.
type BatchItem struct {
	ID      string     `json:"id"`
	Index   int        `json:"index"`
	IsError bool       `json:"isError"`
	Error   *errorBody `json:"error,omitempty"`
	*CallAnswer

	name string // as the agent wrote it
	err  *Error
}

func (d *Dispatcher) handleBatch(ctx context.Context, in Input, r *request) json.RawMessage {
	ctx, done := d.o.Recorder.Begin(ctx, CallInfo{Agent: in.Agent, Action: "batch", Arguments: in.Arguments, Meta: in.Meta})
	q, err := batchRequest(r, in)
	var a *BatchAnswer
	if err == nil {
		a, err = d.Batch(ctx, in.Agent, q)
	}
	if err != nil {
		e := r.fail(withFate(err, NotSent))
		done(Outcome{Code: e.Code})
		return errorResult(e, r.wantsJSON())
	}
	raw := a.render(r)
	done(Outcome{Bytes: int64(len(raw)), Spilled: a.Handle != ""})
	return raw
}

// batchRequest reads the calls; one that can't be read fails alone.
func batchRequest(r *request, in Input) (BatchRequest, error) {
	q := BatchRequest{Threshold: r.ResultSizeThreshold, ToFile: r.ResultToFile, bad: map[int]error{},
		ForEach: r.ForEach, Concurrency: r.Concurrency, Max: r.Max}
	if r.Path != "" || r.JQ != "" {
		return q, &Error{Code: BadRequest, Message: "path and jq belong into the single calls of a batch"}
	}
	raw := r.Calls
	var inner string
	if json.Unmarshal(raw, &inner) == nil && looksLikeJSON(inner) {
		raw = json.RawMessage(inner)
		r.note("calls: string → list")
	}
	var calls []json.RawMessage
	if err := json.Unmarshal(raw, &calls); err != nil || len(calls) == 0 {
		return q, &Error{Code: BadRequest, Message: "calls is not a list of calls", Do: `Send {"action":"batch","calls":[{"tool":"…","arguments":{…}}]}`}
	}
	for i, raw := range calls {
		call, err := parseCall(raw)
		if err != nil {
			q.bad[i] = err
		}
		if call == nil {
			call = &request{}
		}
		q.Calls = append(q.Calls, callRequest(call, in))
		q.IDs = append(q.IDs, call.ID)
	}
	return q, nil
}

// Batch makes the calls, eight at a time, each on its own: one that fails fails only those that need
// its result. The sum of what stays inline keeps the budget, the largest results are spilled first.
func (d *Dispatcher) Batch(ctx context.Context, a Agent, q BatchRequest) (*BatchAnswer, error) {
	left := 0
	if q.ForEach != nil {
		var err error
		if q, left, err = d.expand(ctx, a, q); err != nil {
			return nil, err
		}
	} else if len(q.Calls) > maxBatch {
		return nil, &Error{Code: BadRequest, Message: fmt.Sprintf("%d calls in one batch, the most is %d", len(q.Calls), maxBatch), Do: "Send several batches"}
	}
	b, err := d.newBatch(a, q)
	if err != nil {
		return nil, err
	}
	slots := make(chan struct{}, limitOr(q.Concurrency, batchConcurrent))
	var wg sync.WaitGroup
	for i := range b.items {
		wg.Go(func() { b.run(ctx, i, slots) })
	}
	wg.Wait()
	answer, err := b.answer(ctx, q)
	if err == nil && q.ForEach != nil {
		answer.Note = answer.tally(left)
	}
	return answer, err
}

// batch is a batch under way. Each item is written only by its own goroutine, and read by others only
// after its done channel is closed.
type batch struct {
	d     *Dispatcher
	agent Agent
	items []*batchCall
	byID  map[string]*batchCall
}

type batchCall struct {
	id      string
	request CallRequest
	needs   []*batchCall
	needed  bool
	done    chan struct{}
	got     *performed
	err     error
	end     func(*CallAnswer, error) (*CallAnswer, error)
}

func (d *Dispatcher) newBatch(a Agent, q BatchRequest) (*batch, error) {
	b := &batch{d: d, agent: a, byID: map[string]*batchCall{}}
	for i, call := range q.Calls {
		id := strconv.Itoa(i)
		if i < len(q.IDs) && q.IDs[i] != "" {
			id = q.IDs[i]
		}
		if b.byID[id] != nil {
			return nil, &Error{Code: BadRequest, Message: fmt.Sprintf("two calls have the id %q", id)}
		}
		call.id, call.Contact = id, call.alone()
		it := &batchCall{id: id, request: call, done: make(chan struct{}), err: q.bad[i]}
		b.items = append(b.items, it)
		b.byID[id] = it
	}
	for _, it := range b.items {
		b.connect(it)
	}
	return b, b.checkCycles()
}

// connect finds the calls whose results a call's arguments name.
func (b *batch) connect(it *batchCall) {
	names := []string{it.request.ArgumentsFile}
	for _, ref := range arguments.References(it.request.Arguments) {
		names = append(names, ref.From...)
	}
	for _, name := range names {
		if other := b.byID[baseName(name)]; other != nil {
			it.needs = append(it.needs, other)
			other.needed = true
		}
	}
}

// baseName is a name without its #part.
func baseName(name string) string {
	base, _, _ := strings.Cut(name, "#")
	return base
}

func (b *batch) checkCycles() error {
	const visiting, clean = 1, 2
	state := map[*batchCall]int{}
	var visit func(it *batchCall) error
	visit = func(it *batchCall) error {
		switch state[it] {
		case clean:
			return nil
		case visiting:
			return &Error{Code: BadRequest, Message: fmt.Sprintf("the calls wait for each other in a circle, at id %q", it.id)}
		}
		state[it] = visiting
		for _, n := range it.needs {
			if err := visit(n); err != nil {
				return err
			}
		}
		state[it] = clean
		return nil
	}
	for _, it := range b.items {
		if err := visit(it); err != nil {
			return err
		}
	}
	return nil
}

// run makes one call after those it needs.
func (b *batch) run(ctx context.Context, i int, slots chan struct{}) {
	it := b.items[i]
	defer close(it.done)
	ctx, it.end = b.d.record(ctx, b.agent, it.request)
	if it.err != nil {
		it.err = withFate(it.err, NotSent)
		return
	}
	for _, need := range it.needs {
		<-need.done
		if need.failed() {
			it.err = &Error{Code: DependencyFailed, Message: fmt.Sprintf("call %q, whose result it needs, failed", need.id), Fate: NotSent}
			return
		}
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	if it.request.item != nil {
		ctx = context.WithValue(ctx, elementKey{}, it.request.item)
	}
	if len(it.needs) > 0 {
		ctx = context.WithValue(ctx, siblingsKey{}, siblings(b.item))
	}
	it.got, it.err = b.d.perform(ctx, b.agent, it.request)
	if it.err == nil && it.needed && it.got.res != nil && !it.got.res.isError {
		if _, err := b.d.keep(ctx, b.agent, it.got); err != nil {
			b.d.o.Log.Warn("keep a result for a later call", "id", it.id, "error", err)
		}
	}
}

func (it *batchCall) failed() bool {
	return it.err != nil || it.got.res == nil || it.got.res.isError
}

// item is the result of another call of the batch, which has ended.
func (b *batch) item(ctx context.Context, id string) (spill.Item, bool, error) {
	it := b.byID[baseName(id)]
	if it == nil {
		return spill.Item{}, false, nil
	}
	if it.got == nil || it.got.kept == nil {
		return spill.Item{}, true, &Error{Code: DependencyFailed, Message: fmt.Sprintf("the result of call %q could not be kept", it.id), Fate: NotSent}
	}
	art, part, err := b.d.o.Shelf.Find(ctx, owner(b.agent), it.got.kept.ID+strings.TrimPrefix(id, it.id))
	if err != nil {
		return spill.Item{}, true, shelfError(id, err)
	}
	return spill.Item{Artifact: art, Part: part}, true, nil
}

// answer brings the results to the size an agent gets, the largest first.
func (b *batch) answer(ctx context.Context, q BatchRequest) (*BatchAnswer, error) {
	limit := b.d.limit(b.agent, CallRequest{Threshold: q.Threshold})
	if q.ForEach != nil && limit >= 0 && b.size() > limit {
		q.ToFile = true // one list of results rather than a report for each
	}
	if !q.ToFile {
		b.spillLargest(limit)
	}
	out := &BatchAnswer{Action: "batch", Items: []BatchItem{}}
	for i, it := range b.items {
		item := BatchItem{ID: it.id, Index: i, name: b.d.fullName(b.agent, it.request)}
		var answer *CallAnswer
		err := it.err
		if err == nil {
			own := limit
			if q.ToFile {
				own = -1 // kept below, with all others
			} else if it.request.Threshold != nil {
				own = b.d.limit(b.agent, it.request)
			}
			answer, err = b.d.settle(ctx, b.agent, it.got, own)
		}
		if answer, err = it.end(answer, err); err != nil {
			item.err = withFate(err, NotSent)
			item.IsError, item.Error = true, item.err.body()
		} else {
			item.CallAnswer, item.IsError, item.name = answer, answer.IsError, answer.Connection+"/"+answer.Tool
		}
		out.Items = append(out.Items, item)
	}
	if !q.ToFile {
		return out, nil
	}
	return b.keepAll(ctx, q, out)
}

// fullName is connection/name for the tool of a call, where it is known.
func (d *Dispatcher) fullName(a Agent, r CallRequest) string {
	if e := d.known(a, r); e != nil {
		return e.Ref.String()
	}
	return r.Tool
}

// known is what a call's tool is, without asking anybody; nil if that is not known.
func (d *Dispatcher) known(a Agent, r CallRequest) *catalog.Entry {
	v, server := d.Seen(a), ""
	if r.Connection != "" {
		srv := v.Snapshot.Server(r.Connection)
		if srv == nil {
			return nil
		}
		server = srv.Name
	}
	e, err := find(v, kindOf(string(r.Type)), r.Tool, server)
	if err != nil {
		return nil
	}
	return e
}

// size is what all results take inline.
func (b *batch) size() int64 {
	var sum int64
	for _, it := range b.items {
		if it.err == nil && it.got.res != nil {
			sum += it.got.res.size()
		}
	}
	return sum
}

// spillLargest marks results to be spilled until the rest keeps the limit.
func (b *batch) spillLargest(limit int64) {
	if limit < 0 {
		return
	}
	const report = 700 // bytes that a report takes in place of a result
	const head = 40    // and the line before each item
	limit -= head * int64(len(b.items))
	var inline []*batchCall
	var sum int64
	for _, it := range b.items {
		if it.err == nil && it.got.res != nil && !it.request.ToFile && it.request.Read == nil && it.request.Threshold == nil {
			inline = append(inline, it)
			sum += it.got.res.size()
		}
	}
	sort.SliceStable(inline, func(i, j int) bool { return inline[i].got.res.size() > inline[j].got.res.size() })
	spilled := inline
	for i, it := range inline {
		size := it.got.res.size()
		if sum <= limit || size <= report {
			spilled = inline[:i]
			break
		}
		it.got.spillAnyway = true
		sum -= size - report
	}
	if over := sum - limit; over > 0 { // too many even for their reports: each says less
		for _, it := range spilled {
			it.got.reportRoom = max(report-over/int64(len(spilled)), 1)
		}
	}
}

// keepAll keeps the whole batch under one handle and leaves nothing inline.
func (b *batch) keepAll(ctx context.Context, q BatchRequest, out *BatchAnswer) (*BatchAnswer, error) {
	type kept struct {
		ID      string          `json:"id"`
		Tool    string          `json:"tool"`
		IsError bool            `json:"isError"`
		Result  json.RawMessage `json:"result"`
	}
	var from spill.Sources
	all := make([]kept, len(out.Items))
	for i, it := range b.items {
		all[i] = kept{ID: it.id, Tool: out.Items[i].name, IsError: out.Items[i].IsError}
		if it.got != nil {
			from = from.With(it.got.from()...)
		}
		switch {
		case out.Items[i].err != nil:
			all[i].Result = mustJSON(out.Items[i].err)
		case it.got.res != nil:
			all[i].Result = it.got.res.raw
		}
	}
	data, err := marshal(all)
	if err != nil {
		return nil, &Error{Code: Internal, Message: "encode the batch: " + err.Error(), Err: err}
	}
	art, err := b.d.o.Shelf.PutData(ctx, owner(b.agent), from, data)
	if err != nil {
		return nil, shelfError("batch", err)
	}
	out.Handle, out.ResultFile = art.Handle, fileOf(art)
	out.report = art.Report(spill.ReportExtra{Reader: q.Reader})
	for i := range out.Items {
		if c := out.Items[i].CallAnswer; c != nil {
			c.Content, c.StructuredContent, c.Prompt, c.inline = []json.RawMessage{}, nil, nil, nil
		}
	}
	return out, nil
}

func (a *BatchAnswer) render(r *request) json.RawMessage {
	a.Repairs = r.notes
	if r.wantsJSON() {
		return jsonResult(a, false)
	}
	var blocks []json.RawMessage
	if len(r.notes) > 0 {
		blocks = append(blocks, textBlock(repairedLine(r.notes)))
	}
	if a.Note != "" {
		blocks = append(blocks, textBlock(a.Note))
	}
	for _, it := range a.shown() {
		word := "ok"
		if it.IsError {
			word = "error"
		}
		blocks = append(blocks, textBlock(fmt.Sprintf("[%s] %s %s", it.ID, it.name, word)))
		if it.err != nil {
			blocks = append(blocks, textBlock(it.err.Error()))
		} else {
			blocks = append(blocks, it.Content...)
		}
	}
	if a.report != "" {
		blocks = append(blocks, textBlock(a.report))
	}
	return contentResult(blocks, false)
}
