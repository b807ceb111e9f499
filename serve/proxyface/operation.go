package proxyface

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	actionList  = "list"
	actionInfo  = "info"
	actionCall  = "call"
	actionBatch = "batch"
)

// Limits of the parameters.
const (
	defaultLimit = 100
	maxLimit     = 1000
	maxBatch     = 50
)

var (
	actions = []string{actionList, actionInfo, actionCall, actionBatch}
	types   = []string{"tool", "resource", "prompt"}
)

// takes says which parameters an action has beside action and type.
var takes = map[string][]string{
	actionList:  {"limit", "offset", "filter_server", "filter"},
	actionInfo:  {"path"},
	actionCall:  {"path", "args"},
	actionBatch: {"operations"},
}

// parameters are all that some action takes.
var parameters = []string{"action", "type", "path", "args", "limit", "offset", "filter_server", "filter", "operations"}

// operation is one use of the tool, held against the rules.
type operation struct {
	action        string
	kind          catalog.Kind
	path          string
	args          json.RawMessage // an object; nil if absent
	limit, offset int
	filter        filter
	operations    []json.RawMessage
	id            string // in a batch
}

// record is what the operation is called in records.
func (o operation) record() string {
	switch o.action {
	case "":
		return actionCall
	case actionInfo:
		return "describe"
	}
	return o.action
}

func bad(format string, args ...any) *dispatch.Error {
	return &dispatch.Error{Code: dispatch.BadRequest, Message: fmt.Sprintf(format, args...)}
}

// readOperation reads the tool's arguments by the rules of the draft. The error is a *dispatch.Error; the operation then
// holds what could be read.
func readOperation(raw json.RawMessage) (operation, error) {
	o := operation{limit: defaultLimit}
	obj, err := readObject(raw)
	if err != nil {
		return o, err
	}
	if err := o.readKind(obj); err != nil {
		return o, err
	}
	for _, m := range obj {
		if m.Key == "action" || m.Key == "type" {
			continue
		}
		if err := o.allows(m.Key); err != nil {
			return o, err
		}
		if err := o.read(m.Key, m.Value); err != nil {
			return o, err
		}
	}
	return o, o.complete()
}

// readObject reads an object without the members that are null: a client that writes all its fields means none by it.
func readObject(raw json.RawMessage) (arguments.Object, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	obj, err := arguments.ParseObject(raw)
	if errors.Is(err, arguments.ErrNotObject) {
		return nil, bad("the parameters are not a JSON object")
	}
	if err != nil {
		return nil, bad("%v", err)
	}
	obj = slices.DeleteFunc(obj, func(m arguments.Member) bool { return string(m.Value) == "null" })
	// A server in a language where `type` is taken may show the parameter under this name; its clients know both.
	for i, m := range obj {
		if _, twice := obj.Get("type"); m.Key == "a_type" && !twice {
			obj[i].Key = "type"
		}
	}
	return obj, nil
}

func (o *operation) readKind(obj arguments.Object) error {
	if v, given := obj.Get("action"); !given {
		return refuse("parameter 'action' is required", "", actions)
	} else if err := oneOf("action", v, actions); err != nil {
		return err
	} else {
		o.action = rawjson.Unquote(v)
	}
	v, given := obj.Get("type")
	switch {
	case !given && o.action == actionBatch:
		return nil
	case !given:
		return refuse(fmt.Sprintf("parameter 'type' is required for action '%s'", o.action), "", types)
	}
	if err := oneOf("type", v, types); err != nil {
		return err
	}
	o.kind = catalog.Kind(rawjson.Unquote(v))
	return nil
}

// oneOf checks that a value is one of some words.
func oneOf(name string, v json.RawMessage, words []string) error {
	if v[0] != '"' {
		return bad("parameter '%s' must be a string", name)
	}
	if word := rawjson.Unquote(v); !slices.Contains(words, word) {
		return refuse(fmt.Sprintf("there is no %s %q", name, clip(word, 60)), word, words)
	}
	return nil
}

// refuse is an error that names what could stand instead.
func refuse(what, word string, words []string) error {
	e := bad("%s", what)
	e.Do = "Use one of: " + strings.Join(words, ", ")
	e.Suggestions = words
	if near := arguments.Nearest(word, words, 2); len(near) > 0 {
		e.Suggestions = near
	}
	return e
}

// allows refuses a parameter that the action does not take.
func (o *operation) allows(name string) error {
	switch {
	case slices.Contains(takes[o.action], name):
		return nil
	case !slices.Contains(parameters, name):
		return refuse(fmt.Sprintf("there is no parameter %q", clip(name, 60)), name, parameters)
	}
	var who []string
	for _, a := range actions {
		if slices.Contains(takes[a], name) {
			who = append(who, "'"+a+"'")
		}
	}
	e := bad("parameter '%s' is not allowed for action '%s'", name, o.action)
	e.Do = "It belongs to " + strings.Join(who, " and ")
	return e
}

// read reads one parameter that the action takes.
func (o *operation) read(name string, v json.RawMessage) (err error) {
	switch name {
	case "path":
		o.path, err = readText(name, v)
	case "args":
		o.args, err = readArgs(v)
	case "limit":
		o.limit, err = readNumber(name, v, 1, maxLimit)
	case "offset":
		o.offset, err = readNumber(name, v, 0, math.MaxInt32)
	case "filter_server":
		o.filter.named, err = readText(name, v)
	case "filter":
		err = o.filter.read(v)
	case "operations":
		o.operations, err = readOperations(v)
	}
	return err
}

// complete checks that nothing that the action needs is missing.
func (o *operation) complete() error {
	switch {
	case (o.action == actionInfo || o.action == actionCall) && o.path == "":
		e := bad("parameter 'path' is required for action '%s'", o.action)
		e.Do = "It is a name or URI that action 'list' gives"
		return e
	case o.action == actionBatch && o.operations == nil:
		return bad("parameter 'operations' is required for action 'batch'")
	}
	return nil
}

func readText(name string, v json.RawMessage) (string, error) {
	if v[0] != '"' {
		return "", bad("parameter '%s' must be a string", name)
	}
	return rawjson.Unquote(v), nil
}

// readNumber reads a whole number, 10 or 1e1.
func readNumber(name string, v json.RawMessage, least, most int) (int, error) {
	var n float64
	if err := json.Unmarshal(v, &n); err != nil || n != math.Trunc(n) {
		return 0, bad("parameter '%s' must be a whole number", name)
	}
	if n < float64(least) || n > float64(most) {
		return 0, bad("parameter '%s' must be %d to %d", name, least, most)
	}
	return int(n), nil
}

// readArgs reads an object, or a string that holds one.
func readArgs(v json.RawMessage) (json.RawMessage, error) {
	said := v
	if v[0] == '"' {
		said = rawjson.Text(v)
	}
	obj, err := arguments.ParseObject(said)
	switch {
	case err == nil && obj == nil:
		return json.RawMessage("{}"), nil
	case err == nil:
		return said, nil
	case errors.Is(err, arguments.ErrNotObject):
		return nil, bad("parameter 'args' must be an object, or a string that holds one as JSON")
	}
	return nil, bad("parameter 'args': %v", err)
}

func readOperations(v json.RawMessage) ([]json.RawMessage, error) {
	list := slices.Collect(rawjson.Elements(v))
	switch {
	case v[0] != '[' || len(list) == 0:
		return nil, bad("parameter 'operations' must be a list of operations, not empty")
	case len(list) > maxBatch:
		e := bad("%d operations in one batch, the most is %d", len(list), maxBatch)
		e.Do = "Send several batches"
		return nil, e
	}
	return list, nil
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
