package spill

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
	kindRecords = "records" // a JSON list of objects
	kindList    = "list"    // a JSON list of other values
	kindObject  = "object"  // a JSON object
	kindText    = "text"
	kindLog     = "log"  // lines that begin with a time or carry a level, or are JSON objects
	kindBlob    = "blob" // binary
)

// about is what a report says of data.
type about struct {
	kind, shape, sample string
	keys                []string
	rows                int // elements of a list
	table, field        string
	question            string // a jq program
}

const (
	maxSample = 200 // bytes
	maxKeys   = 20
	maxKey    = 40 // bytes
)

// describe looks at data in memory; of long lists it looks at a sample.
func describe(data []byte, isJSON, binary bool, mimeType string) about {
	switch {
	case binary:
		return about{kind: kindBlob, shape: mimeType}
	case !isJSON:
		return describeText(data)
	}
	i := rawjson.Space(data, 0)
	root := newShape(data, i)
	a := about{kind: kindText, shape: root.String(), sample: sampleOf(data, i), rows: root.max}
	switch data[i] {
	case '{':
		a.kind = kindObject
		a.keys = root.names()
		a.table, a.field, a.question = root.table()
		if list, ok := strings.CutSuffix(a.table, ".#"); ok {
			if first := gjson.GetBytes(data, list+".0"); first.Exists() {
				a.sample = sampleOf([]byte(first.Raw), 0)
			}
		}
	case '[':
		a.kind = kindList
		if root.elem != nil && root.elem.objects*2 > root.elem.seen {
			a.kind = kindRecords
			a.keys = root.elem.names()
			a.field, a.question = root.elem.scalar(), root.elem.question("")
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
func describeText(data []byte) about {
	a := about{kind: kindText}
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
			a.sample = brief.Clip(string(line[:min(len(line), 4*maxSample)]), maxSample)
		}
		lines++
		if logLine.Match(line[:min(len(line), 400)]) {
			logs++
		}
	}
	if a.sample == "" {
		a.sample = brief.Clip(strings.TrimSpace(string(data[:min(len(data), 4*maxSample)])), maxSample)
	}
	if lines >= 5 && logs*5 >= lines*3 {
		a.kind = kindLog
	}
	return a
}

// pathKey is a key as one component of a path.
func pathKey(key string) string { return gjson.Escape(key) }
