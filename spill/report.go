package spill

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
	"github.com/proxy-dispatch/proxy-dispatch/spill/shape"
)

// MaxReport is how many tokens a report has at most; where less says nearly as much it has about half of them.
const (
	MaxReport   = 300
	usualReport = 150
)

// ReportExtra is what a report says besides the artifact. The zero value adds nothing.
type ReportExtra struct {
	Repairs []string        // notes on the repaired arguments
	Note    string          // one sentence, first
	Next    json.RawMessage // the next call to suggest, in place of the one fitted to the kind
	// Reader, for agents without readresult, says how to read the resource spill://ID?op=…; nil: by readresult.
	Reader func(uri string) string
	// Beside is how many of MaxReport tokens go to something beside the report.
	Beside int
}

// Report is the text that stands for the result in a conversation: what there is, how to name it and one
// complete next call; at most MaxReport tokens, half of that for usual data.
func (a *Artifact) Report(extra ReportExtra) string {
	usual := room{note: 300, shape: 400, sample: 160, keys: 12, key: 40, parts: 8, repairs: 4, repair: 120}
	for _, shorter := range []room{{shape: 400, sample: 160}, {shape: 400, sample: 60}, {shape: 400, sample: 60, values: 2}, {shape: 240, sample: 40, values: 2}} {
		usual.shape, usual.sample, usual.values = shorter.shape, shorter.sample, shorter.values
		if a.count != nil && a.count(a.report(extra, usual)) <= usualReport-extra.Beside {
			break
		}
	}
	for _, r := range []room{
		usual,
		{note: 200, shape: 240, sample: 100, keys: 8, key: 30, parts: 4, repairs: 3, repair: 80},
		{note: 100, shape: 120, sample: 60, keys: 4, key: 20, parts: 2, repairs: 2, repair: 40},
		{note: 60, shape: 60, sample: 30, parts: 1, repairs: 1, repair: 30},
		{note: 30},
	} {
		if text := a.report(extra, r); a.count == nil || a.count(text) <= MaxReport-extra.Beside {
			return text
		}
	}
	return fmt.Sprintf("Result kept: %s (%d bytes). Next: %s", brief.Clip(a.Handle, 100), a.Bytes, a.call(extra, "op", "stat"))
}

// room is how much a report may say of each thing: bytes, or a number. values is how many of the few values of a field
// the shape names, 0 for all it has.
type room struct{ note, shape, sample, keys, key, parts, repairs, repair, values int }

// shapeOf is the shape in that room.
func (r room) shapeOf(a *Artifact) string {
	shape := a.Shape
	if r.values > 0 {
		shape = manyValues.ReplaceAllString(shape, "$1|…")
	}
	return brief.Clip(shape, r.shape)
}

// manyValues are three values of a field or more; the first two are kept.
var manyValues = regexp.MustCompile(`("[^"]*"\|"[^"]*")(?:\|"[^"]*")+`)

func (a *Artifact) report(extra ReportExtra, r room) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	if extra.Note != "" {
		line("%s", brief.Clip(extra.Note, r.note))
	}
	line("Result kept: %s (%s)", brief.Clip(a.Handle, 400), a.figures())
	if a.Path != "" && a.Path != a.Handle {
		line("path: %s", brief.Clip(a.Path, 400))
	}
	if a.Shape != "" && r.shape > 0 && a.Kind != shape.Blob {
		line("shape: %s", r.shapeOf(a))
	}
	if a.Sample != "" && r.sample > 0 {
		line("first: %s", brief.Clip(a.Sample, r.sample))
	}
	if keys := a.keyList(r); keys != "" {
		line("keys: %s", keys)
	}
	if len(a.Parts) > 1 && r.parts > 0 {
		line("parts: %s", partsText(a.Parts, r.parts))
	}
	if len(extra.Repairs) > 0 && r.repairs > 0 {
		line("repaired: %s", brief.List(extra.Repairs, r.repairs, r.repair))
	}
	next := string(extra.Next)
	if next == "" || len(next) > 600 || r.shape == 0 {
		next = a.next(extra)
	}
	out.WriteString("Next: " + next)
	return out.String()
}

// keyList names the keys, unless the shape shows them all anyway.
func (a *Artifact) keyList(r room) string {
	if r.keys == 0 || len(a.Keys) == 0 {
		return ""
	}
	shown := r.shapeOf(a)
	for _, k := range a.Keys {
		if !strings.Contains(shown, shape.Key(k, shape.MaxKey)) {
			return brief.List(a.Keys, r.keys, r.key)
		}
	}
	return ""
}

func (a *Artifact) figures() string {
	figures := []string{a.Kind, fmt.Sprintf("%d bytes", a.Bytes)}
	if a.Kind == shape.Blob {
		return strings.Join(append(figures, brief.Clip(a.MimeType, shape.MaxKey)), ", ")
	}
	mark := "~"
	if a.TokensExact {
		mark = ""
	}
	return strings.Join(append(figures, fmt.Sprintf("%d lines", a.Lines), fmt.Sprintf("%s%d tokens", mark, a.Tokens)), ", ")
}

// next is a complete call that fits the kind.
func (a *Artifact) next(extra ReportExtra) string {
	if a.question != "" {
		return a.call(extra, "jq", a.question)
	}
	switch a.Kind {
	case shape.Blob:
		if extra.Reader != nil {
			return a.call(extra, "op", "bytes")
		}
		return fmt.Sprintf(`{"action":"call","tool":"TOOL","arguments":{"data":{"$from":%s,"as":"base64"}}}`, brief.JSON(a.Handle))
	case shape.Records:
		if a.field != "" {
			return a.call(extra, "op", "read", "path", "#."+shape.PathKey(a.field))
		}
		return a.call(extra, "op", "read", "path", "0")
	case shape.Object:
		if a.table == "" {
			break
		}
		path := a.table
		if a.field != "" {
			path += "." + shape.PathKey(a.field)
		}
		return a.call(extra, "op", "read", "path", path)
	case shape.Log:
		return a.call(extra, "op", "grep", "pattern", "error|warn|fail")
	case shape.Text:
		return a.call(extra, "op", "grep", "pattern", "WORD")
	}
	return a.call(extra, "op", "head", "lines", 20)
}

// call renders a readresult call, or the reading of a resource, with the given parameters, names and values by turns.
func (a *Artifact) call(extra ReportExtra, parameters ...any) string {
	if extra.Reader != nil {
		uri, sep := a.URI(), "?"
		for i := 0; i+1 < len(parameters); i += 2 {
			value := strings.ReplaceAll(url.QueryEscape(fmt.Sprint(parameters[i+1])), "+", "%20")
			uri, sep = uri+fmt.Sprintf("%s%s=%s", sep, parameters[i], value), "&"
		}
		return extra.Reader(uri)
	}
	out := `{"action":"readresult","resultFile":` + brief.JSON(brief.Clip(a.Handle, 400))
	for i := 0; i+1 < len(parameters); i += 2 {
		out += fmt.Sprintf(",%q:%s", parameters[i], brief.JSON(parameters[i+1]))
	}
	return out + "}"
}
