package client_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/client"
)

// eachWay runs a test through each tool of a proxy.
func eachWay(t *testing.T, test func(t *testing.T, face string, prefix func(server, name string) string)) {
	for face, sep := range map[string]string{"proxy": "_", "dispatch": "/"} {
		t.Run(face, func(t *testing.T) {
			test(t, face, func(server, name string) string { return server + sep + name })
		})
	}
}

func TestLists(t *testing.T) {
	eachWay(t, func(t *testing.T, face string, full func(string, string) string) {
		c, m, _ := connect(t, client.Options{PageSize: 3}, face)
		tools, err := c.ListTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
			if len(tool.Raw) == 0 || tool.InputSchema.Type != "object" {
				t.Errorf("%s: got %+v", tool.Name, tool)
			}
		}
		for _, want := range []string{full("notes", "echo"), full("notes", "steps")} {
			if !strings.Contains(strings.Join(names, " "), want) {
				t.Errorf("got %q, want it to hold %s", names, want)
			}
		}
		if m.calls() < 3 {
			t.Errorf("got %d calls, want a page each", m.calls())
		}
		resources, err := c.ListResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var uris, templates []string
		for _, r := range resources {
			if r.Template != nil {
				templates = append(templates, r.Template.URITemplate.Raw())
			} else {
				uris = append(uris, r.URI)
			}
		}
		if len(uris) != 6 || uris[0] != "note://1" || len(templates) != 1 || templates[0] != "note://user/{name}" {
			t.Errorf("got resources %q and templates %q", uris, templates)
		}
		prompts, err := c.ListPrompts(t.Context())
		if err != nil || len(prompts) != 1 || prompts[0].Name != full("notes", "greet") {
			t.Errorf("got prompts %+v, %v", prompts, err)
		}
	})
}

func TestCallTool(t *testing.T) {
	eachWay(t, func(t *testing.T, face string, full func(string, string) string) {
		c, _, h := connect(t, client.Options{}, face)
		r, err := c.CallTool(t.Context(), client.Call{Name: full("notes", "add"), Arguments: map[string]any{"a": 2, "b": 3}})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"content":[{"type":"text","text":"5"}],"structuredContent":{"sum":5}}`
		if string(r.Raw) != want || r.Content[0].(mcp.TextContent).Text != "5" {
			t.Errorf("got %s, want %s", r.Raw, want)
		}
		r, err = c.CallTool(t.Context(), client.Call{Name: full("notes", "fail")})
		if err != nil || !r.IsError {
			t.Errorf("a tool's own error: got %+v, %v", r, err)
		}
		if r, err = c.CallTool(t.Context(), client.Call{Name: full("notes", "nothing")}); err != nil || !r.IsError {
			t.Errorf("an unknown tool: got %+v, %v", r, err)
		}
		if _, err = c.CallTool(t.Context(), client.Call{Name: full("notes", "echo"), Arguments: []int{1}}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("arguments that are no object: got %v", err)
		}
		if _, err = c.CallTool(t.Context(), client.Call{}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("no name: got %v", err)
		}
		before := len(h.Requests())
		if r, err = c.CallTool(t.Context(), client.Call{Name: full("notes", "echo"), Arguments: json.RawMessage(`{"message":"\u00e9 9007199254740993"}`)}); err != nil || r.Content[0].(mcp.TextContent).Text != "é 9007199254740993" {
			t.Errorf("raw arguments: got %+v, %v", r, err)
		}
		if got := string(h.Requests()[before].Params); !strings.Contains(got, `{"message":"\u00e9 9007199254740993"}`) {
			t.Errorf("the server got %s", got)
		}
		var steps int
		if _, err = c.CallTool(t.Context(), client.Call{Name: full("notes", "steps"), Progress: func(json.RawMessage) { steps++ }}); err != nil || steps != 3 {
			t.Errorf("got %d steps, %v", steps, err)
		}
	})
}

// TestExact holds that a result is as the server gave it, unknown kinds and numbers and all.
func TestExact(t *testing.T) {
	eachWay(t, func(t *testing.T, face string, full func(string, string) string) {
		c, _, _ := connect(t, client.Options{}, face)
		r, err := c.CallTool(t.Context(), client.Call{Name: full("notes", "exact")})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`{"type":"hologram","depth":9007199254740993,"x":{"b":1,"a":2}}`, `"zed":1.10`, `"big":9007199254740993`, `"priority":0.50`, `{"audience":["user"]}`} {
			if !strings.Contains(string(r.Raw), want) {
				t.Errorf("got %s, want it to hold %s", r.Raw, want)
			}
		}
		if strings.Contains(string(r.Raw), "proxyType") || strings.Contains(string(r.Raw), "proxy-dispatch") {
			t.Errorf("the proxy's words are still there: %s", r.Raw)
		}
		if len(r.Content) != 3 || len(r.Lost) != 2 {
			t.Errorf("got %d typed and %d lost items, want 3 and 2", len(r.Content), len(r.Lost))
		}
	})
}

func TestReadResource(t *testing.T) {
	eachWay(t, func(t *testing.T, face string, _ func(string, string) string) {
		c, _, _ := connect(t, client.Options{}, face)
		for uri, want := range map[string]string{
			"note://1":        `{"uri":"note://1","mimeType":"text/plain","text":"first note"}`,
			"note://blob":     `{"uri":"note://blob","mimeType":"image/png","blob":"AAEC/w=="}`,
			"note://pretty":   `{"uri":"note://pretty","mimeType":"application/json","text":"{\n  \"n\": 1\n}"}`,
			"note://user/ann": `{"uri":"note://user/ann","mimeType":"text/plain","text":"user ann"}`,
		} {
			r, err := c.ReadResource(t.Context(), uri)
			if err != nil {
				t.Errorf("%s: %v", uri, err)
				continue
			}
			if got := string(r.Raw); got != `{"contents":[`+want+`]}` || len(r.Contents) != 1 {
				t.Errorf("%s: got %s, want %s", uri, got, want)
			}
		}
		r, err := c.ReadResource(t.Context(), "note://json")
		if err != nil {
			t.Fatal(err)
		}
		text := r.Contents[0].(mcp.TextResourceContents)
		if text.MIMEType != "text/plain" || strings.ReplaceAll(strings.ReplaceAll(text.Text, " ", ""), "\n", "") != `{"n":9007199254740993,"f":1.10}` {
			t.Errorf("got %+v", text)
		}
		_, err = c.ReadResource(t.Context(), "note://9")
		if e, ok := errors.AsType[*client.ToolError](err); !ok || e.Code == "" {
			t.Errorf("a resource nobody has: got %v", err)
		}
	})
}

func TestGetPrompt(t *testing.T) {
	eachWay(t, func(t *testing.T, face string, full func(string, string) string) {
		c, _, _ := connect(t, client.Options{}, face)
		p, err := c.GetPrompt(t.Context(), client.Call{Name: full("notes", "greet"), Arguments: map[string]string{"who": "Ada"}})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"description":"A greeting","messages":[{"role":"user","content":{"type":"text","text":"Greet Ada.","future":1.10}},{"role":"assistant","content":{"type":"text","text":"Hello."}}],"_meta":{"big":9007199254740993}}`
		if string(p.Raw) != want || len(p.Messages) != 2 || p.Messages[1].Role != mcp.RoleAssistant || p.Description != "A greeting" {
			t.Errorf("got %s", p.Raw)
		}
		_, err = c.GetPrompt(t.Context(), client.Call{Name: full("notes", "greet")})
		if e, ok := errors.AsType[*client.ToolError](err); !ok || e.Code != "invalid_arguments" {
			t.Errorf("without its argument: got %v", err)
		}
	})
}

// TestWhole holds that a result of any size comes as the server gave it, if that is wanted.
func TestWhole(t *testing.T) {
	eachWay(t, func(t *testing.T, face string, full func(string, string) string) {
		const rows = 20_000
		name := full("notes", "rows")
		c, m, _ := connect(t, client.Options{}, face)
		r, err := c.CallTool(t.Context(), client.Call{Name: name, Arguments: map[string]int{"n": rows}})
		if err != nil || r.Handle == "" {
			t.Fatalf("not whole: got handle %q, %v", r.Handle, err)
		}
		c = client.New(m, client.Options{Whole: true})
		if r, err = c.CallTool(t.Context(), client.Call{Name: name, Arguments: map[string]int{"n": rows}}); err != nil {
			t.Fatal(err)
		}
		var got []struct {
			Name   string
			Amount json.Number
		}
		text := r.Content[0].(mcp.TextContent).Text
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(got) != rows || got[rows-1].Name != "row 19999 é" || got[1].Amount != "1.50" || r.Handle != "" {
			t.Errorf("got %d rows of %d bytes, %v", len(got), len(text), err)
		}
		if face == "proxy" {
			c = client.New(m, client.Options{Whole: true, MaxWhole: 1000})
			if _, err = c.CallTool(t.Context(), client.Call{Name: name, Arguments: map[string]int{"n": rows}}); !errors.Is(err, client.ErrTooLarge) {
				t.Errorf("more than the limit: got %v", err)
			}
		}
	})
}

func TestDetect(t *testing.T) {
	tool := func(name, actions, more string) string {
		return `{"name":"` + name + `","inputSchema":{"type":"object","properties":{"action":{"type":"string","enum":[` + actions + `]},"path":{"type":"string"}}}` + more + `}`
	}
	const ours, draft = `"search","list","describe","call","batch","readresult"`, `"list","info","call"`
	for _, c := range []struct {
		name, tools, want string
		kind              client.Kind
	}{
		{"the draft's", tool("proxy", draft, ""), "proxy", client.KindProxy},
		{"under another name", tool("mcp:proxy", draft, ""), "mcp:proxy", client.KindProxy},
		{"in some other name", tool("gate", draft, ""), "gate", client.KindProxy},
		{"ours", tool("proxy-dispatch", ours, ""), "proxy-dispatch", client.KindDispatch},
		{"both", tool("proxy-dispatch", ours, "") + "," + tool("proxy", draft, ""), "proxy", client.KindProxy},
		{"several", tool("gate", draft, "") + "," + tool("proxy", draft, ""), "proxy", client.KindProxy},
		{"by its description", `{"name":"proxy","description":"Proxy to other capabilities","inputSchema":{"type":"object"}}`, "proxy", client.KindProxy},
		{"single words", `{"name":"p","inputSchema":{"properties":{"path":{},"action":{"anyOf":[{"const":"list"},{"const":"info"},{"const":"call"}]}}}}`, "p", client.KindProxy},
		{"a tool of that name", `{"name":"proxy","description":"Sets the network","inputSchema":{"type":"object"}}`, "", ""},
		{"none", `{"name":"echo"},7,{"name":""}`, "", ""},
	} {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte("["+c.tools+"]"), &list); err != nil {
			t.Fatal(err)
		}
		got, ok := client.Detect(list)
		if got.Name != c.want || got.Kind != c.kind || ok != (c.want != "") {
			t.Errorf("%s: got %+v, %v", c.name, got, ok)
		}
	}
}

func TestValidate(t *testing.T) {
	tool := func(o client.Operation) client.Operation { o.Type = client.TypeTool; return o }
	for _, c := range []struct {
		name string
		o    client.Operation
		want string
	}{
		{"list", tool(client.Operation{Action: client.ActionList, Limit: 1000, FilterServer: "a_"}), ""},
		{"info", tool(client.Operation{Action: client.ActionInfo, Path: "p"}), ""},
		{"call", tool(client.Operation{Action: client.ActionCall, Path: "p", Arguments: map[string]int{}}), ""},
		{"batch", client.Operation{Action: client.ActionBatch, Type: client.TypeTool, Operations: []client.Operation{{Action: client.ActionCall, Path: "p"}}}, ""},
		{"no action", tool(client.Operation{}), `there is no action ""`},
		{"no type", client.Operation{Action: client.ActionList}, "Type is required"},
		{"unknown type", client.Operation{Action: client.ActionList, Type: "tools"}, `there is no type "tools"`},
		{"list with path", tool(client.Operation{Action: client.ActionList, Path: "p"}), "Path is not allowed for list"},
		{"list with arguments", tool(client.Operation{Action: client.ActionList, Arguments: map[string]int{}}), "Arguments are not allowed for list"},
		{"info without path", tool(client.Operation{Action: client.ActionInfo}), "Path is required for info"},
		{"info with arguments", tool(client.Operation{Action: client.ActionInfo, Path: "p", Arguments: 1}), "Arguments are not allowed for info"},
		{"call with a page", tool(client.Operation{Action: client.ActionCall, Path: "p", Limit: 1}), "are only for list"},
		{"limit too large", tool(client.Operation{Action: client.ActionList, Limit: 1001}), "Limit must be 1 to 1000"},
		{"negative offset", tool(client.Operation{Action: client.ActionList, Offset: -1}), "Offset must not be negative"},
		{"operations for call", tool(client.Operation{Action: client.ActionCall, Path: "p", Operations: []client.Operation{{}}}), "Operations are only for batch"},
		{"empty batch", client.Operation{Action: client.ActionBatch}, "a batch has 1 to 50"},
		{"batch in a batch", client.Operation{Action: client.ActionBatch, Operations: []client.Operation{{Action: client.ActionBatch}}}, "operation 0: a batch holds no batch"},
		{"bad operation", client.Operation{Action: client.ActionBatch, Operations: []client.Operation{{Action: client.ActionList}}}, "operation 0: invalid operation: Type is required"},
	} {
		err := c.o.Validate()
		if c.want == "" != (err == nil) || err != nil && (!errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		cl, m, _ := connect(t, client.Options{}, "proxy")
		if _, err := cl.Proxy(t.Context(), c.o); (err != nil) != (c.want != "") || c.want != "" && m.calls() > 0 {
			t.Errorf("%s: Proxy: got %v after %d calls", c.name, err, m.calls())
		}
	}
}

func TestProxy(t *testing.T) {
	c, _, _ := connect(t, client.Options{}, "proxy")
	r, err := c.Proxy(t.Context(), client.Operation{Action: client.ActionList, Type: client.TypeResource, Limit: 2, Offset: 1, Filter: &client.Filter{Server: "notes"}})
	if err != nil {
		t.Fatal(err)
	}
	want := client.About{Type: client.TypeResource, Action: client.ActionList, PythonType: "Resource | ResourceTemplate", Many: true, TotalCount: 5, Offset: 1, Limit: 2, Index: -1}
	if diff := cmp.Diff(want, r.About()); diff != "" {
		t.Errorf("about differs (-want +got):\n%s", diff)
	}
	if raw, err := r.JSON(); err != nil || !strings.HasPrefix(string(raw), `[{"uri":"note://json"`) {
		t.Errorf("got %s, %v", raw, err)
	}
	if r, err = c.Proxy(t.Context(), client.Operation{Action: client.ActionInfo, Type: client.TypeTool, Path: "notes_nothing"}); err != nil {
		t.Fatal(err)
	}
	if e, ok := errors.AsType[*client.ToolError](r.Err()); !ok || e.Code != "unknown_tool" {
		t.Errorf("got %v", r.Err())
	}
	r, err = c.Proxy(t.Context(), client.Operation{Action: client.ActionBatch, Operations: []client.Operation{
		{Action: client.ActionCall, Type: client.TypeTool, Path: "notes_add", Arguments: map[string]int{"a": 1, "b": 2}},
		{Action: client.ActionCall, Type: client.TypePrompt, Path: "notes_greet", Arguments: map[string]string{"who": "Bo"}},
		{Action: client.ActionInfo, Type: client.TypeTool, Path: "none"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := r.Steps()
	if err != nil || len(steps) != 3 {
		t.Fatalf("got %d steps, %v", len(steps), err)
	}
	if got := string(steps[0].ToolResult()); got != `{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}}` {
		t.Errorf("first step: got %s", got)
	}
	if raw, err := steps[1].PromptResult(); err != nil || !strings.Contains(string(raw), "Greet Bo.") {
		t.Errorf("second step: got %s, %v", raw, err)
	}
	if steps[2].Err() == nil || steps[2].ID != "2" {
		t.Errorf("third step: got %s", steps[2].Raw)
	}
	if _, err := steps[0].Steps(); !errors.Is(err, client.ErrShape) {
		t.Errorf("steps of a step: got %v", err)
	}
	only, _, _ := connect(t, client.Options{}, "dispatch")
	if _, err := only.Proxy(t.Context(), client.Operation{Action: client.ActionList, Type: client.TypeTool}); !errors.Is(err, client.ErrNoProxy) {
		t.Errorf("without the draft's tool: got %v", err)
	}
}

// TestRoundTrips holds that what a proxy makes of a server's answer leads back to it.
func TestRoundTrips(t *testing.T) {
	tool := `{"zed":1.10,"content":[{"type":"text","text":"a","annotations":{"priority":0.50}},{"type":"hologram","n":9007199254740993}],"isError":true}`
	r, err := client.FromTool(json.RawMessage(tool), "p")
	if err != nil || string(r.ToolResult()) != tool || r.About().Path != "p" {
		t.Errorf("tool: got %s, %v", r.ToolResult(), err)
	}
	resource := `{"contents":[{"uri":"u","mimeType":"text/plain","text":"{\"n\":9007199254740993}"},{"uri":"v","blob":"AA=="},{"uri":"w","text":"no JSON"}]}`
	if r, err = client.FromResource(json.RawMessage(resource), "u"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(r.Items[0].Raw), `"contentType":"text/plain"`) || !strings.Contains(string(r.Items[0].Raw), `"mimeType":"application/json"`) {
		t.Errorf("not objectified: %s", r.Items[0].Raw)
	}
	if got, err := r.ResourceResult(); err != nil || string(got) != resource {
		t.Errorf("resource: got %s, %v", got, err)
	}
	if _, err := r.PromptResult(); !errors.Is(err, client.ErrShape) {
		t.Errorf("a resource as a prompt: got %v", err)
	}
	prompt := `{"messages":[{"role":"user","content":{"type":"text","text":"x","future":1.10}}]}`
	if r, err = client.FromPrompt(json.RawMessage(prompt), "my prompt"); err != nil {
		t.Fatal(err)
	}
	if got, err := r.PromptResult(); err != nil || string(got) != prompt {
		t.Errorf("prompt: got %s, %v", got, err)
	}
}

// TestProxiesOfOthers reads what other proxies of the draft send.
func TestProxiesOfOthers(t *testing.T) {
	const tools = `{"tools":[{"name":"proxy","inputSchema":{"properties":{"action":{"enum":["list","info","call"]},"type":{},"path":{}}}}]}`
	for _, c := range []struct{ name, answer, want string }{
		{"nothing at all", `{"content":[]}`, ""},
		{"no counts", `{"content":[{"type":"resource","resource":{"uri":"proxy:list/tool","mimeType":"application/json","text":"[\n{\"name\":\"a_b\",\n\"inputSchema\":{\"type\":\"object\"}}]"},"annotations":{"proxyAction":"list","proxyType":"tool","pythonType":"Tool","many":true,"audience":null}}]}`, "a_b"},
		{"no annotations", `{"content":[{"type":"text","text":"[]"}]}`, "error"},
		{"no JSON", `{"content":[{"type":"resource","resource":{"text":"["},"annotations":{"pythonType":"Tool"}}]}`, "error"},
		{"no result", `[]`, "error"},
		{"not even JSON", `x`, "error"},
		{"an error of the protocol", `error: down`, "error"},
	} {
		got, err := client.New(scripted{tools, c.answer}, client.Options{}).ListTools(t.Context())
		var names []string
		for _, tool := range got {
			names = append(names, tool.Name)
		}
		if (err != nil) != (c.want == "error") || err == nil && strings.Join(names, " ") != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, names, err, c.want)
		}
	}
	if _, err := client.New(scripted{`{"tools":[]}`, ""}, client.Options{}).ListTools(t.Context()); !errors.Is(err, client.ErrNoProxy) {
		t.Errorf("no proxy: got %v", err)
	}
}

// FuzzResult holds that no answer of a proxy, however wrong, makes the client panic or lose its JSON.
func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"text":"{}","contentType":"a"},"annotations":{"proxyType":"tool","pythonType":"Tool"}}],"_meta":{"proxy-dispatch":{"operations":[{"id":1}]}}}`))
	f.Add([]byte(`{"content":{},"isError":true,"_meta":7}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			t.Skip()
		}
		r, err := client.ReadResult(raw)
		if err != nil {
			return
		}
		if got := r.ToolResult(); !json.Valid(got) {
			t.Fatalf("tool: got %s", got)
		}
		if got, err := r.ResourceResult(); err == nil && !json.Valid(got) {
			t.Fatalf("resource: got %s", got)
		}
		if got, err := r.PromptResult(); err == nil && !json.Valid(got) {
			t.Fatalf("prompt: got %s", got)
		}
		_, _ = r.Steps()
	})
}
