package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

// request is the flat input of the one tool, read and repaired, still untyped where it is only carried.
type request struct {
	Action              string
	Query               string
	Limit               *int
	Offset              int64
	Type                string
	Connection          string
	Format              string
	Refresh             bool
	Tool                []string
	Arguments           json.RawMessage
	ArgumentsFile       string
	Path                string
	JQ                  string
	Op                  string
	Lines               int
	FromLine            int
	ToLine              int
	Pattern             string
	Context             int
	Invert              bool
	MaxBytes            int
	ResultToFile        bool
	ResultSizeThreshold *int64
	TimeoutMS           int64
	Meta                json.RawMessage
	DryRun              bool
	Calls               json.RawMessage
	ForEach             json.RawMessage
	Concurrency         int
	Max                 int
	Pages               json.RawMessage
	ResultFile          []string
	Topic               string
	Code                string
	ID                  string
	IncludeTools        *bool
	IncludeInputSchema  bool
	IncludeAnnotations  *bool

	extra arguments.Object // keys the action lacks; a call's tool may have them
	notes []string         // repairs made
	reads []string         // parameters of reading that were given
}

var (
	pageParams = []string{"limit", "offset"}
	// miniaParams are taken because agents of mini-a send them; search has its tools in any case.
	miniaParams = []string{"includeTools", "includeInputSchema", "includeAnnotations"}
	readParams  = []string{"op", "path", "jq", "lines", "fromLine", "toLine", "pattern", "context", "limit",
		"invert", "offset", "maxBytes", "start", "end"}
	spillParams = []string{"resultToFile", "resultSizeThreshold"}
	callParams  = slices.Concat([]string{"tool", "type", "arguments", "argumentsFile", "timeoutMs", "meta",
		"dryRun", "pages"}, readParams, spillParams)
)

// takes holds the parameters of each action beside action, connection and format, which all take.
var takes = map[string][]string{
	"search":     slices.Concat([]string{"query", "type", "refresh"}, pageParams, miniaParams),
	"list":       slices.Concat([]string{"query", "type", "refresh"}, pageParams, miniaParams),
	"describe":   {"tool", "type", "path"},
	"call":       callParams,
	"batch":      slices.Concat([]string{"calls", "forEach", "concurrency", "max", "path", "jq"}, spillParams),
	"readresult": slices.Concat([]string{"resultFile", "resultToFile"}, readParams),
	"status":     {"refresh"},
	"help":       {"topic"},
	"run":        slices.Concat([]string{"code", "timeoutMs"}, spillParams),
}

// Actions lists the actions in the order help shows them.
var Actions = []string{"search", "list", "describe", "call", "batch", "readresult", "status", "help"}

var actionSpellings = map[string]string{
	"info": "describe", "get": "describe", "invoke": "call", "execute": "call",
	"read": "readresult", "read_result": "readresult", "find": "search",
}

// paramSpellings are other words for a parameter; they count only where the action has the
// parameter and the parameter itself is absent.
var paramSpellings = map[string]string{
	"args": "arguments", "params": "arguments", "input": "arguments",
	"name": "tool", "tool_name": "tool", "uri": "tool",
	"handle": "resultFile", "id": "resultFile", "file": "resultFile",
	"select": "path", "filter": "jq",
}

var formats = []string{"compact", "detail", "json"}

// formatsOf are the formats that an action takes.
func formatsOf(action string) []string {
	switch action {
	case "readresult":
		return append(slices.Clip(formats), "csv", "toon")
	case "describe":
		return append(slices.Clip(formats), "typescript")
	}
	return formats
}

// parseRequest reads the flat input of the one tool. The error is always an *Error; the request is not
// nil once its action is known.
func parseRequest(raw json.RawMessage) (*request, error) {
	obj, err := parseFlat(raw)
	if err != nil {
		return nil, err
	}
	r := &request{}
	v, ok := obj.Get("action")
	if !ok {
		return nil, &Error{Code: BadRequest, Message: "action is missing",
			Do: "Start with " + `{"action":"search","query":"what you want to do"}`, Suggestions: Actions}
	}
	var action string
	if json.Unmarshal(v, &action) != nil {
		return nil, &Error{Code: BadRequest, Message: "action is not a string", Suggestions: Actions}
	}
	if a, ok := actionSpellings[action]; ok {
		r.note("action: %s → %s", action, a)
		action = a
	}
	if takes[action] == nil {
		near := arguments.Nearest(action, Actions, 2)
		return nil, &Error{Code: BadRequest, Message: fmt.Sprintf("there is no action %q", action),
			Do: "Actions: " + strings.Join(Actions, ", "), Suggestions: near}
	}
	r.Action = action
	return r, r.fill(action, obj)
}

// parseCall reads one element of a batch's calls: a call without its action.
func parseCall(raw json.RawMessage) (*request, error) {
	obj, err := parseFlat(raw)
	if err != nil {
		return nil, err
	}
	r := &request{}
	if id, ok := obj.Get("id"); ok {
		r.ID = strings.Trim(string(id), `"`)
		obj = obj.Delete("id")
	}
	if a, ok := obj.Get("action"); ok {
		if s := strings.Trim(string(a), `"`); s != "call" && actionSpellings[s] != "call" {
			return r, &Error{Code: BadRequest, Message: fmt.Sprintf("a batch holds calls, not %q", s)}
		}
	}
	r.Action = "call"
	return r, r.fill("call", obj)
}

func parseFlat(raw json.RawMessage) (arguments.Object, error) {
	obj, err := arguments.ParseObject(raw)
	if err == nil {
		return obj, nil
	}
	e := &Error{Code: BadRequest, Message: err.Error(), Err: err, Do: "Send one JSON object with each key once"}
	if errors.Is(err, arguments.ErrNotObject) {
		e.Message = "the input is not a JSON object"
	}
	return nil, e
}

// fill sorts the members of obj into the request's fields.
func (r *request) fill(action string, obj arguments.Object) error {
	obj = r.lift(action, r.rename(action, obj))
	for _, m := range obj {
		if m.Key == "action" {
			continue
		}
		if !takesParam(action, m.Key) {
			r.extra = append(r.extra, m)
			continue
		}
		if slices.Contains(readParams, m.Key) {
			r.reads = append(r.reads, m.Key)
		}
		if err := r.set(m.Key, m.Value); err != nil {
			return r.fail(err)
		}
	}
	return r.settle(action)
}

// settle checks what spans several parameters and fills in what they imply.
func (r *request) settle(action string) error {
	if action != "call" && len(r.extra) > 0 {
		key := r.extra[0].Key
		known := slices.Concat(takes[action], []string{"connection", "format"})
		return r.fail(&Error{Code: BadRequest, Message: fmt.Sprintf("%s has no parameter %q", action, key),
			Suggestions: arguments.Nearest(key, known, 3), Do: "Parameters: " + strings.Join(known, ", ")})
	}
	switch {
	case r.Format == "" || slices.Contains(formatsOf(action), r.Format):
	default:
		return r.fail(&Error{Code: BadRequest, Message: fmt.Sprintf("there is no format %q", r.Format),
			Do: "Formats: " + strings.Join(formatsOf(action), ", "), Suggestions: arguments.Nearest(r.Format, formatsOf(action), 1)})
	}
	switch r.Type {
	case "", "tool", "resource", "prompt":
	default:
		return r.fail(&Error{Code: BadRequest, Message: fmt.Sprintf("there is no type %q", r.Type), Do: "Types: tool, resource, prompt"})
	}
	if action == "readresult" && r.Op == "" {
		r.Op = r.impliedOp()
	}
	return nil
}

// impliedOp is the op that the given read parameters name.
func (r *request) impliedOp() string {
	switch {
	case r.Pattern != "":
		return "grep"
	case r.Lines != 0:
		return "head"
	case r.FromLine != 0 || r.ToLine != 0:
		return "slice"
	case r.Path != "" || r.JQ != "":
		return "read"
	}
	return "stat"
}

// rename replaces other spellings of parameters.
func (r *request) rename(action string, obj arguments.Object) arguments.Object {
	for i, m := range obj {
		to, ok := paramSpellings[m.Key]
		if !ok || takesParam(action, m.Key) || !takesParam(action, to) {
			continue
		}
		if _, taken := obj.Get(to); taken {
			continue
		}
		r.note("%s → %s", m.Key, to)
		obj[i].Key = to
	}
	return obj
}

// lift takes read parameters out of a nested `arguments`.
func (r *request) lift(action string, obj arguments.Object) arguments.Object {
	nested, ok := obj.Get("arguments")
	if !ok || action != "readresult" {
		return obj
	}
	inner, err := arguments.ParseObject(nested)
	if err != nil {
		return obj
	}
	obj = obj.Delete("arguments")
	r.note("arguments.* → top level")
	for _, m := range r.rename(action, inner) {
		if _, taken := obj.Get(m.Key); !taken {
			obj = obj.Set(m.Key, m.Value)
		}
	}
	return obj
}

func takesParam(action, key string) bool {
	return key == "action" || key == "connection" || key == "format" || slices.Contains(takes[action], key)
}

func (r *request) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// fail returns err with the repairs made so far.
func (r *request) fail(err error) *Error {
	e := *asError(err)
	e.Repairs = r.notes
	return &e
}

// kind returns the kind of thing the request asks for.
func (r *request) wantsJSON() bool { return r.Format == "json" }
