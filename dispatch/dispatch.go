// Package dispatch takes one request through its stations and answers in bounded size.
//
// Handle answers the one tool an agent sees; Search, List, Describe, Call, Batch, ReadResult, Status
// and Help are the same for programs, as typed values. Only a call ever reaches a server.
package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/search"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

// Catalog knows what the servers offer. Implementations are safe for concurrent use.
type Catalog interface {
	// Snapshot returns what is known now, never nil.
	Snapshot() *catalog.Snapshot
	// Refresh asks the named servers again, or all.
	Refresh(ctx context.Context, servers ...string) error
	// Wait returns when every server is known or has failed, or when ctx ends.
	Wait(ctx context.Context)
}

// Options are what a Dispatcher is made of. Catalog, Forwarder and Shelf are required.
type Options struct {
	Catalog   Catalog
	Forwarder Forwarder
	Shelf     *spill.Shelf
	// Tokens counts what texts cost a model; nil means o200k_base.
	Tokens *tokens.Counter
	// Rulebook is what Apply can replace.
	Rulebook
	// Rights says what an agent may see at most, by its role or principal; ok is false where nothing limits it. It is
	// asked at every look-up and must not block. Nil: nothing limits anybody.
	Rights func(a Agent) (rules view.Rules, ok bool)
	// Search says how tools are ranked; the zero value ranks by words.
	Search search.Options
	// LogIn asks the person at the agent to log in to a server of which nothing is known without; nil error: it is
	// worth another look. Nil: nobody is asked.
	LogIn func(ctx context.Context, server string, c Contact) error
	// Scripts runs code that agents send; nil: the action run is off.
	Scripts Scripts
	// Recorder sees every request; nil records nothing.
	Recorder Recorder
	// Log receives what has no other reader; nil discards.
	Log *slog.Logger
	// Threshold is the inline budget in bytes; 0 means by the agent's client, 16 KiB if unknown.
	Threshold int
	// MediaThreshold is the most bytes of one inline image or audio; 0 means 1 MiB.
	MediaThreshold int64
	// SearchBudget is the most tokens of a search answer; 0 means 1,000.
	SearchBudget int
	// MaxInput is the most bytes of one input; 0 means 64 MiB.
	MaxInput int
	// StringArguments makes `arguments` a JSON string in the definition, for strict hosts.
	StringArguments bool
	// SharesFiles tells whether a server can open files of this machine, so that {"$from": …, "as": "path"} makes
	// sense for it; nil: none can.
	SharesFiles func(server string) bool
	// Redact hides secrets in our own words about servers; nil changes nothing.
	Redact func(string) string
}

// Dispatcher answers requests. It is safe for concurrent use; Close ends it.
type Dispatcher struct {
	o    Options
	book atomic.Pointer[book]

	mu      sync.Mutex
	results map[shapeKey]string // result shapes, as seen in earlier calls
}

// New returns a Dispatcher; it fails when the rules or a view hold a bad pattern.
func New(o Options) (*Dispatcher, error) {
	if o.Catalog == nil || o.Forwarder == nil || o.Shelf == nil {
		return nil, errors.New("dispatch: Catalog, Forwarder and Shelf are required")
	}
	o, err := withDefaults(o)
	if err != nil {
		return nil, err
	}
	b, err := compileBook(o, o.Rulebook, o.Catalog.Snapshot())
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{o: o, results: map[shapeKey]string{}}
	d.book.Store(b)
	return d, nil
}

func withDefaults(o Options) (Options, error) {
	if o.Recorder == nil {
		o.Recorder = unrecorded{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MediaThreshold == 0 {
		o.MediaThreshold = 1 << 20
	}
	if o.SearchBudget == 0 {
		o.SearchBudget = 1000
	}
	if o.MaxInput == 0 {
		o.MaxInput = 64 << 20
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Tokens == nil {
		var err error
		if o.Tokens, err = tokens.New(""); err != nil {
			return o, fmt.Errorf("choose the token encoding: %w", err)
		}
	}
	return o, nil
}

// Close frees the search indexes. Requests must have ended.
func (d *Dispatcher) Close() error { return d.book.Load().lenses.close() }

// Handle answers one use of the one tool with a complete MCP CallToolResult. What goes wrong is in the
// result, as text an agent can act on.
func (d *Dispatcher) Handle(ctx context.Context, in Input) Pieces {
	if len(in.Arguments) > d.o.MaxInput {
		return Pieces{errorResult(&Error{Code: TooLarge, Message: fmt.Sprintf("the input has %d bytes, the limit is %d", len(in.Arguments), d.o.MaxInput),
			Do: "Pass large values by argumentsFile or $from"}, false)}
	}
	r, err := parseRequest(in.Arguments)
	if err != nil {
		e := asError(err)
		if r != nil && (r.Action == "call" || r.Action == "batch") {
			e = withFate(err, NotSent)
		}
		return Pieces{errorResult(e, wantedJSON(in.Arguments))}
	}
	switch r.Action {
	case "call":
		return d.handleCall(ctx, in, r)
	case "batch":
		return Pieces{d.handleBatch(ctx, in, r)}
	case "run":
		return d.handleRun(ctx, in, r)
	}
	ctx, done := d.o.Recorder.Begin(ctx, CallInfo{Agent: in.Agent, Action: r.Action, Connection: r.Connection, Arguments: in.Arguments, Meta: in.Meta})
	answer, err := d.answer(ctx, in.Agent, r)
	if err != nil {
		e := r.fail(err)
		done(Outcome{Connection: r.Connection, Code: e.Code})
		return Pieces{errorResult(e, r.wantsJSON())}
	}
	raw := answer.render(r, d.Budget(in.Agent.Client))
	done(Outcome{Connection: r.Connection, Bytes: int64(len(raw))})
	return Pieces{raw}
}

// rendered is an answer that can be shown to an agent.
type rendered interface {
	// render gives the MCP result in the request's format; the budget is in bytes.
	render(r *request, budget int) json.RawMessage
}

// answer runs the actions that reach no server.
func (d *Dispatcher) answer(ctx context.Context, a Agent, r *request) (rendered, error) {
	switch r.Action {
	case "search":
		return d.Search(ctx, a, searchRequest(r))
	case "list":
		return d.List(ctx, a, listRequest(r))
	case "describe":
		return d.Describe(ctx, a, describeRequest(r))
	case "readresult":
		return d.ReadResult(ctx, a, readRequest(r))
	case "status":
		return d.Status(ctx, a, StatusRequest{Refresh: r.Refresh})
	default:
		return Help(r.Topic)
	}
}
