package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// maxConsole is the most bytes of a run's console that its answer holds.
const maxConsole = 8 << 10

// codeHost is what an agent's code can reach: what the agent itself can. Everything the code was given counts as given
// to each later call, because nobody can tell what it does with it.
type codeHost struct {
	d       *Dispatcher
	agent   Agent
	contact Contact
	meta    json.RawMessage
	most    int64

	mu      sync.Mutex
	calls   []RunCall
	held    spill.Sources
	console strings.Builder
	dropped int // lines that found no room
}

// thrownError is an error with properties for the code that gets it.
type thrownError struct {
	message string
	data    arguments.Object
}

func (e *thrownError) Error() string               { return e.message }
func (e *thrownError) Properties() json.RawMessage { return e.data.Raw() }

// thrown is err as code gets it.
func thrown(err error, tool string) error {
	e := asError(err)
	return &thrownError{message: strings.TrimSuffix(e.Error(), " "+e.Fate.String()),
		data: arguments.Object{member("code", mustJSON(e.Code)), member("tool", mustJSON(tool))}}
}

// Call takes a call of the code through the stations of any call. Its arguments are data: what looks like a reference in
// them may have come from a server.
func (h *codeHost) Call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error) {
	begun := time.Now()
	r := CallRequest{Tool: tool, Arguments: args, Literal: true, RequestMeta: h.meta, Contact: h.contact, held: h.sources()}
	ctx, end := h.d.record(ctx, h.agent, r)
	c, err := h.d.perform(ctx, h.agent, r)
	if err != nil {
		_, err = end(nil, err)
		h.called(tool, begun, true, nil)
		return nil, thrown(err, tool)
	}
	value, err := h.value(ctx, c)
	out := c.answer(h.d.o.Tokens.Count)
	if c.kept != nil {
		out.Handle = c.kept.Handle
	}
	_, _ = end(out, nil)
	h.called(c.entry.Ref.String(), begun, c.res.isError, c.from())
	return value, err
}

// value is the data of a result, or what is thrown in its place.
func (h *codeHost) value(ctx context.Context, c *performed) (json.RawMessage, error) {
	tool := c.entry.Ref.String()
	if c.res.isError {
		return nil, &thrownError{message: c.res.message(errorHead), data: arguments.Object{member("code", mustJSON("tool_error")), member("tool", mustJSON(tool))}}
	}
	data := c.res.data()
	wordless := string(data) == "[]" && c.res.structured == nil && len(c.res.blocks) > 0
	if int64(len(data)) <= h.most && !wordless {
		return data, nil
	}
	art, err := h.d.keep(ctx, h.agent, c)
	if err != nil {
		return nil, thrown(shelfError(tool, err), tool)
	}
	if wordless {
		return arguments.Object{member("handle", mustJSON(art.Handle))}.Raw(), nil
	}
	return nil, &thrownError{
		message: fmt.Sprintf("too_large: the result of %s has %d bytes, code takes %d. It is kept as %s: read(%q, {jq: …}) gives a part of it", tool, len(data), h.most, art.Handle, art.Handle),
		data:    arguments.Object{member("code", mustJSON(TooLarge)), member("tool", mustJSON(tool)), member("handle", mustJSON(art.Handle))},
	}
}

// called notes a call and where what it gave came from.
func (h *codeHost) called(tool string, begun time.Time, isError bool, from spill.Sources) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, RunCall{Tool: tool, MS: float64(time.Since(begun).Microseconds()) / 1000, IsError: isError})
	h.held = h.held.With(from...)
}

func (h *codeHost) sources() spill.Sources {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

// Read gives a kept result, or what jq and path make of it, as a value; with an op, what that shows as text.
func (h *codeHost) Read(ctx context.Context, handle string, query json.RawMessage) (json.RawMessage, error) {
	r, err := parseInside("readresult", query, member("resultFile", mustJSON(handle)))
	if err != nil {
		return nil, thrown(err, "read")
	}
	in := &intake{d: h.d, agent: h.agent}
	var v json.RawMessage
	switch r.Op {
	case "", "stat", "read", "jq", "get":
		v, err = in.lookup(ctx, []string{handle}, spill.Want{Path: r.Path, JQ: r.JQ})
	default:
		var items []spill.Item
		if items, err = h.d.items(ctx, h.agent, []string{handle}); err != nil {
			break
		}
		in.from = spill.SourcesOf(items)
		var a *ReadAnswer
		if a, err = h.d.ReadResult(ctx, h.agent, readRequest(r)); err == nil {
			v = mustJSON(a.body())
		}
	}
	if err != nil {
		return nil, thrown(err, "read")
	}
	if int64(len(v)) > h.most {
		return nil, thrown(&Error{Code: TooLarge, Message: fmt.Sprintf("%d bytes, code takes %d", len(v), h.most), Do: "Narrow it with jq"}, "read")
	}
	h.mu.Lock()
	h.held = h.held.With(in.from...)
	h.mu.Unlock()
	return v, nil
}

// Search gives the hits as a list.
func (h *codeHost) Search(ctx context.Context, query json.RawMessage) (json.RawMessage, error) {
	r, err := parseInside("search", query)
	if err != nil {
		return nil, thrown(err, "search")
	}
	a, err := h.d.Search(ctx, h.agent, searchRequest(r))
	if err != nil {
		return nil, thrown(err, "search")
	}
	return marshal(a.Results)
}

// Log keeps the line for the answer while there is room.
func (h *codeHost) Log(level, line string) {
	if level == "warn" || level == "error" {
		line = level + ": " + line
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.console.Len()+len(line) >= maxConsole {
		h.dropped++
		return
	}
	if h.console.Len() > 0 {
		h.console.WriteByte('\n')
	}
	h.console.WriteString(line)
}

// written is the console.
func (h *codeHost) written() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dropped == 0 {
		return h.console.String()
	}
	return fmt.Sprintf("%s\n(%d more lines)", h.console.String(), h.dropped)
}

// Progress goes to the agent, if it wants any.
func (h *codeHost) Progress(params json.RawMessage) {
	if h.contact.Progress != nil {
		h.contact.Progress(params)
	}
}

// Scope is "": code is run once.
func (h *codeHost) Scope() string { return "" }

// failure says with err what the code has done before.
func (h *codeHost) failure(err error) *Error {
	h.mu.Lock()
	calls := h.calls
	h.mu.Unlock()
	if len(calls) == 0 {
		e := withFate(err, NotSent)
		e.Do = joinLines(e.Do, consoleLine(h.written()))
		return e
	}
	e := withFate(err, Ran)
	e.Do = joinLines(e.Do, tallyRun(calls), consoleLine(h.written()))
	return e
}

func consoleLine(text string) string {
	if text == "" {
		return ""
	}
	return "console: " + clip(text, 1000)
}

// joinLines puts the texts that are not empty on lines of their own.
func joinLines(texts ...string) string {
	var lines []string
	for _, t := range texts {
		if t != "" {
			lines = append(lines, t)
		}
	}
	return strings.Join(lines, "\n")
}
