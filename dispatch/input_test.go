package dispatch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRequest(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		check    func(*request) any
		want     any
		notes    []string
		err      string
	}{
		{name: "alias of an action", in: `{"action":"invoke","tool":"x"}`, check: func(r *request) any { return r.Action }, want: "call", notes: []string{"action: invoke → call"}},
		{name: "name is the tool", in: `{"action":"call","name":"x"}`, check: func(r *request) any { return r.Tool }, want: []string{"x"}, notes: []string{"name → tool"}},
		{name: "name beside a tool is the tool's own", in: `{"action":"call","tool":"x","name":"y"}`, check: func(r *request) any { return r.extra.Keys() }, want: []string{"name"}},
		{name: "uri is the tool", in: `{"action":"call","type":"resource","uri":"mem://x"}`, check: func(r *request) any { return r.Tool }, want: []string{"mem://x"}, notes: []string{"uri → tool"}},
		{name: "params are the arguments", in: `{"action":"call","tool":"x","params":{"a":1.10}}`, check: func(r *request) any { return string(r.Arguments) }, want: `{"a":1.10}`, notes: []string{"params → arguments"}},
		{name: "several tools", in: `{"action":"describe","tool":["a","b"]}`, check: func(r *request) any { return r.Tool }, want: []string{"a", "b"}},
		{name: "number as text", in: `{"action":"search","query":"q","limit":"5"}`, check: func(r *request) any { return *r.Limit }, want: 5, notes: []string{`limit: "5" → 5`}},
		{name: "text as number", in: `{"action":"search","query":5}`, check: func(r *request) any { return r.Query }, want: "5", notes: []string{`query: 5 → "5"`}},
		{name: "boolean as text", in: `{"action":"list","refresh":"true"}`, check: func(r *request) any { return r.Refresh }, want: true, notes: []string{`refresh: "true" → true`}},
		{name: "null is absent", in: `{"action":"list","limit":null}`, check: func(r *request) any { return r.Limit == nil }, want: true},
		{name: "negative limit", in: `{"action":"list","limit":-1}`, err: "bad_request: limit is -1"},
		{name: "list for a text", in: `{"action":"search","query":["a"]}`, err: "bad_request: query is"},
		{name: "pattern means grep", in: `{"action":"readresult","resultFile":"r1ab","pattern":"x"}`, check: func(r *request) any { return r.Op }, want: "grep"},
		{name: "lines means head", in: `{"action":"readresult","resultFile":"r1ab","lines":3}`, check: func(r *request) any { return r.Op }, want: "head"},
		{name: "fromLine means slice", in: `{"action":"readresult","resultFile":"r1ab","fromLine":3}`, check: func(r *request) any { return r.Op }, want: "slice"},
		{name: "start and end mean slice", in: `{"action":"readresult","resultFile":"r1ab","start":3,"end":9}`, check: func(r *request) any { return []any{r.Op, r.FromLine, r.ToLine} }, want: []any{"slice", 3, 9}},
		{name: "path means read", in: `{"action":"readresult","resultFile":"r1ab","path":"a"}`, check: func(r *request) any { return r.Op }, want: "read"},
		{name: "nothing means stat", in: `{"action":"readresult","resultFile":"r1ab"}`, check: func(r *request) any { return r.Op }, want: "stat"},
		{name: "select is path", in: `{"action":"readresult","resultFile":"r1ab","select":"a"}`, check: func(r *request) any { return r.Path }, want: "a", notes: []string{"select → path"}},
		{name: "filter is jq", in: `{"action":"readresult","resultFile":"r1ab","filter":".a"}`, check: func(r *request) any { return r.JQ + " " + r.Op }, want: ".a read", notes: []string{"filter → jq"}},
		{name: "list of handles with commas", in: `{"action":"readresult","resultFile":"r1ab, r2cd"}`, check: func(r *request) any { return r.ResultFile }, want: []string{"r1ab", "r2cd"}},
		{name: "unknown format", in: `{"action":"list","format":"yaml"}`, err: `bad_request: there is no format "yaml"`},
		{name: "csv", in: `{"action":"readresult","resultFile":"r1ab","format":"csv"}`, check: func(r *request) any { return r.Format }, want: "csv"},
		{name: "unknown type", in: `{"action":"list","type":"tools"}`, err: `bad_request: there is no type "tools"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := parseRequest(json.RawMessage(tc.in))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, tc.check(r)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.notes, r.notes); d != "" {
				t.Errorf("notes: %s", d)
			}
		})
	}
}

func TestFirstSentence(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"one", "Reads a file.", "Reads a file."},
		{"two", "Reads a file. Then closes it.", "Reads a file."},
		{"abbreviation", "Reads a file, e.g. a log. Then closes it.", "Reads a file, e.g. a log."},
		{"version number", "Speaks HTTP 1.1 only. Yes.", "Speaks HTTP 1.1 only."},
		{"lines", "Reads\n  a file\n\nDetails", "Reads a file"},
		{"none", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := firstSentence(tc.in); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTemplates(t *testing.T) {
	for _, tc := range []struct {
		template, uri string
		want          bool
	}{
		{"mem://user/{name}", "mem://user/ann", true},
		{"mem://user/{name}", "mem://user/ann/x", false},
		{"file://{+path}", "file:///a/b", true},
		{"q://x{?a,b}", "q://x?a=1", true},
		{"q://x{?a,b}", "q://x", true},
		{"mem://(x){name}", "mem://x1", false},
	} {
		t.Run(tc.template+" "+tc.uri, func(t *testing.T) {
			if got := matchesTemplate(tc.template, tc.uri); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	got := expandTemplate("a://{x}/{+y}{?z,no}", json.RawMessage(`{"x":"a/b","y":"c/d","z":5}`))
	if want := "a://a%2Fb/c/d?z=5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzParseRequest holds that no input makes parsing panic, and that a failure has a code.
func FuzzParseRequest(f *testing.F) {
	for _, s := range []string{`{"action":"call","tool":"x","arguments":{"a":1}}`, `{"action":"read","arguments":{"file":"r1"}}`, `{"action":"batch","calls":[{}]}`, `{"action":"list","limit":"1e3"}`, `[]`, `{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r, err := parseRequest(json.RawMessage(in))
		if err != nil {
			if asError(err).Code == "" {
				t.Errorf("%q: error without a code: %v", in, err)
			}
			return
		}
		if takes[r.Action] == nil {
			t.Errorf("%q: parsed to unknown action %q", in, r.Action)
		}
		_, _ = parseCall(json.RawMessage(in))
	})
}
