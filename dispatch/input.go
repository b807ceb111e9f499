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
	Action              string          `json:"action"`
	Query               string          `json:"query"`
	Limit               *int            `json:"limit"`
	Offset              int64           `json:"offset"`
	Type                string          `json:"type"`
	Connection          string          `json:"connection"`
	Format              string          `json:"format"`
	Refresh             bool            `json:"refresh"`
	Tool                []string        `json:"tool"`
	Arguments           json.RawMessage `json:"-"`
	ArgumentsFile       string          `json:"argumentsFile"`
	Path                string          `json:"path"`
	JQ                  string          `json:"jq"`
	Op                  string          `json:"op"`
	Lines               int             `json:"lines"`
	FromLine            int             `json:"fromLine"`
	ToLine              int             `json:"toLine"`
	Pattern             string          `json:"pattern"`
	Context             int             `json:"context"`
	Invert              bool            `json:"invert"`
	MaxBytes            int             `json:"maxBytes"`
	ResultToFile        bool            `json:"resultToFile"`
	ResultSizeThreshold *int64          `json:"resultSizeThreshold"`
	TimeoutMS           int64           `json:"timeoutMs"`
	Meta                json.RawMessage `json:"meta"`
	DryRun              bool            `json:"dryRun"`
	Calls               json.RawMessage `json:"-"`
	ForEach             json.RawMessage `json:"-"`
	Concurrency         int             `json:"concurrency"`
	Max                 int             `json:"max"`
	Pages               json.RawMessage `json:"-"`
	ResultFile          []string        `json:"resultFile"`
	Topic               string          `json:"topic"`
	ID                  string          `json:"id"`
	IncludeTools        *bool           `json:"includeTools"`
	IncludeInputSchema  bool            `json:"includeInputSchema"`
	IncludeAnnotations  *bool           `json:"includeAnnotations"`

	extra arguments.Object // keys the action lacks; a call's tool may have them
	notes []string         // repairs made
	reads []string         // parameters of reading that were given
}

// spelling is the JSON form a parameter has.
type spelling int

const (
	text spelling = iota
	number
	boolean
	textList // one string or a list of strings
	object
	carried // any JSON, kept as written
)

// spellings holds every parameter of every action.
var spellings = map[string]spelling{
	"action": text, "query": text, "limit": number, "offset": number, "type": text, "connection": text,
	"format": text, "refresh": boolean, "tool": textList, "arguments": carried, "argumentsFile": text,
	"path": text, "jq": text, "op": text, "lines": number, "fromLine": number, "toLine": number,
	"pattern": text, "context": number, "invert": boolean, "maxBytes": number, "resultToFile": boolean,
	"resultSizeThreshold": number, "timeoutMs": number, "meta": object, "dryRun": boolean, "calls": carried,
	"forEach": carried, "concurrency": number, "max": number, "pages": carried, "resultFile": textList,
	"topic": text, "code": text, "id": text, "includeTools": boolean, "includeInputSchema": boolean,
	"includeAnnotations": boolean, "start": number, "end": number,
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
	"run":        {"code"},
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

// laterParams are parameters and values that are known but not built yet.
var laterParams = map[string]string{
}

var formats = []string{"compact", "detail", "json"}

// readFormats are what readresult takes beside.
var readFormats = []string{"csv", "toon"}

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
	if action == "run" {
		return nil, notYet(`action "run"`, "Use batch")
	}
	r.Action = action
	obj = obj.Set("action", mustJSON(action))
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
	return r, r.fill("call", obj.Set("action", json.RawMessage(`"call"`)))
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
	var flat arguments.Object
	for _, m := range obj {
		if !takesParam(action, m.Key) {
			r.extra = append(r.extra, m)
			continue
		}
		if hint, later := laterParams[m.Key]; later {
			return r.fail(notYet(fmt.Sprintf("parameter %q", m.Key), hint))
		}
		if slices.Contains(readParams, m.Key) {
			r.reads = append(r.reads, m.Key)
		}
		switch m.Key {
		case "arguments":
			r.Arguments = m.Value
		case "calls":
			r.Calls = m.Value
		case "forEach":
			r.ForEach = m.Value
		case "pages":
			r.Pages = m.Value
		case "start":
			flat = append(flat, arguments.Member{Key: "fromLine", Value: m.Value})
		case "end":
			flat = append(flat, arguments.Member{Key: "toLine", Value: m.Value})
		default:
			v, err := r.coerce(m.Key, m.Value)
			if err != nil {
				return r.fail(err)
			}
			flat = append(flat, arguments.Member{Key: m.Key, Value: v})
		}
	}
	id := r.ID
	if err := json.Unmarshal(flat.Raw(), r); err != nil {
		return r.fail(&Error{Code: BadRequest, Message: "the input does not fit: " + err.Error(), Err: err})
	}
	if id != "" {
		r.ID = id
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
	case r.Format == "" || slices.Contains(formats, r.Format):
	case action == "readresult" && slices.Contains(readFormats, r.Format):
	case action == "describe" && r.Format == "typescript":
		return r.fail(notYet(fmt.Sprintf("format %q", r.Format), "Use compact or json"))
	default:
		return r.fail(&Error{Code: BadRequest, Message: fmt.Sprintf("there is no format %q", r.Format),
			Do: "Formats: " + strings.Join(formats, ", "), Suggestions: arguments.Nearest(r.Format, formats, 1)})
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

// coerce gives a parameter the JSON form it has, noting what it changed.
func (r *request) coerce(key string, v json.RawMessage) (json.RawMessage, error) {
	var s string
	isText := len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil
	out := v
	switch want := spellings[key]; {
	case string(v) == "null":
		return v, nil
	case want == text && isText, want == carried:
		return v, nil
	case want == text && len(v) > 0 && v[0] != '{' && v[0] != '[':
		out = mustJSON(string(v))
	case want == textList && isText:
		if key == "resultFile" && strings.Contains(s, ",") {
			return mustJSON(strings.FieldsFunc(s, func(c rune) bool { return c == ',' || c == ' ' })), nil
		}
		return mustJSON([]string{s}), nil
	case want == textList && len(v) > 0 && v[0] == '[':
		return v, nil
	case want == number && isText, want == boolean && isText:
		out = json.RawMessage(strings.TrimSpace(s))
	case want == object && isText:
		out = json.RawMessage(s)
	case want == number && strings.HasSuffix(string(v), ".0"):
		out = v[:len(v)-2]
	}
	if !fits(spellings[key], out) {
		return nil, &Error{Code: BadRequest, Message: fmt.Sprintf("%s is %s, want %s", key, clip(string(v), 60), wanted[spellings[key]])}
	}
	if string(out) != string(v) {
		r.note("%s: %s → %s", key, clip(string(v), 40), clip(string(out), 40))
	}
	return out, nil
}

var wanted = map[spelling]string{text: "a string", number: "a whole number, 0 or more", boolean: "true or false",
	textList: "a string or a list of strings", object: "an object"}

// fits reports whether v has the form.
func fits(want spelling, v json.RawMessage) bool {
	var err error
	switch want {
	case text:
		var s string
		err = json.Unmarshal(v, &s)
	case number:
		var n uint32
		err = json.Unmarshal(v, &n)
	case boolean:
		var b bool
		err = json.Unmarshal(v, &b)
	case textList:
		var l []string
		err = json.Unmarshal(v, &l)
	case object:
		var m map[string]json.RawMessage
		err = json.Unmarshal(v, &m)
	}
	return err == nil
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

func notYet(what, instead string) *Error {
	return &Error{Code: BadRequest, Message: what + " is not available yet", Do: instead}
}
