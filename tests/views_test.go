package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
)

// expertHome is a home with the servers, views, hooks and tools of tests/views; more is put at the end of its file.
func expertHome(t *testing.T, more string) *home {
	t.Helper()
	conf, err := os.ReadFile("views/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t, string(conf)+more)
	if err := os.CopyFS(h.dir, os.DirFS("views")); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "FIXTURE="+self(t))
	return h
}

// call calls one tool by its name.
func (s *session) call(name, arguments string) (answer, error) {
	s.t.Helper()
	raw, err := s.Call(s.ctx, name, arguments, "")
	if err != nil {
		return answer{}, err
	}
	return parseAnswer(s.t, raw), nil
}

func TestViewsOfManyForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		view  string
		tools []string
		calls [][3]string // tool, arguments, words of the answer or of the error
	}{
		{"redis-expert", []string{"search_knowledge", "create_long_term_memories", "memory_prompt"}, [][3]string{
			{"search_knowledge", `{"text":"hello"}`, `{"text":"hello","user_id":"nobody"}`},
			{"memory_prompt", `{"query":"x","api_key":"sk-1"}`, `"api_key":"***REDACTED***"`},
			{"search_knowledge", `{}`, "invalid_arguments: text: missing"},
			{"search_long_term_memory", `{"text":"x"}`, "unknown tool"},
			{"get_working_memory", `{"session_id":"x"}`, "unknown tool"},
			{"redis-memory-server/get_working_memory", `{"session_id":"x"}`, "unknown tool"},
		}},
		{"github", []string{"github_search_tools", "github_describe_tool", "github_call_tool"}, [][3]string{
			{"github_search_tools", `{"query":"code search"}`, "github/search_code(query: string"},
			{"github_search_tools", `{}`, "pull_request_read(owner: string"},
			{"github_search_tools", `{"query":"open a new issue in a repository"}`, "!create_issue"},
			{"github_search_tools", `{"query":"issue","format":"json"}`, `"parameters":{`},
			{"github_describe_tool", `{"tool":"issue_read"}`, `example: {"tool":"github/issue_read"`},
			{"github_describe_tool", `{"tool":"create_issue"}`, "unknown_tool"},
			{"github_call_tool", `{"tool":"search_code","arguments":{"query":"x"}}`, `{"query":"x"}`},
			{"github_call_tool", `{"tool_name":"github.search_code","args":{"query":"x"}}`, `{"query":"x"}`},
			{"github_call_tool", `{"tool":"search_issues","arguments":{"query":"x","owner":"forbidden"}}`, "denied: Authentication required. Not sent"},
			{"github_call_tool", `{"tool":"create_issue","arguments":{}}`, "unknown_tool"},
			{"search_code", `{"query":"x"}`, "unknown tool"},
		}},
		{"all-tools", []string{"search_long_term_memory", "create_long_term_memories", "memory_prompt", "get_working_memory", "set_working_memory", "search_code", "search_issues",
			"search_pull_requests", "issue_read", "pull_request_read", "create_issue", "create_pull_request", "delete_file"}, [][3]string{
			{"delete_file", `{"path":"x"}`, `{"path":"x"}`},
		}},
		{"unified-search", []string{"search_everywhere"}, [][3]string{
			{"search_everywhere", `{"query":"q"}`, `{"knowledge":{"text":"q"},"code":{"query":"q"},"issues":{"query":"q"}}`},
			{"search_everywhere", `{}`, "invalid_arguments: query: missing"},
			{"search_code", `{"query":"q"}`, "unknown tool"},
		}},
		{"smart-search", []string{"contextual_code_search"}, [][3]string{
			{"contextual_code_search", `{"query":"q"}`, `"enriched_query":"q text"`},
		}},
		{"expert-assistant", []string{"create_issue", "create_pull_request", "contextual_code_search", "search_all"}, [][3]string{
			{"search_all", `{"query":"q"}`, `{"memory":{"text":"q"},"code":{"query":"q"}}`},
			{"create_issue", `{"owner":"o","repo":"r","title":"t"}`, `"title":"t"`},
			{"search_code", `{"query":"q"}`, "unknown tool"},
		}},
	} {
		t.Run(tc.view, func(t *testing.T) {
			t.Parallel()
			s := expertHome(t, "").serve(t, "--view", tc.view)
			if diff := cmp.Diff(tc.tools, s.names("tools/list", "tools", "name")); diff != "" {
				t.Errorf("tools: %s", diff)
			}
			for _, c := range tc.calls {
				a, err := s.call(c[0], c[1])
				got := ""
				if got = a.text(); err != nil {
					got = err.Error()
				}
				got = strings.ReplaceAll(strings.ReplaceAll(got, `": `, `":`), `, "`, `,"`)
				if word, not := strings.CutPrefix(c[2], "!"); not == strings.Contains(got, word) {
					t.Errorf("%s %s: got %s, want %s", c[0], c[1], got, c[2])
				}
			}
		})
	}
}

// boundary is a view of few tools in the form of the one tool, with everything on that may lead out of it.
const boundary = `
  narrow:
    description: A few things
    exposure: dispatch
    tools:
      github:
        search_code: {name: code, parameters: {perPage: {value: 7}}}
  wide:
    exposure: dispatch
    include_all: true
script: {enabled: true}
`

func TestViewIsABoundary(t *testing.T) {
	t.Parallel()
	h := expertHome(t, boundary)
	addr := listen(t, h.command(t, "serve", "--config", h.file, "--http", "127.0.0.1:0"))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	in := func(path string) *session {
		s := &session{agent.Dial("http://"+addr+path, nil), t, ctx, nil}
		if _, err := s.Hello(ctx); err != nil {
			t.Fatalf("%s: hello: %v", path, err)
		}
		return s
	}
	narrow, wide := in("/view/narrow/mcp"), in("/view/wide/mcp")
	wide.do(`{"action":"call","tool":"github/search_code","arguments":{"query":"warm"}}`).ok()
	kept := wide.do(`{"action":"call","tool":"search_issues","arguments":{"query":"secret"},"resultToFile":true}`).ok()
	handle := gjson.GetBytes(kept.raw, "_meta.proxy-dispatch.handle").String()
	if handle == "" {
		t.Fatalf("got %s, want a handle", kept.raw)
	}
	for _, tc := range []struct{ name, in, want string }{
		{"its own tool", `{"action":"call","tool":"code","arguments":{"query":"x","perPage":99}}`, `{"query":"x","perPage":7}`},
		{"its own tool in a script", `{"action":"run","code":"return await tools.github.code({query:'x'})"}`, `"perPage":7`},
		{"search", `{"action":"search","query":"search_issues delete_file memory"}`, "!delete_file"},
		{"list", `{"action":"list"}`, "!search_issues"},
		{"list of connections", `{"action":"list","includeTools":false}`, "!redis"},
		{"resources", `{"action":"list","type":"resource"}`, "!fixture://"},
		{"prompts", `{"action":"list","type":"prompt"}`, "!greet"},
		{"reading a resource", `{"action":"call","type":"resource","tool":"fixture://notes/1","connection":"github"}`, "unknown_tool"},
		{"getting a prompt", `{"action":"call","type":"prompt","tool":"greet","connection":"github"}`, "unknown_tool"},
		{"describe", `{"action":"describe","tool":"delete_file"}`, "unknown_tool"},
		{"describe a hidden parameter", `{"action":"describe","tool":"code"}`, "!perPage?"},
		{"describe another server", `{"action":"describe","connection":"redis-memory-server"}`, "not_found: there is no connection"},
		{"its old name", `{"action":"call","tool":"search_code","arguments":{"query":"x"}}`, "unknown_tool"},
		{"qualified", `{"action":"call","tool":"github/delete_file","arguments":{"path":"x"}}`, "unknown_tool"},
		{"by alias", `{"action":"call","tool":"c2__delete_file","arguments":{"path":"x"}}`, "unknown_tool"},
		{"another server by alias", `{"action":"call","tool":"c2/get_working_memory","arguments":{"session_id":"x"}}`, "unknown_tool"},
		{"in a batch", `{"action":"batch","calls":[{"tool":"delete_file","arguments":{"path":"x"}}]}`, "unknown_tool"},
		{"in a dry run", `{"action":"call","tool":"code","arguments":{"query":"x"},"dryRun":true}`, "!search_code"},
		{"another view's result", `{"action":"readresult","resultFile":"` + handle + `"}`, "not_found"},
		{"another view's result as an argument", `{"action":"call","tool":"code","arguments":{"query":{"$from":"` + handle + `"}}}`, "not_found"},
		{"another view's result as all arguments", `{"action":"call","tool":"code","argumentsFile":"` + handle + `"}`, "not_found"},
		{"in a script", `{"action":"run","code":"return await call('delete_file', {path:'x'})"}`, "unknown_tool"},
		{"in a script, as a member", `{"action":"run","code":"return Object.keys(tools).join() + typeof tools.github.delete_file"}`, "!redis"},
		{"read in a script", `{"action":"run","code":"return await read('` + handle + `')"}`, "not_found"},
		{"found in a script", `{"action":"run","code":"return (await search('delete a file')).map(x => x.tool).join()"}`, "!delete_file"},
		{"a composite of another view", `{"action":"call","tool":"own/search_everywhere","arguments":{"query":"x"}}`, "unknown_tool"},
		{"status", `{"action":"status"}`, "1 connections"},
		{"an error in its words", `{"action":"call","tool":"code","arguments":{"perPage":1}}`, "github/code(query: string)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := narrow.do(tc.in)
			got := strings.ReplaceAll(strings.ReplaceAll(string(a.raw), `\"`, `"`), `": `, `":`)
			if word, not := strings.CutPrefix(tc.want, "!"); not == strings.Contains(strings.ReplaceAll(got, `, "`, `,"`), word) {
				t.Errorf("got %s, want %s", clip(got, 1500), tc.want)
			}
		})
	}
	t.Run("other methods", func(t *testing.T) {
		for _, method := range []string{"resources/list", "prompts/list", "resources/templates/list"} {
			raw, err := narrow.Request(ctx, method, `{}`)
			if err == nil && strings.Contains(string(raw), "fixture") {
				t.Errorf("%s: got %s", method, raw)
			}
		}
		if raw, err := narrow.Request(ctx, "resources/read", `{"uri":"fixture://notes/1"}`); err == nil {
			t.Errorf("resources/read: got %s", raw)
		}
	})
	t.Run("a view that is not there", func(t *testing.T) {
		s := &session{agent.Dial("http://"+addr+"/view/none/mcp", nil), t, ctx, nil}
		if _, err := s.Hello(ctx); err == nil {
			t.Error("got an answer")
		}
	})
}

func TestViewPerServerAndSpill(t *testing.T) {
	t.Parallel()
	s := expertHome(t, `
  split:
    exposure: search_per_server
    spill: true
    tools: {github: "search_*", redis-memory-server: [memory_prompt]}
spill: {threshold: 2000}
`).serve(t, "--view", "split")
	want := []string{"split_redis-memory-server_search_tools", "split_redis-memory-server_describe_tool", "split_redis-memory-server_call_tool",
		"split_github_search_tools", "split_github_describe_tool", "split_github_call_tool", "read_result"}
	if diff := cmp.Diff(want, s.names("tools/list", "tools", "name")); diff != "" {
		t.Error(diff)
	}
	if a, err := s.call("split_github_call_tool", `{"tool":"memory_prompt","arguments":{"query":"x"}}`); err != nil || !strings.Contains(a.text(), "unknown_tool") {
		t.Errorf("another server's tool: got %s, %v", a.text(), err)
	}
	a, err := s.call("split_github_call_tool", fmt.Sprintf(`{"tool":"search_code","arguments":{"query":%q}}`, strings.Repeat("long ", 1000)))
	if err != nil || !strings.Contains(a.text(), "read_result {") {
		t.Fatalf("got %s, %v, want a report that names read_result", a.raw, err)
	}
	handle := gjson.GetBytes(a.raw, "_meta.proxy-dispatch.handle").String()
	_, next, _ := strings.Cut(a.text(), "read_result ")
	next, _, _ = strings.Cut(next, "\n")
	for _, in := range []string{`{"resultFile":"` + handle + `","jq":".query|length"}`, next} {
		if a, err := s.call("read_result", in); err != nil || a.isError {
			t.Errorf("%s: got %s, %v", in, a.raw, err)
		}
	}
}

func TestValidateViews(t *testing.T) {
	t.Parallel()
	h := expertHome(t, `
  broken:
    tools: {github: {seach_code: {}}}
    composite_tools:
      c:
        steps:
          - {name: a, tool: github.search_code, args: {q: "{inputs.x}"}}
          - {name: b, tool: github.nothing}
`)
	out, err := h.command(t, "validate", "--config", h.file).Output()
	if err == nil {
		t.Error("got no error")
	}
	for _, want := range []string{
		"✓ redis-memory-server: connected (5 tools",
		"✓ tool_views.redis-expert: valid (3 tools exposed)\n",
		"✓ tool_views.unified-search: valid (1 composite tool)\n",
		"✓ tool_views.expert-assistant: valid (2 tools exposed, 1 composite tool, 1 custom tool)\n",
		"✗ tool_views.broken: ERROR - references unknown tool 'github.seach_code' (proxy-dispatch.yaml:85)\n",
		"✗ tool_views.broken: ERROR - c: step a: github.search_code has no parameter \"q\" (proxy-dispatch.yaml:89)\n",
		"✗ tool_views.broken: ERROR - c: step a: github.search_code needs \"query\" (proxy-dispatch.yaml:89)\n",
		"✗ tool_views.broken: ERROR - c: step b references unknown tool 'github.nothing' (proxy-dispatch.yaml:90)\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got\n%s\nwant it to hold %s", out, want)
		}
	}
}

func TestViewCommands(t *testing.T) {
	t.Parallel()
	h := expertHome(t, "")
	before, err := os.ReadFile(h.file)
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := h.command(t, append(args, "--config", h.file)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("view", "add", "mine", "--description", "My own", "--tool", "github.search_code", "--tool", "redis-memory-server.get_*")
	run("view", "rename-tool", "mine", "github.search_code", "code")
	run("view", "set-param", "mine", "github.search_code", "perPage", "--default", "5", "--rename", "top")
	run("view", "set-tool", "mine", "github.delete_file", "--disable")
	if got := run("call", "--view", "mine", "code", "--query", "x"); !strings.Contains(got, `{"query":"x","perPage":5}`) {
		t.Errorf("got %s", got)
	}
	if got := run("tools", "--view", "mine", "--json"); !json.Valid([]byte(got)) || strings.Count(got, `"name":`) != 2 {
		t.Errorf("got %s", got)
	}
	run("view", "remove-param", "mine", "github.search_code", "perPage")
	run("view", "remove-tool", "mine", "redis-memory-server.get_*")
	run("view", "set", "mine", "--exposure", "search")
	run("view", "remove", "mine")
	after, err := os.ReadFile(h.file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("the file is another one: %s", diff)
	}
	if out, err := h.command(t, "view", "set-tool", "github", "nobody.x", "--config", h.file).CombinedOutput(); err == nil {
		t.Errorf("a tool of no server: got %s", out)
	}
	if got := run("init", "hooks"); !strings.Contains(got, filepath.Join("hooks", "example.js")) {
		t.Errorf("init hooks: got %s", got)
	}
	example := "\n  example:\n    include_all: true\n    hooks:\n      pre_call: hooks.example.pre_call\n      post_call: hooks.example.post_call\n    custom_tools:\n      - module: hooks.example.everywhere\n"
	if err := os.WriteFile(h.file, append(after, example...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run("call", "--view", "example", "everywhere", "--query", "search code"); !strings.Contains(got, "github.search_code") {
		t.Errorf("the example's tool: got %s", got)
	}
	if out, err := h.command(t, "call", "--view", "example", "delete_file", "--path", "x", "--config", h.file).CombinedOutput(); err == nil || !strings.Contains(string(out), "denied: Authentication required") {
		t.Errorf("the example's hook: got %s, %v", out, err)
	}
}

// TestViewChangesWhileServed changes tools, hooks and composites of a view in the file of a running proxy.
func TestViewChangesWhileServed(t *testing.T) {
	t.Parallel()
	h := expertHome(t, "")
	s := h.serve(t, "--view", "redis-expert")
	s.names("tools/list", "tools", "name")
	conf, err := os.ReadFile(h.file)
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, strings.NewReplacer("name: search_knowledge", "name: look_up", "pre_call: hooks.redis_expert.pre_call", "pre_call: {builtin: set, args: {user_id: set}}").Replace(string(conf)))
	if _, err := s.Await(s.ctx, func(n agent.Note) bool { return n.Method == "notifications/tools/list_changed" }); err != nil {
		t.Fatal(err)
	}
	for s.ctx.Err() == nil {
		if a, err := s.call("look_up", `{"text":"x"}`); err == nil {
			if !strings.Contains(a.text(), `"user_id":"set"`) {
				t.Errorf("got %s, want the new hook", a.text())
			}
			return
		}
	}
	t.Error("the new name never came")
}
