package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Type is what an operation is about.
type Type string

// The types.
const (
	TypeTool     Type = "tool"
	TypeResource Type = "resource"
	TypePrompt   Type = "prompt"
)

// Action is what an operation does.
type Action string

const (
	actionList = "list"
	actionInfo = "info"
	actionCall = "call"
)

// The actions.
const (
	ActionList  Action = actionList
	ActionInfo  Action = actionInfo
	ActionCall  Action = actionCall
	ActionBatch Action = "batch" // not every proxy has it
)

// Operation is one use of the proxy's tool. What an action does not take must be zero.
type Operation struct {
	Type   Type
	Action Action
	// Path is the name or URI that an info or call is about.
	Path string
	// Arguments of a call: anything that encodes as a JSON object, json.RawMessage as it is; nil means none.
	Arguments any
	// Limit (1 to 1000; 0 means the proxy's default, 100) and Offset are the page of a list.
	Limit, Offset int
	// FilterServer leaves of a list what a server's prefix stands before, such as "files_".
	FilterServer string
	// Filter narrows a list further; not every proxy has it.
	Filter *Filter
	// Operations of a batch, at most 50.
	Operations []Operation
	// Timeout bounds the request; 0 means the client's.
	Timeout time.Duration
	// Progress hears the params of each progress notification; nil: none is asked for.
	Progress func(params json.RawMessage)
}

// Filter narrows a list; what is set must all hold.
type Filter struct {
	Prefix string   `json:"prefix,omitempty"`
	Tags   []string `json:"tags,omitempty"` // any of them
	Server string   `json:"server,omitempty"`
}

const maxOperations = 50

// Validate holds an operation against the rules of the draft. The error wraps ErrInvalid and names the field.
func (o Operation) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch o.Action {
	case ActionList, ActionInfo, ActionCall, ActionBatch:
	default:
		return bad("there is no action %q", o.Action)
	}
	switch o.Type {
	case TypeTool, TypeResource, TypePrompt:
	case "":
		if o.Action != ActionBatch {
			return bad("Type is required")
		}
	default:
		return bad("there is no type %q", o.Type)
	}
	needsPath := o.Action == ActionInfo || o.Action == ActionCall
	switch {
	case needsPath && o.Path == "":
		return bad("Path is required for %s", o.Action)
	case !needsPath && o.Path != "":
		return bad("Path is not allowed for %s", o.Action)
	case o.Arguments != nil && o.Action != ActionCall:
		return bad("Arguments are not allowed for %s", o.Action)
	case o.Action != ActionList && (o.Limit != 0 || o.Offset != 0 || o.FilterServer != "" || o.Filter != nil):
		return bad("Limit, Offset, FilterServer and Filter are only for list")
	case o.Limit < 0 || o.Limit > maxPageSize:
		return bad("Limit must be 1 to %d", maxPageSize)
	case o.Offset < 0:
		return bad("Offset must not be negative")
	}
	return o.validateBatch(bad)
}

func (o Operation) validateBatch(bad func(string, ...any) error) error {
	switch {
	case o.Action != ActionBatch && o.Operations != nil:
		return bad("Operations are only for batch")
	case o.Action == ActionBatch && (len(o.Operations) == 0 || len(o.Operations) > maxOperations):
		return bad("a batch has 1 to %d Operations", maxOperations)
	}
	for i, inner := range o.Operations {
		if inner.Action == ActionBatch {
			return bad("operation %d: a batch holds no batch", i)
		}
		if inner.Type == "" {
			inner.Type = o.Type
		}
		if err := inner.Validate(); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return nil
}

// parameters is the operation as the tool takes it.
func (o Operation) parameters() (json.RawMessage, error) {
	out := rawjson.Set([]byte(`{}`), "action", rawjson.Quote(string(o.Action)))
	set := func(key string, given bool, v any) error {
		if !given {
			return nil
		}
		raw, err := encode(v)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrInvalid, key, err)
		}
		out = rawjson.Set(out, key, raw)
		return nil
	}
	var operations []json.RawMessage
	for i, inner := range o.Operations {
		raw, err := inner.parameters()
		if err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		operations = append(operations, raw)
	}
	arguments, err := encodeObject(o.Arguments)
	if err != nil {
		return nil, err
	}
	for _, m := range []struct {
		key   string
		given bool
		v     any
	}{
		{"type", o.Type != "", o.Type}, {"path", o.Path != "", o.Path}, {"args", arguments != nil, arguments},
		{"limit", o.Limit != 0, o.Limit}, {"offset", o.Offset != 0, o.Offset}, {"filter_server", o.FilterServer != "", o.FilterServer},
		{"filter", o.Filter != nil, o.Filter}, {"operations", operations != nil, operations},
	} {
		if err := set(m.key, m.given, m.v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encodeObject encodes arguments; nil stays nil.
func encodeObject(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); v == nil || ok && len(raw) == 0 {
		return nil, nil
	}
	raw, err := encode(v)
	if err != nil {
		return nil, fmt.Errorf("%w: Arguments: %w", ErrInvalid, err)
	}
	if at := rawjson.Space(raw, 0); at >= len(raw) || raw[at] != '{' {
		if string(raw) == "null" { // a nil map
			return nil, nil
		}
		return nil, fmt.Errorf("%w: Arguments are not a JSON object", ErrInvalid)
	}
	return raw, nil
}

// encode encodes a value; raw JSON stays as it is spelled.
func encode(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		if err := rawjson.Check(raw); err != nil {
			return nil, err
		}
		return raw, nil
	}
	return json.Marshal(v)
}

// Proxy sends one operation to the tool of the draft and returns its answer as it came. An answer that says isError is no
// error of Proxy: see Result.Err. The error is ErrInvalid before anything is sent, ErrNoProxy where the server has only
// proxy-dispatch or no such tool.
func (c *Client) Proxy(ctx context.Context, o Operation) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	tool, err := c.Tool(ctx)
	if err != nil {
		return nil, err
	}
	if tool.Kind != KindProxy {
		return nil, fmt.Errorf("%w: %s takes no operations of the draft", ErrNoProxy, tool.Name)
	}
	parameters, err := o.parameters()
	if err != nil {
		return nil, err
	}
	return c.use(ctx, tool.Name, parameters, o.Timeout, o.Progress)
}
