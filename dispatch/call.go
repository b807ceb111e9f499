package dispatch

import (
	"context"
	"encoding/json"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// CallRequest is one call of a tool, reading of a resource or getting of a prompt.
type CallRequest struct {
	// Tool is the name, URI or prompt name, in any form Resolve takes.
	Tool       string
	Type       catalog.Kind // "" means tool
	Connection string
	// Arguments is a JSON object, a string holding one, or a {"$from": …}; nil means none.
	Arguments json.RawMessage
	// ArgumentsFile is a handle or allowed file whose object is the arguments; Arguments override its keys.
	ArgumentsFile string
	// Literal says that Arguments is data: no reference in it is replaced.
	Literal bool
	// Pages, if not nil, repeats a read-only call page by page and joins the items.
	Pages *Pages
	// Read, if not nil, is what to show of the result, which is kept whole.
	Read *ReadRequest
	// ToFile keeps the result whatever its size.
	ToFile bool
	// Threshold is this call's inline budget in bytes; 0 means without limit, nil means the agent's.
	Threshold *int64
	// Timeout bounds the call; 0 means the server's own.
	Timeout time.Duration
	// Meta is passed on to the server as `_meta`.
	Meta json.RawMessage
	// Reader, for agents that have no readresult, says how a kept result's resource is read; see ReadAsResource. A report
	// ends with it. Nil: by readresult.
	Reader func(uri string) string
	// DryRun stops before the call and shows what would be sent.
	DryRun bool
	// RequestMeta is the `_meta` of the agent's own request: trace context.
	RequestMeta json.RawMessage
	// Form, if not nil, gives what resources and prompts answer a form of the face's own.
	Form Form
	// Contact leads back to the agent.
	Contact

	id    string           // in a batch
	extra arguments.Object // top-level keys the tool may have
	notes []string         // repairs made so far
	reads []string         // parameters of reading that were given

	held     spill.Sources // of what the code that makes the call was given
	item     *element      // of a forEach, for which it runs
	pagesErr error         // why Pages could not be read
}

// CallAnswer is what a call gave.
type CallAnswer struct {
	Action            string            `json:"action"`
	Connection        string            `json:"connection"`
	Alias             string            `json:"alias"`
	Tool              string            `json:"tool"`
	Arguments         json.RawMessage   `json:"arguments"`
	IsError           bool              `json:"isError"`
	ByteSize          int64             `json:"byteSize"`
	EstimatedTokens   int               `json:"estimatedTokens"`
	DryRun            bool              `json:"dryRun,omitempty"`
	Handle            string            `json:"handle,omitempty"`
	ResultFile        string            `json:"resultFile,omitempty"`
	AutoSpilled       bool              `json:"autoSpilled,omitempty"`
	Repairs           []string          `json:"repairs,omitempty"`
	Parts             []spill.PartInfo  `json:"parts,omitempty"`
	Content           []json.RawMessage `json:"content"`
	StructuredContent json.RawMessage   `json:"structuredContent,omitempty"`
	// Prompt is a prompt's whole result as its server gave it, where it stays inline.
	Prompt json.RawMessage `json:"prompt,omitempty"`

	Note string `json:"note,omitempty"` // what became of a call of several requests

	given  spill.Sources
	inline *result         // the server's own result, when it is passed on whole
	asks   json.RawMessage // the server's own, where it wants to know something first
}

func callRequest(r *request, in Input) CallRequest {
	c := CallRequest{Type: kindOf(r.Type), Connection: r.Connection, Arguments: r.Arguments, ArgumentsFile: r.ArgumentsFile,
		ToFile: r.ResultToFile, Threshold: r.ResultSizeThreshold, Timeout: time.Duration(r.TimeoutMS) * time.Millisecond,
		Meta: r.Meta, DryRun: r.DryRun, RequestMeta: in.Meta, Contact: in.Contact, id: r.ID, extra: r.extra, notes: r.notes, reads: r.reads}
	if len(r.Tool) > 0 {
		c.Tool = r.Tool[0]
	}
	c.Pages, c.pagesErr = pagesOf(r.Pages)
	if r.Op == "" {
		if op := r.impliedOp(); op != "stat" && op != "read" { // pattern and the like, beside the arguments
			r.Op = op
			r.note("op: %s", op)
			c.notes = r.notes
		}
	}
	if r.Path != "" || r.JQ != "" || r.Op != "" {
		q := readRequest(r)
		c.Read = &q
	}
	return c
}

// Call takes one call through its stations, in this order, and answers in bounded size.
func (d *Dispatcher) Call(ctx context.Context, a Agent, r CallRequest) (*CallAnswer, error) {
	ctx, end := d.record(ctx, a, r)
	c, err := d.perform(ctx, a, r)
	if err != nil {
		return end(nil, err)
	}
	return end(d.settle(ctx, a, c, d.limit(a, r)))
}

// performed is a call whose answer is there but not yet in the size an agent gets.
type performed struct {
	request CallRequest
	entry   *catalog.Entry  // as the agent sees it
	own     view.Origin     // what stands behind it
	alias   string          // of its connection
	person  Contact         // leads to whom a confirmation is asked of
	agreed  bool            // who has given it
	args    json.RawMessage // as sent
	notes   []string
	given   spill.Sources   // of what kept data the arguments hold
	made    spill.Sources   // of a value that code made: where what it held came from
	res     *result         // nil after a dry run
	prompt  json.RawMessage // a prompt's result before it became content blocks
	kept    *spill.Artifact // the whole result, where it was kept already
	sent    json.RawMessage // what a dry run would have sent
	asks    json.RawMessage // in place of a result: what the server wants to know first
	note    string          // for the agent, beside the result
	// spillAnyway is set where the sum of a batch leaves no room for this result.
	spillAnyway bool
	// reportRoom is about how many bytes its report may take then; 0 as many as usual.
	reportRoom int64
}

// from is where the result comes from: the tool, and what it was given.
func (c *performed) from() spill.Sources {
	if c.entry == runEntry {
		return c.made
	}
	return spill.Sources{{Server: c.own.Entry.Server, Tool: c.own.Entry.Name}}.With(c.given.Given()...)
}

// perform is the way of a call up to the server and back.
func (d *Dispatcher) perform(ctx context.Context, a Agent, r CallRequest) (*performed, error) {
	person := r.Contact
	if r.Pages != nil {
		r.Contact = r.alone()
	}
	if err := d.admit(r); err != nil {
		return nil, withFate(err, NotSent)
	}
	if connection, uri, ok := d.cutConnection(a, r.Tool); ok && r.Type == catalog.Resource && r.Connection == "" {
		r.Connection, r.Tool = connection, uri
	}
	entry, v, err := d.resolveOrLogIn(ctx, a, r)
	if err != nil {
		entry, err = unlisted(v, r, err)
	}
	if err != nil {
		return nil, withFate(err, NotSent)
	}
	schema := d.schemaOf(a, entry)
	if entry.Template && r.Tool != entry.Name { // the URI is whole: there is nothing to fill in
		schema = nil
	}
	own := v.Origin(entry)
	in := &intake{d: d, agent: a, to: own.Entry.Ref}
	if err := in.admit(r.held); err != nil {
		return nil, withFate(err, NotSent)
	}
	args, notes, err := in.bind(ctx, entry, schema, r)
	if err != nil {
		return nil, withFate(err, NotSent)
	}
	args, notes, err = check(entry, schema, args, notes)
	if err != nil {
		return nil, withFate(shadowed(err, schema, r), NotSent)
	}
	c := &performed{request: r, entry: entry, own: own, person: person, alias: v.Snapshot.Server(entry.Server).Alias, args: args, notes: notes, given: in.from}
	if r.DryRun { // in the agent's words: what a view binds is not told
		c.sent = outgoing(entry, args, r).Params
		return c, nil
	}
	if r.Pages != nil {
		return c, d.turnPages(ctx, a, c, schema)
	}
	raw, err := d.cross(ctx, d.crossingOf(a, c), args)
	if err != nil {
		return nil, err
	}
	if r.asks(raw) {
		c.asks = raw
		return c, nil
	}
	if entry.Kind == catalog.Prompt {
		c.prompt = raw
	}
	c.res, err = received(entry, raw, r.Form)
	return c, err
}

// crossingOf is the way of a performed call's arguments to the server.
func (d *Dispatcher) crossingOf(a Agent, c *performed) crossing {
	return crossing{agent: a, entry: c.entry, own: c.own, asks: c.request.asks, person: c.person, agreed: c.agreed, send: func(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
		if m := d.madeFor(a, c.own.Entry); m != nil {
			in := &inside{d: d, agent: a, contact: c.request.Contact, held: c.given}
			raw, err := d.runMade(ctx, in, m, args)
			c.given = c.given.With(in.from...)
			return raw, err
		}
		req := outgoing(c.own.Entry, args, c.request)
		req.Meta = d.o.Recorder.Inject(ctx, c.request.Meta)
		return d.forward(ctx, req)
	}}
}

// handleCall answers the action call.
func (d *Dispatcher) handleCall(ctx context.Context, in Input, r *request) Pieces {
	answer, err := d.Call(ctx, in.Agent, callRequest(r, in))
	if err != nil {
		return Pieces{errorResult(r.failOnce(err), r.wantsJSON())}
	}
	return answer.render(r)
}

// failOnce adds the repairs made to the input, unless the error has them already.
func (r *request) failOnce(err error) *Error {
	e := asError(err)
	if len(e.Repairs) > 0 {
		return e
	}
	return r.fail(e)
}

// render gives the MCP result: the server's own with our words in `_meta`, or ours.
func (c *CallAnswer) render(r *request) Pieces {
	if c.asks != nil {
		return Pieces{c.asks}
	}
	if r.wantsJSON() {
		return Pieces{jsonResult(c, c.IsError)}
	}
	if c.inline != nil && c.Note == "" {
		return c.inline.withMeta(c.meta())
	}
	blocks := c.Content
	if c.Note != "" {
		blocks = append(blocks[:len(blocks):len(blocks)], textBlock(c.Note))
	}
	if c.StructuredContent != nil {
		return Pieces{contentResult(blocks, c.IsError, arguments.Member{Key: "structuredContent", Value: c.StructuredContent}, c.metaMember())}
	}
	return Pieces{contentResult(blocks, c.IsError, c.metaMember())}
}

func (c *CallAnswer) metaMember() arguments.Member {
	return arguments.Member{Key: "_meta", Value: arguments.Object{{Key: metaKey, Value: c.meta()}}.Raw()}
}

// meta is what we say about a result beside it.
func (c *CallAnswer) meta() json.RawMessage {
	return mustJSON(struct {
		Connection      string   `json:"connection"`
		Tool            string   `json:"tool"`
		ByteSize        int64    `json:"byteSize"`
		EstimatedTokens int      `json:"estimatedTokens"`
		Handle          string   `json:"handle,omitempty"`
		Repairs         []string `json:"repairs,omitempty"`
	}{c.Connection, c.Tool, c.ByteSize, c.EstimatedTokens, c.Handle, c.Repairs})
}
