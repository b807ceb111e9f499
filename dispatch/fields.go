package dispatch

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

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
	"topic": text, "code": text, "includeTools": boolean, "includeInputSchema": boolean,
	"includeAnnotations": boolean, "start": number, "end": number,
}

// set reads one parameter into its field, in the JSON form it has, noting what had to be changed.
func (r *request) set(key string, v json.RawMessage) error {
	if string(v) == "null" {
		return nil
	}
	switch field := r.field(key).(type) {
	case *json.RawMessage:
		if spellings[key] == carried {
			*field = v
			return nil
		}
	case *string:
		if v[0] == '"' {
			*field = rawjson.Unquote(v)
			return nil
		}
	case *[]string:
		if v[0] == '"' && key != "resultFile" {
			*field = []string{rawjson.Unquote(v)}
			return nil
		}
	}
	out, noted := coerce(key, v)
	if !fits(spellings[key], out) || json.Unmarshal(out, r.field(key)) != nil {
		return &Error{Code: BadRequest, Message: fmt.Sprintf("%s is %s, want %s", key, clip(string(v), 60), wanted[spellings[key]])}
	}
	if noted {
		r.note("%s: %s → %s", key, clip(string(v), 40), clip(string(out), 40))
	}
	return nil
}

// coerce gives a value the JSON form of its parameter where that is plain; noted says that it is a
// change worth telling.
func coerce(key string, v json.RawMessage) (out json.RawMessage, noted bool) {
	said := ""
	isText := v[0] == '"'
	if isText {
		said = rawjson.Unquote(v)
	}
	switch want := spellings[key]; {
	case want == text && v[0] != '{' && v[0] != '[':
		return mustJSON(string(v)), true
	case want == textList && isText: // handles, separated by commas
		return mustJSON(strings.FieldsFunc(said, func(c rune) bool { return c == ',' || c == ' ' })), false
	case (want == number || want == boolean || want == object) && isText:
		return json.RawMessage(strings.TrimSpace(said)), true
	case want == number && strings.HasSuffix(string(v), ".0"):
		return v[:len(v)-2], true
	}
	return v, false
}

// field returns where a parameter is read into.
func (r *request) field(key string) any {
	switch key {
	case "query":
		return &r.Query
	case "limit":
		return &r.Limit
	case "offset":
		return &r.Offset
	case "type":
		return &r.Type
	case "connection":
		return &r.Connection
	case "format":
		return &r.Format
	case "refresh":
		return &r.Refresh
	case "tool":
		return &r.Tool
	case "arguments":
		return &r.Arguments
	case "argumentsFile":
		return &r.ArgumentsFile
	case "timeoutMs":
		return &r.TimeoutMS
	case "meta":
		return &r.Meta
	case "dryRun":
		return &r.DryRun
	case "resultFile":
		return &r.ResultFile
	case "resultToFile":
		return &r.ResultToFile
	case "resultSizeThreshold":
		return &r.ResultSizeThreshold
	case "topic":
		return &r.Topic
	case "code":
		return &r.Code
	}
	return r.rareField(key)
}

// rareField is field for the parameters of reading, batches and mini-a.
func (r *request) rareField(key string) any {
	switch key {
	case "path":
		return &r.Path
	case "jq":
		return &r.JQ
	case "op":
		return &r.Op
	case "lines":
		return &r.Lines
	case "fromLine", "start":
		return &r.FromLine
	case "toLine", "end":
		return &r.ToLine
	case "pattern":
		return &r.Pattern
	case "context":
		return &r.Context
	case "invert":
		return &r.Invert
	case "maxBytes":
		return &r.MaxBytes
	case "calls":
		return &r.Calls
	case "forEach":
		return &r.ForEach
	case "concurrency":
		return &r.Concurrency
	case "max":
		return &r.Max
	case "pages":
		return &r.Pages
	case "includeTools":
		return &r.IncludeTools
	case "includeInputSchema":
		return &r.IncludeInputSchema
	case "includeAnnotations":
		return &r.IncludeAnnotations
	}
	return nil
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
