package client

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// Result is a proxy's answer as it came.
type Result struct {
	// Raw is the whole CallToolResult.
	Raw     json.RawMessage
	Items   []Item
	IsError bool
	// Structured and Meta are structuredContent and `_meta`, nil if absent.
	Structured, Meta json.RawMessage
}

// Item is one content item of an answer.
type Item struct {
	Raw json.RawMessage
	// About is what its annotations say.
	About About
}

// About is what the annotations of an item say of it. The zero About is an item that says nothing.
type About struct {
	Type   Type   // proxyType
	Action Action // proxyAction
	Path   string // proxyPath
	// PythonType names what the JSON of the item is: Tool, Resource | ResourceTemplate, Prompt, GetPromptResult.
	PythonType string
	Many       bool // the JSON is a list of them
	// TotalCount, Offset and Limit are the page of a list; TotalCount is -1 where nothing is said.
	TotalCount, Offset, Limit int
	// Index is which operation of a batch it belongs to, -1 for none.
	Index int
}

// AboutOf reads the annotations of a content item.
func AboutOf(item json.RawMessage) About {
	a := About{TotalCount: -1, Index: -1}
	for key, v := range rawjson.Members(rawjson.Member(item, "annotations")) {
		switch key {
		case "proxyType":
			a.Type = Type(rawjson.Unquote(v))
		case "proxyAction":
			a.Action = Action(rawjson.Unquote(v))
		case "proxyPath":
			a.Path = rawjson.Unquote(v)
		case "pythonType":
			a.PythonType = rawjson.Unquote(v)
		case "many":
			a.Many = string(v) == "true"
		case "totalCount":
			a.TotalCount = number(v, -1)
		case "offset":
			a.Offset = number(v, 0)
		case "limit":
			a.Limit = number(v, 0)
		case "proxyIndex":
			a.Index = number(v, -1)
		}
	}
	return a
}

func number(raw json.RawMessage, otherwise int) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return otherwise
	}
	return n
}

// annotationKeys are what a proxy adds to an item's annotations.
var annotationKeys = []string{"proxyType", "proxyAction", "proxyPath", "pythonType", "many", "totalCount", "offset", "limit", "proxyIndex"}

// ReadResult reads a raw CallToolResult. The error wraps ErrShape.
func ReadResult(raw json.RawMessage) (*Result, error) {
	r := &Result{Raw: raw}
	if at := rawjson.Space(raw, 0); at >= len(raw) || raw[at] != '{' {
		return nil, fmt.Errorf("%w: the result is no object", ErrShape)
	}
	for key, v := range rawjson.Members(raw) {
		switch key {
		case "content":
			for item := range rawjson.Elements(v) {
				r.Items = append(r.Items, Item{Raw: item, About: AboutOf(item)})
			}
		case "isError":
			r.IsError = string(v) == "true"
		case "structuredContent":
			r.Structured = v
		case "_meta":
			r.Meta = v
		}
	}
	return r, nil
}

// About is what the first item says; of an answer without items, the zero About with counts of -1.
func (r *Result) About() About {
	if len(r.Items) == 0 {
		return About{TotalCount: -1, Index: -1}
	}
	return r.Items[0].About
}

// ToolError is an answer that says isError.
type ToolError struct {
	// Code is the word before the first colon, where the proxy itself speaks: unknown_tool, bad_request, …; else "".
	Code string
	// Text is all text of the answer.
	Text string
	// Raw is the answer.
	Raw json.RawMessage
}

// Error returns the text.
func (e *ToolError) Error() string { return e.Text }

var codeWord = regexp.MustCompile(`\A[a-z]+(_[a-z]+)*:`)

// Err is the answer as a *ToolError if it says isError, else nil.
func (r *Result) Err() error {
	if !r.IsError {
		return nil
	}
	var texts []string
	for _, item := range r.Items {
		if text := rawjson.Member(item.Raw, "text"); text != nil {
			texts = append(texts, rawjson.Unquote(text))
		}
	}
	e := &ToolError{Text: strings.Join(texts, "\n"), Raw: r.Raw}
	if said := rawjson.Member([]byte(e.Text), "error"); rawjson.Valid([]byte(e.Text)) && said != nil { // the form for programs
		e.Code, e.Text = rawjson.Unquote(rawjson.Member(said, "code")), rawjson.Unquote(rawjson.Member(said, "message"))
		return e
	}
	e.Code = strings.TrimSuffix(codeWord.FindString(e.Text), ":")
	return e
}

// JSON is the data of an answer to list or info, or of a prompt: the text of its embedded resource. The error wraps
// ErrShape where there is none, and is a *ToolError for an answer that says isError.
func (r *Result) JSON() (json.RawMessage, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	for _, item := range r.Items {
		if item.About.PythonType == "" {
			continue
		}
		said := rawjson.Text(rawjson.Member(rawjson.Member(item.Raw, "resource"), "text"))
		if rawjson.Valid(said) {
			return said, nil
		}
		return nil, fmt.Errorf("%w: what should be %s is no JSON", ErrShape, item.About.PythonType)
	}
	return nil, fmt.Errorf("%w: no item says what its JSON is", ErrShape)
}

// Step is what one operation of a batch gave.
type Step struct {
	ID string
	*Result
}

// Steps takes the answer to a batch apart, in the order of its operations.
func (r *Result) Steps() ([]Step, error) {
	about := rawjson.Member(rawjson.Member(r.Meta, "proxy-dispatch"), "operations")
	if about == nil {
		if err := r.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: this is no answer to a batch", ErrShape)
	}
	var steps []Step
	for entry := range rawjson.Elements(about) {
		s := &Result{IsError: string(rawjson.Member(entry, "isError")) == "true",
			Structured: rawjson.Member(entry, "structuredContent"), Meta: rawjson.Member(entry, "_meta")}
		var items []json.RawMessage
		for _, item := range r.Items {
			if item.About.Index == len(steps) && item.About.Action != ActionBatch {
				s.Items, items = append(s.Items, item), append(items, item.Raw)
			}
		}
		s.Raw = rawjson.Set([]byte(`{}`), "content", rawjson.Array(items))
		for key, v := range map[string]json.RawMessage{"structuredContent": s.Structured, "_meta": s.Meta} {
			if v != nil {
				s.Raw = rawjson.Set(s.Raw, key, v)
			}
		}
		if s.IsError {
			s.Raw = rawjson.Set(s.Raw, "isError", []byte("true"))
		}
		steps = append(steps, Step{ID: rawjson.Unquote(rawjson.Member(entry, "id")), Result: s})
	}
	return steps, nil
}
