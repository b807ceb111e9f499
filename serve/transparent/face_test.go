package transparent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// twins are two servers that offer the same names.
const twins = `a tool {"name":"echo","icons":[{"src":"x"}],"n":9007199254740993,"inputSchema":{"type":"object"}}
a tool {"name":"wipe"}
a tool {"name":"only_a","_meta":{"x":1.10,"proxy":{"server":"inner"}}}
a prompt {"name":"greet"}
a resource {"uri":"mem://note","name":"note"}
a resource {"uri":"mem://a","name":"a"}
a template {"uriTemplate":"mem://{id}","name":"any"}
b tool {"name":"echo"}
b prompt {"name":"greet"}
b resource {"uri":"mem://note","name":"note"}
b template {"uriTemplate":"mem://{id}","name":"any"}
b hello {"tools":{},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{},"experimental":{"b":{"n":9007199254740993}}}`

func shownNames(t *testing.T, f *Face, method, key, name string) (out []string) {
	t.Helper()
	var lists map[string][]map[string]any
	if err := json.Unmarshal([]byte(do(t, f, agentOne, method, `{}`)), &lists); err != nil {
		t.Fatal(err)
	}
	for _, e := range lists[key] {
		out = append(out, e[name].(string))
	}
	return out
}

func TestLists(t *testing.T) {
	note := func(server string) string { return resourceURI(server, "mem://note") }
	for _, tc := range []struct {
		method, key, name string
		prefixed, plain   []string
	}{
		{"tools/list", "tools", "name", []string{"a__echo", "a__only_a", "b__echo"}, []string{"echo", "only_a", "b__echo"}},
		{"prompts/list", "prompts", "name", []string{"a__greet", "b__greet"}, []string{"greet", "b__greet"}},
		{"resources/list", "resources", "uri", []string{note("a"), resourceURI("a", "mem://a"), note("b")}, []string{"mem://note", "mem://a", note("b")}},
		{"resources/templates/list", "resourceTemplates", "uriTemplate", []string{"proxy://template/a/mem://{id}", "proxy://template/b/mem://{id}"}, []string{"mem://{id}", "proxy://template/b/mem://{id}"}},
	} {
		t.Run(tc.method, func(t *testing.T) {
			if diff := cmp.Diff(tc.prefixed, shownNames(t, newFace(t, newWorld(t, twins), false), tc.method, tc.key, tc.name)); diff != "" {
				t.Errorf("prefixed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.plain, shownNames(t, newFace(t, newWorld(t, twins), true), tc.method, tc.key, tc.name)); diff != "" {
				t.Errorf("plain (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEntriesStayAsTheyWere(t *testing.T) {
	got := do(t, newFace(t, newWorld(t, twins), false), agentOne, "tools/list", `{}`)
	for _, want := range []string{
		`{"name":"a__echo","icons":[{"src":"x"}],"n":9007199254740993,"inputSchema":{"type":"object"},"_meta":{"proxy":{"server":"a","originalName":"echo"}}}`,
		`{"name":"a__only_a","_meta":{"x":1.10,"proxy":{"server":"a","originalName":"only_a","behind":{"server":"inner"}}}}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want it to hold %s", got, want)
		}
	}
	got = do(t, newFace(t, newWorld(t, twins), false), agentOne, "resources/list", `{}`)
	if want := `"name":"note","_meta":{"proxy":{"server":"b","originalUri":"mem://note"}}`; !strings.Contains(got, want) {
		t.Errorf("got %s, want it to hold %s", got, want)
	}
}

func TestPages(t *testing.T) {
	var entries strings.Builder
	for i := range 7 {
		fmt.Fprintf(&entries, "s tool {\"name\":\"t%d\"}\n", i)
	}
	w := newWorld(t, entries.String())
	f := newFace(t, w, true)
	var got []string
	next := ""
	for page := range 4 {
		if page == 2 { // t0 is gone, t9 is new: nothing is shown twice or left out
			w.know(t, strings.Replace(entries.String(), `t0"`, `t9"`, 1))
		}
		params := `{"limit":2` + next + `}`
		var r struct {
			Tools      []struct{ Name string }
			NextCursor *string
		}
		if err := json.Unmarshal([]byte(do(t, f, agentOne, "tools/list", params)), &r); err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Tools {
			got = append(got, e.Name)
		}
		if r.NextCursor == nil {
			break
		}
		next = `,"cursor":"` + *r.NextCursor + `"`
	}
	if diff := cmp.Diff([]string{"t0", "t1", "t2", "t3", "t4", "t5", "t6"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, bad := range []string{`{"cursor":"x"}`, `{"cursor":7}`, `{"limit":0}`, `{"limit":-1}`, `{"limit":"2"}`, `{"limit":1.5}`,
		`{"cursor":"` + cursor{List: "prompts", Offset: 1}.String() + `"}`} {
		if got := do(t, f, agentOne, "tools/list", bad); !strings.HasPrefix(got, "!-32602 ") {
			t.Errorf("%s: got %s, want an error of the params", bad, got)
		}
	}
}

func TestWays(t *testing.T) {
	note := resourceURI("b", "mem://note")
	for _, tc := range []struct {
		name, method, params string
		sent                 string // what reaches a server
		want                 string // the beginning of the answer, or of the error after !
		plain                bool
	}{
		{name: "tool", method: "tools/call", params: `{"name":"a__echo","arguments":{"n":1.10},"future":[1],"_meta":{"progressToken":1,"x":2}}`,
			sent: `tools/call a {"name":"echo","arguments":{"n":1.10},"future":[1]} {"x":2}`},
		{name: "tool with colons", method: "tools/call", params: `{"name":"b::echo"}`, sent: `tools/call b {"name":"echo"}`},
		{name: "unique plain tool", method: "tools/call", params: `{"name":"only_a"}`, sent: `tools/call a {"name":"only_a"}`},
		{name: "clashing plain tool", method: "tools/call", params: `{"name":"echo"}`, want: `!-32602 ambiguous_tool: `},
		{name: "plain names", method: "tools/call", params: `{"name":"echo"}`, sent: `tools/call a {"name":"echo"}`, plain: true},
		{name: "plain names, the later one", method: "tools/call", params: `{"name":"b__echo"}`, sent: `tools/call b {"name":"echo"}`, plain: true},
		{name: "unknown tool", method: "tools/call", params: `{"name":"nope"}`, want: `!-32602 Unknown tool: nope`},
		{name: "denied tool", method: "tools/call", params: `{"name":"a__wipe"}`, want: `{"content":[{"type":"text","text":"denied: kept out. Not sent: safe to repeat."}],"isError":true}`},
		{name: "server that is down", method: "tools/call", params: `{"name":"a__only_a"}`, sent: `tools/call a {"name":"only_a"}`, want: `{"content":[{"type":"text","text":"server_unavailable: it is down.`},
		{name: "the server's own error", method: "prompts/get", params: `{"name":"b__greet"}`, sent: `prompts/get b {"name":"greet"}`, want: `!-32042 quota {"retryAfter":9007199254740993}`},
		{name: "prompt", method: "prompts/get", params: `{"name":"a__greet","arguments":{"who":"x"}}`, sent: `prompts/get a {"name":"greet","arguments":{"who":"x"}}`},
		{name: "no name", method: "prompts/get", params: `{}`, want: `!-32602 params.name must be a string`},
		{name: "unknown prompt", method: "prompts/get", params: `{"name":"nope"}`, want: `!-32602 Unknown prompt: nope`},
		{name: "resource", method: "resources/read", params: `{"uri":"` + note + `"}`, sent: `resources/read b {"uri":"mem://note"}`},
		{name: "resource, own URI of one server", method: "resources/read", params: `{"uri":"mem://a"}`, sent: `resources/read a {"uri":"mem://a"}`},
		{name: "resource, own URI of two", method: "resources/read", params: `{"uri":"mem://note"}`, want: `!-32602 mem://note is a resource of several servers`},
		{name: "resource in no list", method: "resources/read", params: `{"uri":"` + resourceURI("a", "mem://x") + `"}`, sent: `resources/read a {"uri":"mem://x"}`},
		{name: "resource of nobody", method: "resources/read", params: `{"uri":"x://y"}`, want: `!-32002 Resource not found: x://y {"uri":"x://y"}`},
		{name: "resource of nobody, today", method: "resources/read", params: `{"uri":"x://y","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, want: `!-32602 Resource not found`},
		{name: "resource of a server we lack", method: "resources/read", params: `{"uri":"` + resourceURI("z", "mem://x") + `"}`, want: `!-32002 Resource not found`},
		{name: "expanded template", method: "resources/read", params: `{"uri":"proxy://template/b/mem://7"}`, sent: `resources/read b {"uri":"mem://7"}`},
		{name: "plain resource", method: "resources/read", params: `{"uri":"mem://note"}`, sent: `resources/read a {"uri":"mem://note"}`, plain: true},
		{name: "completion of a prompt", method: "completion/complete", params: `{"ref":{"type":"ref/prompt","name":"b__greet","title":"x"},"argument":{"name":"who","value":"x"}}`,
			sent: `completion/complete b {"ref":{"type":"ref/prompt","name":"greet","title":"x"},"argument":{"name":"who","value":"x"}}`},
		{name: "completion of a template", method: "completion/complete", params: `{"ref":{"type":"ref/resource","uri":"proxy://template/b/mem://{id}"}}`, sent: `completion/complete b {"ref":{"type":"ref/resource","uri":"mem://{id}"}}`},
		{name: "completion of nothing", method: "completion/complete", params: `{"ref":{"type":"ref/tool"}}`, want: `!-32602 params.ref.type`},
		{name: "unknown method", method: "x/y", params: `{}`, want: `!method not found`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, twins)
			w.answers["tools/call a only_a"] = "!down"
			if tc.name == "unique plain tool" {
				delete(w.answers, "tools/call a only_a")
			}
			w.answers["prompts/get b greet"] = `!{"code":-32042,"message":"quota","data":{"retryAfter":9007199254740993}}`
			got := do(t, newFace(t, w, tc.plain), agentOne, tc.method, tc.params)
			if !strings.HasPrefix(got, tc.want) || tc.want == "" && strings.HasPrefix(got, "!") {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if sent := strings.Join(w.sent(), "\n"); sent != tc.sent {
				t.Errorf("sent %s, want %s", sent, tc.sent)
			}
		})
	}
}

func TestResults(t *testing.T) {
	for _, tc := range []struct{ name, method, params, key, answer, want string }{
		{"nothing to change", "tools/call", `{"name":"a__echo"}`, "a echo",
			`{"x":1.10, "content":[{"type":"hologram","uri":"mem://note"}],"structuredContent":{"uri":"mem://note"}}`,
			`{"x":1.10, "content":[{"type":"hologram","uri":"mem://note"}],"structuredContent":{"uri":"mem://note"}}`},
		{"links", "tools/call", `{"name":"a__echo"}`, "a echo",
			`{"content":[{"uri":"mem://note","type":"resource_link","n":1.10},{"type":"resource","resource":{"text":"uri","uri":"mem://x"},"annotations":{}},{"type":"text","text":"mem://note"}],"isError":false}`,
			`{"content":[{"uri":"NOTE","type":"resource_link","n":1.10},{"type":"resource","resource":{"text":"uri","uri":"X"},"annotations":{}},{"type":"text","text":"mem://note"}],"isError":false}`},
		{"prompt", "prompts/get", `{"name":"a__greet"}`, "a greet",
			`{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"mem://note"}}},{"role":"user","content":[{"type":"resource_link","uri":"mem://x"}]}]}`,
			`{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"NOTE"}}},{"role":"user","content":[{"type":"resource_link","uri":"X"}]}]}`},
		{"what was asked for", "resources/read", `{"uri":"mem://a"}`, "a mem://a",
			`{"contents":[{"uri":"mem://a","text":"x"},{"uri":"mem://x","blob":""}]}`,
			`{"contents":[{"uri":"mem://a","text":"x"},{"uri":"X","blob":""}]}`},
		{"a task", "tools/call", `{"name":"a__echo","task":{"ttl":1}}`, "a echo",
			`{"task":{"taskId":"7","status":"working"}}`, `{"task":{"taskId":"a::7","status":"working"}}`},
		{"a task of today", "tools/call", `{"name":"a__echo"}`, "a echo",
			`{"resultType":"task","taskId":"7","status":"working"}`, `{"resultType":"task","taskId":"a::7","status":"working"}`},
		{"a task's result", "tasks/result", `{"taskId":"a::7"}`, "a",
			`{"content":[{"type":"resource_link","uri":"mem://x"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"}}}`,
			`{"content":[{"type":"resource_link","uri":"X"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a::7"}}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, twins+"\na hello {\"tools\":{},\"tasks\":{}}")
			w.answers[tc.method+" "+tc.key] = tc.answer
			want := strings.NewReplacer("NOTE", resourceURI("a", "mem://note"), `"X"`, `"`+resourceURI("a", "mem://x")+`"`).Replace(tc.want)
			if got := do(t, newFace(t, w, false), agentOne, tc.method, tc.params); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestTasks(t *testing.T) {
	w := newWorld(t, twins+"\na hello {\"tools\":{},\"tasks\":{\"list\":{}}}\nb hello {\"tools\":{},\"tasks\":{\"list\":{}}}")
	w.answers["tools/call a echo"] = `{"task":{"taskId":"7"}}`
	w.answers["tasks/get a"] = `{"taskId":"7","status":"completed"}`
	w.answers["tasks/list a"] = `{"tasks":[{"taskId":"7"},{"taskId":"8"}]}`
	w.answers["tasks/list b"] = `{"tasks":[{"taskId":"7"}],"x":1}`
	f := newFace(t, w, false)
	ann, bob := dispatch.Agent{Principal: "ann", Session: "1"}, dispatch.Agent{Principal: "bob", Session: "2"}
	do(t, f, ann, "tools/call", `{"name":"a__echo","task":{}}`)
	if got, want := do(t, f, ann, "tasks/get", `{"taskId":"a::7"}`), `{"taskId":"a::7","status":"completed"}`; got != want {
		t.Errorf("its own task: got %s, want %s", got, want)
	}
	for _, other := range []string{"a::7", "a::8", "7", "z::7"} {
		if got := do(t, f, bob, "tasks/get", `{"taskId":"`+other+`"}`); got != "!-32602 Task not found: "+other {
			t.Errorf("task %s of another: got %s", other, got)
		}
	}
	first := do(t, f, ann, "tasks/list", `{}`)
	next := unquoted(memberOf(first, "nextCursor"))
	if !strings.HasPrefix(first, `{"tasks":[{"taskId":"a::7"}],"nextCursor":`) {
		t.Errorf("first page: got %s", first)
	}
	if got, want := do(t, f, ann, "tasks/list", `{"cursor":"`+next+`"}`), `{"x":1,"tasks":[]}`; got != want {
		t.Errorf("last page: got %s, want %s", got, want)
	}
	here, there := &listener{agent: ann}, &listener{agent: bob}
	defer f.Attach(here)()
	defer f.Attach(there)()
	f.Said("a", "", "notifications/tasks/status", json.RawMessage(`{"taskId":"7","status":"working"}`))
	if diff := cmp.Diff([]string{`notifications/tasks/status {"taskId":"a::7","status":"working","proxy":{"server":"a"}}`}, here.told()); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	if got := there.told(); got != nil {
		t.Errorf("another was told %q", got)
	}
}

func TestSubscriptions(t *testing.T) {
	w := newWorld(t, twins)
	f := newFace(t, w, false)
	one, two := &listener{agent: agentOne}, &listener{agent: dispatch.Agent{Session: "two"}}
	leaveOne, leaveTwo := f.Attach(one), f.Attach(two)
	uri := `{"uri":"` + resourceURI("b", "mem://note") + `"}`
	do(t, f, one.agent, "resources/subscribe", uri)
	do(t, f, two.agent, "resources/subscribe", uri)
	do(t, f, two.agent, "resources/subscribe", `{"uri":"mem://a"}`)
	if diff := cmp.Diff([]string{`resources/subscribe b {"uri":"mem://note"}`, `resources/subscribe a {"uri":"mem://a"}`}, w.sent()); diff != "" {
		t.Errorf("subscribe (-want +got):\n%s", diff)
	}
	f.Said("b", "", "notifications/resources/updated", json.RawMessage(`{"uri":"mem://note","x":1}`))
	f.Said("a", "", "notifications/resources/updated", json.RawMessage(`{"uri":"mem://note"}`)) // of the other server: nobody asked
	f.Said("a", "", "notifications/resources/updated", json.RawMessage(`{"uri":"mem://a/part"}`))
	said := `notifications/resources/updated {"x":1,"uri":"` + resourceURI("b", "mem://note") + `","proxy":{"server":"b"}}`
	if diff := cmp.Diff([]string{said}, one.told()); diff != "" {
		t.Errorf("one (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{said, `notifications/resources/updated {"uri":"` + resourceURI("a", "mem://a/part") + `","proxy":{"server":"a"}}`}, two.told()); diff != "" {
		t.Errorf("two (-want +got):\n%s", diff)
	}
	f.wishes.Ready("b", "")
	f.wishes.errands.Wait()
	if diff := cmp.Diff([]string{`resources/subscribe b {"uri":"mem://note"}`}, w.sent()); diff != "" {
		t.Errorf("a new session (-want +got):\n%s", diff)
	}
	do(t, f, one.agent, "resources/unsubscribe", uri)
	leaveOne()
	if got := w.sent(); got != nil {
		t.Errorf("sent %q while one still reads", got)
	}
	leaveTwo()
	f.wishes.errands.Wait()
	if got := w.sent(); len(got) != 2 || !strings.HasPrefix(got[0], "resources/unsubscribe ") || !strings.HasPrefix(got[1], "resources/unsubscribe ") {
		t.Errorf("sent %q, want both unsubscribed", got)
	}
	if len(f.wishes.subjects) != 0 {
		t.Errorf("%d subjects are left", len(f.wishes.subjects))
	}
	w.answers["resources/subscribe a mem://a"] = `!{"code":-32601,"message":"no"}`
	if got := do(t, f, one.agent, "resources/subscribe", `{"uri":"mem://a"}`); !strings.HasPrefix(got, "!-32042") || len(f.wishes.subjects) != 0 {
		t.Errorf("refused: got %s, %d subjects", got, len(f.wishes.subjects))
	}
}

func TestLevels(t *testing.T) {
	w := newWorld(t, twins)
	f := newFace(t, w, false)
	two := &listener{agent: dispatch.Agent{Session: "two"}}
	defer f.Attach(&listener{agent: agentOne})()
	leave := f.Attach(two)
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"a level", func() { do(t, f, agentOne, "logging/setLevel", `{"level":"error"}`) }, []string{`logging/setLevel b {"level":"error"}`}},
		{"one wants more", func() { do(t, f, two.agent, "logging/setLevel", `{"level":"debug"}`) }, []string{`logging/setLevel b {"level":"debug"}`}},
		{"one wants less than another", func() { do(t, f, agentOne, "logging/setLevel", `{"level":"alert"}`) }, []string{`logging/setLevel b {"level":"debug"}`}},
		{"no level", func() { do(t, f, agentOne, "logging/setLevel", `{"level":"loud"}`) }, nil},
		{"who wanted most is gone", leave, []string{`logging/setLevel b {"level":"alert"}`}},
		{"a new session", func() { f.wishes.Ready("b", "") }, []string{`logging/setLevel b {"level":"alert"}`}},
	} {
		step.do()
		f.wishes.errands.Wait()
		if diff := cmp.Diff(step.want, w.sent()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestNotifications(t *testing.T) {
	w := newWorld(t, "a\nb tool {\"name\":\"x\"}")
	w.states["a"] = "asleep"
	f := newFace(t, w, false)
	one := &listener{agent: agentOne}
	defer f.Attach(one)()
	f.Said("b", "", "notifications/message", json.RawMessage(`{"level":"info","data":1.10}`))
	f.Said("b", "", "notifications/x", nil)
	f.Said("b", "", "notifications/tools/list_changed", nil)
	f.Changed(nil)
	w.know(t, "a prompt {\"name\":\"p\"}\nb tool {\"name\":\"x\"}")
	f.Changed(nil)
	f.Changed(nil)
	want := []string{`notifications/message {"level":"info","data":1.10,"proxy":{"server":"b"}}`, `notifications/x {"proxy":{"server":"b"}}`, `notifications/prompts/list_changed`}
	if diff := cmp.Diff(want, one.told()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	f.Notified(agentOne, "notifications/roots/list_changed", nil)
	f.Notified(agentOne, "notifications/initialized", nil)
	f.Notified(agentOne, "notifications/progress", json.RawMessage(`{"progressToken":7,"progress":1}`))
	question := Signed("b", json.RawMessage(`{"message":"?","_meta":{"progressToken":7,"x":1.10}}`))
	if got, want := string(question), `{"message":"?","_meta":{"x":1.10,"progressToken":"b::7","proxy":{"server":"b"}}}`; got != want {
		t.Errorf("question: got %s, want %s", got, want)
	}
	f.Notified(agentOne, "notifications/progress", json.RawMessage(`{"progressToken":"b::7","progress":1.10}`))
	if diff := cmp.Diff([]string{"b notifications/roots/list_changed ", `b notifications/progress {"progress":1.10,"progressToken":7}`}, w.notes); diff != "" {
		t.Errorf("to servers (-want +got):\n%s", diff)
	}
}

func TestCapabilities(t *testing.T) {
	for _, tc := range []struct{ name, entries, want string }{
		{"known", "a tool {\"name\":\"x\"}\na hello {\"tools\":{},\"resources\":{\"subscribe\":true},\"x\":{\"a\":1}}\nb tool {\"name\":\"x\"}\nb hello {\"logging\":{},\"x\":{\"b\":2,\"a\":3}}",
			`{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"x":{"a":1,"b":2},"logging":{}}`},
		{"one nobody knows", "a", `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{},"completions":{}}`},
		{"one that is off", "off", `{"tools":{"listChanged":true}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, tc.entries)
			w.states["off"] = "disabled"
			got := newFace(t, w, false).Capabilities(agentOne)
			if diff := cmp.Diff(canonical(t, tc.want), canonical(t, string(got))); diff != "" {
				t.Errorf("capabilities (-want +got):\n%s", diff)
			}
		})
	}
}

func canonical(t *testing.T, raw string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// TestWhatIsTold holds that what a server says during a request carries its name.
func TestWhatIsTold(t *testing.T) {
	f := newFace(t, newWorld(t, twins), false)
	var told []string
	c := f.contact(agentOne, "a", dispatch.Contact{Told: func(method string, params json.RawMessage) { told = append(told, method+" "+string(params)) }})
	c.Told("notifications/message", json.RawMessage(`{"level":"info"}`))
	c.Told("notifications/tools/list_changed", nil)
	c.Told("notifications/tasks/status", json.RawMessage(`{"taskId":"7"}`))
	want := []string{`notifications/message {"level":"info","proxy":{"server":"a"}}`, `notifications/tasks/status {"taskId":"a::7","proxy":{"server":"a"}}`}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestSpilled(t *testing.T) {
	w := newWorld(t, twins)
	w.answers["tools/call a echo"] = `{"content":[{"type":"resource_link","uri":"spill://7?op=read"}]}`
	f := New(Options{Dispatcher: w, Servers: w, Spill: true})
	t.Cleanup(f.wishes.Close)
	if got := do(t, f, agentOne, "tools/call", `{"name":"a__echo"}`); !strings.Contains(got, `"spill://7?op=read"`) {
		t.Errorf("got %s, want the report's link as it is", got)
	}
	if got, want := do(t, f, agentOne, "resources/read", `{"uri":"spill://7?op=read"}`), `{"contents":[{"uri":"spill://7?op=read","text":"kept"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := do(t, f, agentOne, "resources/templates/list", `{}`); !strings.Contains(got, `"spill://{id}`) {
		t.Errorf("got %s, want the template of kept results", got)
	}
	if got := do(t, newFace(t, w, false), agentOne, "resources/read", `{"uri":"spill://7"}`); !strings.HasPrefix(got, "!-32002") {
		t.Errorf("unasked: got %s", got)
	}
}

var _ serve.Peer = (*listener)(nil)
