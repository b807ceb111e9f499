// Package outside runs the hooks that are somebody's own code: modules of JavaScript, commands, addresses.
//
// All of them are asked by the same JSON object and answer with the same one.
package outside

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const (
	// DefaultTimeout bounds one run of a hook that has no timeout of its own.
	DefaultTimeout = 5 * time.Second
	maxAnswer      = 64 << 20 // bytes of one answer
)

var errTooLarge = fmt.Errorf("its answer has more than %d bytes", maxAnswer)

// told is what a hook is told of a call beside its arguments and result.
func told(c dispatch.HookCall) json.RawMessage {
	who := struct {
		View       string `json:"view"`
		Server     string `json:"server"`
		Tool       string `json:"tool"`
		Shown      string `json:"shown"` // the tool's name in the view
		Type       string `json:"type"`
		Principal  string `json:"principal"`
		Role       string `json:"role,omitempty"`
		Client     string `json:"client,omitempty"`
		Session    string `json:"session,omitempty"`
		ReadOnly   bool   `json:"readOnly"`
		Idempotent bool   `json:"idempotent"`
		// The same under the names that hooks of other proxies know.
		ViewName       string          `json:"view_name"`
		ToolName       string          `json:"tool_name"`
		UpstreamServer string          `json:"upstream_server"`
		Claims         json.RawMessage `json:"claims,omitempty"`
	}{c.Agent.View, c.Ref.Server, c.Ref.Name, c.Shown, string(c.Ref.Kind), c.Agent.Principal, c.Agent.Role, c.Agent.Client, c.Agent.Session,
		c.ReadOnly, c.Idempotent, c.Agent.View, c.Ref.Name, c.Ref.Server, nil}
	if rawjson.Valid([]byte(c.Agent.Claims)) {
		who.Claims = json.RawMessage(c.Agent.Claims)
	}
	raw, err := json.Marshal(who)
	if err != nil { // texts and valid JSON always marshal
		panic(err)
	}
	return raw
}

// question is the object a command or an address is asked by, on one line.
func question(c dispatch.HookCall) ([]byte, error) {
	obj := arguments.Object{{Key: "phase", Value: json.RawMessage(`"pre_call"`)}, {Key: "context", Value: told(c)}, {Key: "args", Value: c.Arguments}}
	if c.Result != nil {
		obj[0].Value = json.RawMessage(`"post_call"`)
		obj = append(obj, arguments.Member{Key: "result", Value: c.Result}, arguments.Member{Key: "data", Value: dispatch.DataOf(c.Result)})
	}
	return rawjson.OneLine(obj.Raw())
}

var errUnknownKey = errors.New("a hook answers with args, result, data, abort, abort_reason, code and meta")

// verdict reads what a hook answers: nothing, null, or an object.
func verdict(c dispatch.HookCall, raw []byte) (v dispatch.Verdict, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return v, nil
	}
	obj, err := arguments.ParseObject(raw)
	if err != nil {
		return v, fmt.Errorf("read its answer: %w", err)
	}
	abort := false
	for _, m := range obj {
		switch value := m.Value; m.Key {
		case "args", "arguments":
			if string(value) != "null" && c.Result == nil {
				v.Arguments = value
			}
		case "result":
			if string(value) != "null" {
				v.Result = value
			}
		case "data":
			if string(value) != "null" && c.Result != nil {
				v.Result = dispatch.WithData(c.Result, value)
			} else if string(value) != "null" {
				v.Result = dispatch.WithData(json.RawMessage("{}"), value)
			}
		case "abort":
			abort = string(value) == "true"
			if value[0] == '"' {
				abort, v.Abort = true, rawjson.Unquote(value)
			}
		case "abort_reason", "abortReason", "reason":
			if reason := rawjson.Unquote(value); reason != "" {
				v.Abort = reason
			}
		case "code":
			v.Code = dispatch.Code(rawjson.Unquote(value))
		case "meta", "metadata":
			if string(value) != "null" {
				v.Meta = value
			}
		default:
			return v, fmt.Errorf("%q: %w", m.Key, errUnknownKey)
		}
	}
	switch {
	case !abort:
		v.Abort = ""
	case v.Abort == "":
		v.Abort = "a hook refused the call"
	}
	if v.Code != "" && v.Code != dispatch.AuthRequired {
		v.Code = dispatch.Denied
	}
	return v, nil
}
