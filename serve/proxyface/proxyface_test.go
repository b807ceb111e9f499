package proxyface

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/tests/house"
)

var update = flag.Bool("update", false, "rewrite the recorded conversations")

var testAgent = dispatch.Agent{Session: "s1"}

// newFace returns the face in front of a small world; set may change its options.
func newFace(t testing.TB, set func(*Options)) (*Face, *house.House) {
	t.Helper()
	h, err := house.New(func(o *dispatch.Options) { o.Rules = view.Rules{Deny: []string{"notes/refuse_not"}} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	o := Options{Dispatcher: h.Dispatcher}
	if set != nil {
		set(&o)
	}
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f, h
}

// use puts one input to the tool and returns the raw result.
func useTool(t testing.TB, f *Face, input string) gjson.Result {
	t.Helper()
	said, err := f.Call(t.Context(), serve.Call{Agent: testAgent, Name: f.o.ToolName, Arguments: json.RawMessage(input)})
	if err != nil {
		t.Fatal(err)
	}
	raw := said.Raw()
	if !json.Valid(raw) || bytes.ContainsAny(raw, "\n\r") {
		t.Fatalf("the answer is no JSON in one line: %s", raw)
	}
	return gjson.ParseBytes(raw)
}

var handle = regexp.MustCompile(`\br1[a-z]{2}\b|[a-z2-7]{26}|path: [^"\\]*\\n`)

// TestConversations plays each file in testdata: every line of "in" is put to the tool, and what it answers stands in "out".
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations found: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f, _ := newFace(t, nil)
			var out bytes.Buffer
			for line := range strings.Lines(string(archive.Files[0].Data)) {
				answer := useTool(t, f, strings.TrimSpace(line)).Raw
				if !strings.Contains(line, "proxy\"") {
					answer = strings.ReplaceAll(answer, string(f.definition), "DEFINITION")
				}
				out.WriteString(handle.ReplaceAllString(answer, "HANDLE") + "\n")
			}
			if *update {
				archive.Files = []txtar.File{archive.Files[0], {Name: "out", Data: out.Bytes()}}
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), out.String()); diff != "" {
				t.Errorf("conversation differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, in, want string // want "" is an answer without an error
		rpc            bool
	}{
		{name: "list", in: `{"action":"list","type":"tool"}`},
		{name: "info", in: `{"action":"info","type":"tool","path":"notes_echo"}`},
		{name: "call", in: `{"action":"call","type":"tool","path":"notes_echo","args":{"message":"x"}}`},
		{name: "args as a string", in: `{"action":"call","type":"tool","path":"notes_echo","args":"{\"message\":\"x\"}"}`},
		{name: "no args", in: `{"action":"call","type":"resource","path":"note://1"}`},
		{name: "null is absent", in: `{"action":"list","type":"tool","path":null,"args":null,"limit":null,"offset":null,"filter_server":null}`},
		{name: "the other name of type", in: `{"action":"list","a_type":"tool"}`},
		{name: "the ends of limit", in: `{"action":"list","type":"tool","limit":1000,"offset":0}`},
		{name: "a whole number with a point", in: `{"action":"list","type":"tool","limit":1e2}`},
		{name: "no object", in: `[1]`, want: "bad_request: the parameters are not a JSON object."},
		{name: "nothing", in: ``, want: "parameter 'action' is required"},
		{name: "a key twice", in: `{"action":"list","action":"info","type":"tool"}`, want: `key "action" stands twice`},
		{name: "a key in another case", in: `{"action":"list","Action":"list","type":"tool"}`, want: `differ only in case`},
		{name: "no action", in: `{"type":"tool"}`, want: "parameter 'action' is required. Use one of: list, info, call, batch."},
		{name: "no type", in: `{"action":"list"}`, want: "parameter 'type' is required for action 'list'. Use one of: tool, resource, prompt."},
		{name: "unknown action", in: `{"action":"lst","type":"tool"}`, want: `there is no action "lst"`},
		{name: "unknown type", in: `{"action":"list","type":"tools"}`, want: `there is no type "tools"`},
		{name: "action of another kind", in: `{"action":1,"type":"tool"}`, want: "parameter 'action' must be a string"},
		{name: "type of another kind", in: `{"action":"list","type":["tool"]}`, want: "parameter 'type' must be a string"},
		{name: "info without path", in: `{"action":"info","type":"tool"}`, want: "parameter 'path' is required for action 'info'"},
		{name: "call without path", in: `{"action":"call","type":"tool"}`, want: "parameter 'path' is required for action 'call'"},
		{name: "empty path", in: `{"action":"call","type":"tool","path":""}`, want: "parameter 'path' is required"},
		{name: "path of another kind", in: `{"action":"info","type":"tool","path":1}`, want: "parameter 'path' must be a string"},
		{name: "list with path", in: `{"action":"list","type":"tool","path":"x"}`, want: "parameter 'path' is not allowed for action 'list'. It belongs to 'info' and 'call'."},
		{name: "list with args", in: `{"action":"list","type":"tool","args":{}}`, want: "parameter 'args' is not allowed for action 'list'. It belongs to 'call'."},
		{name: "info with args", in: `{"action":"info","type":"tool","path":"notes_echo","args":{}}`, want: "parameter 'args' is not allowed for action 'info'"},
		{name: "args of another kind", in: `{"action":"call","type":"tool","path":"notes_echo","args":[1]}`, want: "parameter 'args' must be an object"},
		{name: "args that hold no object", in: `{"action":"call","type":"tool","path":"notes_echo","args":"[1]"}`, want: "parameter 'args' must be an object, or a string that holds one"},
		{name: "args that are no JSON", in: `{"action":"call","type":"tool","path":"notes_echo","args":"{"}`, want: "parameter 'args' must be an object"},
		{name: "limit for info", in: `{"action":"info","type":"tool","path":"notes_echo","limit":1}`, want: "parameter 'limit' is not allowed for action 'info'. It belongs to 'list'."},
		{name: "offset for call", in: `{"action":"call","type":"tool","path":"notes_echo","offset":0}`, want: "parameter 'offset' is not allowed for action 'call'"},
		{name: "filter_server for call", in: `{"action":"call","type":"tool","path":"notes_echo","filter_server":"a_"}`, want: "parameter 'filter_server' is not allowed for action 'call'"},
		{name: "limit 0", in: `{"action":"list","type":"tool","limit":0}`, want: "parameter 'limit' must be 1 to 1000"},
		{name: "limit 1001", in: `{"action":"list","type":"tool","limit":1001}`, want: "parameter 'limit' must be 1 to 1000"},
		{name: "limit 1.5", in: `{"action":"list","type":"tool","limit":1.5}`, want: "parameter 'limit' must be a whole number"},
		{name: "limit as a string", in: `{"action":"list","type":"tool","limit":"5"}`, want: "parameter 'limit' must be a whole number"},
		{name: "offset -1", in: `{"action":"list","type":"tool","offset":-1}`, want: "parameter 'offset' must be 0 to"},
		{name: "offset beyond all", in: `{"action":"list","type":"tool","offset":1e300}`, want: "parameter 'offset' must be 0 to"},
		{name: "unknown parameter", in: `{"action":"list","type":"tool","limits":5}`, want: `there is no parameter "limits"`},
		{name: "filter of another kind", in: `{"action":"list","type":"tool","filter":"a"}`, want: "parameter 'filter' must be an object"},
		{name: "filter with another member", in: `{"action":"list","type":"tool","filter":{"tag":["a"]}}`, want: `parameter 'filter' has no member "tag"`},
		{name: "tags of another kind", in: `{"action":"list","type":"tool","filter":{"tags":"a"}}`, want: "must be a list of strings"},
		{name: "batch without operations", in: `{"action":"batch"}`, want: "parameter 'operations' is required for action 'batch'"},
		{name: "batch of nothing", in: `{"action":"batch","operations":[]}`, want: "parameter 'operations' must be a list of operations, not empty"},
		{name: "batch of too much", in: `{"action":"batch","operations":[` + strings.Repeat(`{},`, 50) + `{}]}`, want: "51 operations in one batch, the most is 50"},
		{name: "operations for call", in: `{"action":"call","type":"tool","path":"notes_echo","operations":[]}`, want: "parameter 'operations' is not allowed for action 'call'. It belongs to 'batch'."},
		{name: "unknown tool", in: `{"action":"call","type":"tool","path":"notes_ecco"}`, want: "unknown_tool: there is no tool \"notes_ecco\". Nearest: notes_echo."},
		{name: "info on an unknown tool", in: `{"action":"info","type":"tool","path":"notes_ecco"}`, want: "unknown_tool: there is no tool \"notes_ecco\". Nearest: notes_echo."},
		{name: "unknown resource", in: `{"action":"info","type":"resource","path":"note://9"}`, want: "unknown_tool: there is no resource"},
		{name: "two have it", in: `{"action":"call","type":"tool","path":"a_b_c"}`, want: "ambiguous_tool: several servers have a tool \"a_b_c\". Name one: a/b_c, a_b/c."},
		{name: "arguments that the tool refuses", in: `{"action":"call","type":"tool","path":"notes_echo","args":{"mesage":"x"}}`, want: "invalid_arguments:"},
		{name: "an error of the server's protocol", in: `{"action":"call","type":"tool","path":"notes_refuse"}`, want: "no such thing"},
		{name: "an error of the tool", in: `{"action":"call","type":"tool","path":"notes_fail"}`, want: "disk on fire"},
		{name: "a handle nobody has", in: `{"action":"call","type":"resource","path":"spill://r9zz?op=head"}`, want: "not_found:"},
		{name: "the tool in itself, too deep", in: nested(5), want: "more than 3 deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := newFace(t, nil)
			r := useTool(t, f, c.in)
			text := r.Get("content.0.text").String()
			if got := r.Get("isError").Bool(); got != (c.want != "") || !strings.Contains(text, c.want) {
				t.Errorf("got isError %v, want %q:\n%s", got, c.want, r.Raw)
			}
		})
	}
}

func nested(depth int) string {
	in := `{"action":"list","type":"tool"}`
	for range depth {
		in = `{"action":"call","type":"tool","path":"proxy","args":` + in + `}`
	}
	return in
}

func TestUnknownTool(t *testing.T) {
	f, _ := newFace(t, func(o *Options) { o.ToolName = "mcp:proxy" })
	if _, err := f.Call(t.Context(), serve.Call{Name: "proxy"}); err == nil {
		t.Error("got no error for another tool")
	}
	if got := gjson.GetBytes(f.Tools(testAgent)[0], "name").String(); got != "mcp:proxy" {
		t.Errorf("got name %q", got)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("New without a dispatcher: got nil, want an error")
	}
}

// listedNames are the names of all entries of a list, read page by page.
func listedNames(t *testing.T, f *Face, kind string, limit int) []string {
	t.Helper()
	var names []string
	for {
		r := useTool(t, f, fmt.Sprintf(`{"action":"list","type":%q,"limit":%d,"offset":%d}`, kind, limit, len(names)))
		page := gjson.Parse(r.Get("content.0.resource.text").String()).Array()
		for _, e := range page {
			name := e.Get("name").String()
			if kind == "resource" {
				name = e.Get("uri").String() + e.Get("uriTemplate").String()
			}
			names = append(names, name)
		}
		about := r.Get("content.0.annotations")
		if len(page) > limit || about.Get("limit").Int() != int64(limit) {
			t.Fatalf("limit %d: got %d entries, %s", limit, len(page), about.Raw)
		}
		if len(page) == 0 || int64(len(names)) == about.Get("totalCount").Int() {
			return names
		}
	}
}

// TestListedIsReachable holds that everything that is listed can be looked at and called by the name it is listed under,
// whatever stands before the names, and that no name is listed twice.
func TestListedIsReachable(t *testing.T) {
	for name, prefixes := range map[string]map[string]string{
		"default":        nil,
		"none":           {"notes": "", "a": "", "a_b": ""},
		"all the same":   {"notes": "s.", "a": "s.", "a_b": "s."},
		"one in another": {"a": "notes_", "a_b": "notes_e"},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := newFace(t, func(o *Options) {
				o.Prefix = func(server string) string {
					if p, given := prefixes[server]; given {
						return p
					}
					return server + "_"
				}
			})
			for _, kind := range []string{"tool", "resource", "prompt"} {
				seen := map[string]bool{}
				names := listedNames(t, f, kind, 2)
				for _, n := range names {
					if seen[n] {
						t.Errorf("%s %q is listed twice", kind, n)
					}
					seen[n] = true
					r := useTool(t, f, fmt.Sprintf(`{"action":"info","type":%q,"path":%q}`, kind, n))
					if got := gjson.Get(r.Get("content.0.resource.text").String(), "[name,uri,uriTemplate]").String(); !strings.Contains(got, `"`+n+`"`) {
						t.Errorf("info of %s %q: got %s", kind, n, r.Raw)
					}
					args := map[string]string{"proxy": `{"action":"list","type":"prompt"}`, "greet": `{"who":"x"}`, "echo": `{"message":"x"}`, "add": `{"a":1,"b":2}`, "{name}": `{"name":"x"}`}
					in := "{}"
					for word, a := range args {
						if strings.Contains(n, word) {
							in = a
						}
					}
					r = useTool(t, f, fmt.Sprintf(`{"action":"call","type":%q,"path":%q,"args":%s}`, kind, n, in))
					if r.Get("isError").Bool() && !strings.Contains(n, "fail") && !strings.Contains(n, "refuse") {
						t.Errorf("call of %s %q: got %s", kind, n, r.Raw)
					}
				}
			}
		})
	}
}

func TestCallReachesItsServer(t *testing.T) {
	for path, want := range map[string]string{"a/b_c": "a has called b_c", "a_b/c": "a_b has called c", "c2/b_c": "a has called b_c", "b_c": "a has called b_c",
		"later_late": "later has called late", "later/late": "later has called late"} {
		f, _ := newFace(t, nil)
		if got := useTool(t, f, fmt.Sprintf(`{"action":"call","type":"tool","path":%q}`, path)).Get("content.0.text").String(); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{"proxy:resource/a/same://x": "a", "proxy:resource/a_b/same://x": "a_b", "a_same://x": "a", "a_x": "a",
		"note://user/ann": "user ann", "notes_note://user/ann": "user ann", "notes_first": "first note", "proxy:resource/notes/note://user/bo": "user bo"} {
		f, _ := newFace(t, nil)
		r := useTool(t, f, fmt.Sprintf(`{"action":"call","type":"resource","path":%q}`, path))
		if got := r.Get("content.0.resource.text").String(); got != want {
			t.Errorf("%s: got %q, want %q: %s", path, got, want, r.Raw)
		}
	}
}

func TestFilters(t *testing.T) {
	f, _ := newFace(t, nil)
	for _, c := range []struct{ in, want string }{
		{`"type":"tool","filter_server":"notes_"`, "notes_echo notes_add notes_rows notes_exact notes_fail notes_refuse notes_steps"},
		{`"type":"tool","filter_server":"a_"`, "a/b_c a_b/c"},
		{`"type":"tool","filter_server":"a_b"`, "a/b_c a_b/c"},
		{`"type":"tool","filter_server":"none_"`, ""},
		{`"type":"resource","filter_server":"a_b_"`, "a_b_x"},
		{`"type":"tool","filter":{"prefix":"notes_e"}`, "notes_echo notes_exact"},
		{`"type":"resource","filter":{"prefix":"note://u"}`, "notes_a user"},
		{`"type":"tool","filter":{"tags":["math","talk"]}`, "notes_echo notes_add"},
		{`"type":"tool","filter":{"tags":["math"],"prefix":"notes_e"}`, ""},
		{`"type":"tool","filter":{"server":"c2"}`, "a/b_c"},
		{`"type":"tool","filter":{"server":"a_b"},"limit":1,"offset":1`, ""},
		{`"type":"tool","filter":{}`, "notes_echo notes_add notes_rows notes_exact notes_fail notes_refuse notes_steps a/b_c a_b/c proxy"},
	} {
		r := useTool(t, f, `{"action":"list",`+c.in+`}`)
		var got []string
		for _, e := range gjson.Parse(r.Get("content.0.resource.text").String()).Array() {
			got = append(got, e.Get("name").String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestKeptResults(t *testing.T) {
	f, _ := newFace(t, nil)
	r := useTool(t, f, `{"action":"call","type":"tool","path":"notes_rows","args":{"n":3000}}`)
	report := r.Get("content.0.text").String()
	_, next, found := strings.Cut(report, "Next: ")
	if !found || !json.Valid([]byte(next)) || r.Get("content.0.annotations.proxyPath").String() != "notes_rows" {
		t.Fatalf("got report %s", r.Raw)
	}
	r = useTool(t, f, next)
	if r.Get("isError").Bool() || r.Get("content.0.resource.text").String() == "" || r.Get("content.0.annotations.proxyType").String() != "resource" {
		t.Errorf("the next call %s: got %s", next, r.Raw)
	}
	uri := gjson.Get(next, "path").String()
	base, _, _ := strings.Cut(uri, "?")
	r = useTool(t, f, fmt.Sprintf(`{"action":"call","type":"resource","path":%q}`, base+"?op=head&lines=2"))
	if got := r.Get("content.0.resource"); got.Get("mimeType").String() != "text/plain" || !strings.Contains(got.Get("text").String(), `"amount":1.50`) {
		t.Errorf("head: got %s", r.Raw)
	}
	name := r.Get("content.0.resource.uri").String()
	if name == "" {
		t.Error("no uri")
	}
	// What is kept can be an argument; operations of a batch can use what others keep.
	r = useTool(t, f, `{"action":"batch","operations":[{"id":"all","action":"call","type":"tool","path":"notes_rows","args":{"n":2000}},
		{"action":"call","type":"tool","path":"notes_echo","args":{"message":{"$from":"all","jq":"length"}}},{"action":"call","type":"resource","path":"`+base+`?op=stat"}]}`)
	if got := r.Get(`content.#(annotations.proxyIndex==1)#.text`).Array(); len(got) != 2 || got[1].String() != "2000" {
		t.Errorf("batch: got %s", r.Raw)
	}
	if got := r.Get("_meta.proxy-dispatch.operations.#.isError").Raw; got != "[false,false,false]" {
		t.Errorf("batch: got %s of %s", got, r.Raw)
	}
	said, err := f.Handle(t.Context(), serve.Request{Agent: testAgent, Method: "resources/read", Params: json.RawMessage(`{"uri":"` + base + `?op=head"}`)})
	if err != nil || !strings.Contains(string(said.Raw()), "contents") {
		t.Errorf("resources/read: got %s, %v", said.Raw(), err)
	}
	other := dispatch.Agent{Session: "s2", Principal: "eve"}
	stolen, err := f.Call(t.Context(), serve.Call{Agent: other, Name: "proxy", Arguments: json.RawMessage(`{"action":"call","type":"resource","path":"` + base + `?op=head"}`)})
	if err != nil || !strings.Contains(string(stolen.Raw()), `"isError":true`) {
		t.Errorf("another principal reads it: got %s, %v", stolen.Raw(), err)
	}
}

func TestProgressAndRecords(t *testing.T) {
	f, h := newFace(t, nil)
	var heard []string
	_, err := f.Call(t.Context(), serve.Call{Agent: testAgent, Name: "proxy", Arguments: json.RawMessage(`{"action":"call","type":"tool","path":"notes_steps"}`),
		Contact: dispatch.Contact{Progress: func(p json.RawMessage) { heard = append(heard, string(p)) }}})
	if err != nil || len(heard) != 3 {
		t.Errorf("got %v, %v, want 3 steps", heard, err)
	}
	for _, in := range []string{`{"action":"list","type":"tool"}`, `{"action":"info","type":"tool","path":"notes_echo"}`, `{"action":"call","type":"tool"}`,
		`{"action":"call","type":"tool","path":"a_b_c"}`, `{"action":"batch","operations":[{"action":"list","type":"prompt"}]}`, `{}`} {
		useTool(t, f, in)
	}
	want := []string{"call notes steps → ok", "list → ok", "describe notes_echo → ok", "call → bad_request", "call a_b_c → ambiguous_tool", "list → ok", "batch → ok", "call → bad_request"}
	if diff := cmp.Diff(want, h.Records()); diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}
}

func TestDefinition(t *testing.T) {
	for _, strings := range []bool{false, true} {
		def := define("proxy", strings)
		if !json.Valid(def) {
			t.Fatalf("it is no JSON: %s", def)
		}
		if got, want := gjson.GetBytes(def, "inputSchema.properties.args.type").String(), map[bool]string{false: "object", true: "string"}[strings]; got != want {
			t.Errorf("args: got %s, want %s", got, want)
		}
		for name := range gjson.GetBytes(def, "inputSchema.properties").Map() {
			known := false
			for _, p := range parameters {
				known = known || p == name
			}
			if !known {
				t.Errorf("%s is no parameter", name)
			}
		}
	}
}

func TestPrefixChanges(t *testing.T) {
	prefix := "notes_"
	f, _ := newFace(t, func(o *Options) { o.Prefix = func(string) string { return prefix } })
	for _, prefix = range []string{"n.", "", "notes_"} {
		r := useTool(t, f, fmt.Sprintf(`{"action":"call","type":"tool","path":%q,"args":{"message":"x"}}`, prefix+"echo"))
		if got := r.Get("content.0.text").String(); got != "x" {
			t.Errorf("prefix %q: got %s", prefix, r.Raw)
		}
	}
}
