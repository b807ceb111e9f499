package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
)

// Scripts runs code for agents. Implementations are safe for concurrent use.
type Scripts interface {
	// Run runs the body of an async function, which can do only what the host offers, and gives what it returns as JSON,
	// nil where that is nothing. It follows ctx, and nothing of the run goes on after it returned. It fails with an
	// *Error.
	Run(ctx context.Context, code string, h ScriptHost) (json.RawMessage, error)
	// MaxValue is the most bytes of JSON that the host may give for one call.
	MaxValue() int64
}

// ScriptHost is all that code can reach. It is safe for concurrent use. Its errors are thrown in the code with their
// text; members of an object that their method Properties gives stand beside it.
type ScriptHost interface {
	// Call takes a call through all stations and gives the data of its result.
	Call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error)
	// Read gives what query, an object with the parameters of readresult, wants of a kept result.
	Read(ctx context.Context, handle string, query json.RawMessage) (json.RawMessage, error)
	// Search gives what fits query, an object with the parameters of search.
	Search(ctx context.Context, query json.RawMessage) (json.RawMessage, error)
	// Log takes one line that the code wrote.
	Log(level, line string)
	// Progress takes the params of a progress notification.
	Progress(params json.RawMessage)
	// Scope names whom the code runs for.
	Scope() string
}

// RunRequest is a piece of code to run.
type RunRequest struct {
	// Code is the body of an async function; it finds tools, call, read, search and console.
	Code string
	// Timeout bounds the run, within the limit of all scripts; 0 means that limit.
	Timeout time.Duration
	// Threshold is the inline budget of the value in bytes; 0 means without limit, nil means the agent's.
	Threshold *int64
	// ToFile keeps the value whatever its size.
	ToFile bool
	// RequestMeta is the `_meta` of the agent's own request: trace context.
	RequestMeta json.RawMessage
	// Contact leads back to the agent.
	Contact
}

// RunAnswer is what a piece of code gave.
type RunAnswer struct {
	Action          string          `json:"action"`
	Value           json.RawMessage `json:"value"` // null where it returned nothing, or where the value is kept
	Console         string          `json:"console"`
	Calls           []RunCall       `json:"calls"` // in the order they ended
	Handle          string          `json:"handle,omitempty"`
	ResultFile      string          `json:"resultFile,omitempty"`
	ByteSize        int64           `json:"byteSize"`
	EstimatedTokens int             `json:"estimatedTokens"`
	Repairs         []string        `json:"repairs,omitempty"`

	nothing bool // it returned nothing
	blocks  []json.RawMessage
}

// RunCall is a call that code made.
type RunCall struct {
	Tool    string  `json:"tool"` // connection/name; as the code wrote it where there is none of that name
	MS      float64 `json:"ms"`
	IsError bool    `json:"isError"`
}

// runEntry stands for the code where a call has a tool.
var runEntry = &catalog.Entry{Ref: catalog.Ref{Kind: catalog.Tool, Name: "run"}}

func runRequest(r *request, in Input) RunRequest {
	return RunRequest{Code: r.Code, Timeout: time.Duration(r.TimeoutMS) * time.Millisecond, Threshold: r.ResultSizeThreshold,
		ToFile: r.ResultToFile, RequestMeta: in.Meta, Contact: in.Contact}
}

// Run runs a piece of code for an agent. Its calls are calls of the agent like any others. Only the value it returns is
// in the answer, or where that is kept; the error says which calls were made.
func (d *Dispatcher) Run(ctx context.Context, a Agent, q RunRequest) (*RunAnswer, error) {
	if err := d.admitRun(q); err != nil {
		return nil, withFate(err, NotSent)
	}
	if q.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, q.Timeout, &Error{Code: Timeout, Message: fmt.Sprintf("the code ran longer than timeoutMs (%s)", q.Timeout)})
		defer cancel()
	}
	h := &codeHost{d: d, agent: a, contact: q.alone(), meta: q.RequestMeta, most: d.o.Scripts.MaxValue()}
	value, err := d.o.Scripts.Run(ctx, q.Code, h)
	if err != nil {
		return nil, h.failure(err)
	}
	return d.settleRun(ctx, a, q, h, value)
}

// admitRun checks what can be said of code before it runs.
func (d *Dispatcher) admitRun(q RunRequest) error {
	switch {
	case d.o.Scripts == nil:
		return &Error{Code: BadRequest, Message: "action run is switched off", Do: "Use batch, or ask the person who runs proxy-dispatch to set script.enabled"}
	case strings.TrimSpace(q.Code) == "":
		return &Error{Code: BadRequest, Message: "code is missing", Do: `Send {"action":"run","code":"return await tools.CONNECTION.TOOL({…})"}`}
	case q.Timeout > maxTimeout:
		return &Error{Code: BadRequest, Message: fmt.Sprintf("timeoutMs is more than a day (%s)", q.Timeout)}
	}
	return nil
}

// settleRun brings the value to the size an agent gets, like the result of a call.
func (d *Dispatcher) settleRun(ctx context.Context, a Agent, q RunRequest, h *codeHost, value json.RawMessage) (*RunAnswer, error) {
	out := &RunAnswer{Action: "run", Value: value, Console: h.written(), Calls: h.calls, nothing: value == nil}
	if out.Calls == nil {
		out.Calls = []RunCall{}
	}
	if out.nothing {
		out.Value = json.RawMessage("null")
	}
	res, err := readResult(textResult(textOf(out.Value)))
	if err != nil {
		return nil, withFate(err, Ran)
	}
	r := CallRequest{ToFile: q.ToFile, Threshold: q.Threshold}
	c, err := d.settle(ctx, a, &performed{request: r, entry: runEntry, own: view.Origin{Entry: runEntry}, made: h.held, res: res}, d.limit(a, r))
	if err != nil {
		return nil, withFate(err, Ran)
	}
	out.Handle, out.ResultFile, out.ByteSize, out.EstimatedTokens, out.blocks = c.Handle, c.ResultFile, c.ByteSize, c.EstimatedTokens, c.Content
	if c.Handle != "" {
		out.Value = json.RawMessage("null")
	}
	return out, nil
}

// textOf is a value as the text of a block: a string is itself, all else is JSON.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && value[0] == '"' {
		return text
	}
	return string(value)
}

func (d *Dispatcher) handleRun(ctx context.Context, in Input, r *request) Pieces {
	ctx, done := d.o.Recorder.Begin(ctx, CallInfo{Agent: in.Agent, Action: "run", Arguments: in.Arguments, Meta: in.Meta})
	answer, err := d.Run(ctx, in.Agent, runRequest(r, in))
	if err != nil {
		e := r.fail(err)
		done(Outcome{Code: e.Code})
		return Pieces{errorResult(e, r.wantsJSON())}
	}
	raw := answer.render(r)
	done(Outcome{Bytes: int64(len(raw)), Spilled: answer.Handle != "", Tokens: answer.EstimatedTokens})
	return Pieces{raw}
}

func (a *RunAnswer) render(r *request) json.RawMessage {
	a.Repairs = r.notes
	if r.wantsJSON() {
		return jsonResult(a, false)
	}
	var more []string
	if len(r.notes) > 0 {
		more = append(more, repairedLine(r.notes))
	}
	if a.nothing {
		more = append(more, "The code returned nothing: `return` gives the value.")
	}
	if a.Console != "" {
		more = append(more, "console:\n"+a.Console)
	}
	if line := tallyRun(a.Calls); line != "" {
		more = append(more, line)
	}
	blocks := a.blocks
	if a.nothing {
		blocks = nil
	}
	if len(more) > 0 {
		blocks = append(blocks[:len(blocks):len(blocks)], textBlock(strings.Join(more, "\n")))
	}
	return contentResult(blocks, false, member("_meta", arguments.Object{member(metaKey, mustJSON(struct {
		ByteSize        int64  `json:"byteSize"`
		EstimatedTokens int    `json:"estimatedTokens"`
		Calls           int    `json:"calls"`
		Handle          string `json:"handle,omitempty"`
	}{a.ByteSize, a.EstimatedTokens, len(a.Calls), a.Handle}))}.Raw()))
}

// tallyRun is a line for each tool that was called: how often, how long, how it went.
func tallyRun(calls []RunCall) string {
	const most = 20
	type sum struct {
		n, errors int
		ms        float64
	}
	byTool := map[string]*sum{}
	var order []string
	for _, c := range calls {
		s := byTool[c.Tool]
		if s == nil {
			s = &sum{}
			byTool[c.Tool] = s
			order = append(order, c.Tool)
		}
		s.n++
		s.ms += c.MS
		if c.IsError {
			s.errors++
		}
	}
	var lines []string
	for i, tool := range order {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d other tools", len(order)-most))
			break
		}
		s := byTool[tool]
		line := fmt.Sprintf("called %s", clip(tool, 120))
		if s.n > 1 {
			line += fmt.Sprintf(" ×%d", s.n)
		}
		line += fmt.Sprintf(" %.0f ms", s.ms)
		switch {
		case s.errors == s.n:
			line += " error"
		case s.errors > 0:
			line += fmt.Sprintf(" %d errors", s.errors)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
