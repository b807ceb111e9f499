// Package shape says what data looks like: its kind, its inferred schema, a sample, a question worth asking.
package shape

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/brief"
	"github.com/proxy-dispatch/proxy-dispatch/spill/byline"
	"github.com/proxy-dispatch/proxy-dispatch/spill/layout"
)

// The kinds of data.
const (
	Records = "records" // a JSON list of objects
	List    = "list"    // a JSON list of other values
	Object  = "object"  // a JSON object
	Text    = "text"
	Log     = "log"  // lines that begin with a time or carry a level, or are JSON objects
	Blob    = "blob" // binary
)

// About is what a report says of data.
type About struct {
	Kind, Shape, Sample string
	Keys                []string
	Rows                int // elements of a list
	Table, Field        string
	Question            string // a jq program
}

const (
	maxSample = 200 // bytes
	maxKeys   = 20
	// MaxKey is how many bytes of a name are shown.
	MaxKey = 40
)

// Describe looks at data in memory; of long lists it looks at a sample.
func Describe(data []byte, isJSON, binary bool, mimeType string) About {
	switch {
	case binary:
		return About{Kind: Blob, Shape: mimeType}
	case !isJSON:
		return describeText(data)
	}
	i := rawjson.Space(data, 0)
	root := newShape(data, i)
	a := About{Kind: Text, Shape: root.String(), Sample: sampleOf(data, i), Rows: root.max}
	switch data[i] {
	case '{':
		a.Kind = Object
		a.Keys = root.names()
		a.Table, a.Field, a.Question = root.table()
		if list, ok := strings.CutSuffix(a.Table, ".#"); ok {
			if first := gjson.GetBytes(data, list+".0"); first.Exists() {
				a.Sample = sampleOf([]byte(first.Raw), 0)
			}
		}
	case '[':
		a.Kind = List
		if root.elem != nil && root.elem.objects*2 > root.elem.seen {
			a.Kind = Records
			a.Keys = root.elem.names()
			a.Field, a.Question = root.elem.scalar(), root.elem.question("")
		}
	}
	return a
}

// sampleOf is the first record of a list, else the beginning.
func sampleOf(data []byte, i int) string {
	at := rawjson.Span{From: i, To: len(data)}
	if data[i] == '[' {
		for _, first := range rawjson.Spans(data, i) {
			at = first
			break
		}
	}
	head := at.Of(data)
	if len(head) <= 2*maxSample {
		head = rawjson.Compact(head)
	} else {
		var short bytes.Buffer
		_, _ = (&layout.Stripper{W: &short}).Write(head[:min(len(head), 4*maxSample)]) // a buffer takes all
		head = append(short.Bytes(), "…"...)
	}
	return brief.Clip(string(head), maxSample)
}

var logLine = regexp.MustCompile(`^\W{0,2}(\d{4}[-/]\d\d[-/]\d\d|\d\d[-/]\w{2,3}[-/]\d{2,4}|(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun) |\d\d:\d\d:\d\d|\d{10}([.\d]|\s))|^.{0,60}\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|PANIC|trace|debug|info|warn|warning|error|fatal)\b\W|^\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:|^\{"`)

// describeText tells a log from other text by the lines at its beginning.
func describeText(data []byte) About {
	a := About{Kind: Text}
	head := data[:min(len(data), byline.Block)]
	lines, logs := 0, 0
	for lines < 200 && len(head) > 0 {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !whole && len(head) < len(data) && len(data) > byline.Block {
			break
		}
		head = rest
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if lines == 0 {
			a.Sample = brief.Clip(string(line[:min(len(line), 4*maxSample)]), maxSample)
		}
		lines++
		if logLine.Match(line[:min(len(line), 400)]) {
			logs++
		}
	}
	if a.Sample == "" {
		a.Sample = brief.Clip(strings.TrimSpace(string(data[:min(len(data), 4*maxSample)])), maxSample)
	}
	if lines >= 5 && logs*5 >= lines*3 {
		a.Kind = Log
	}
	return a
}

// PathKey is a key as one component of a path.
func PathKey(key string) string { return gjson.Escape(key) }
