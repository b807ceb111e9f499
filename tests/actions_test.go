package tests

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture", "--tools", "200"), fix("second", "--only-echo")))
	s.do(`{"action":"list","refresh":true}`)
	cases := []struct {
		name, request string
		words         []string
	}{
		{"by meaning", `{"action":"search","query":"add two numbers"}`, []string{"fixture/add(a: number, b: number)", "Adds two numbers"}},
		{"hints", `{"action":"search","query":"delete a thing for good"}`, []string{"fixture/delete_thing(id: string)", "[destructive]"}},
		{"enums and optional parameters", `{"action":"search","query":"set_mode"}`, []string{`mode: "fast"|"careful"`, "level?: "}},
		{"one connection", `{"action":"search","query":"echo","connection":"second"}`, []string{"second/echo(message: string)"}},
		{"several intents", `{"action":"search","query":"add two numbers; reverse a weather report"}`, []string{"fixture/add"}},
		{"nothing fits", `{"action":"search","query":"xylophone quetzalcoatl"}`, []string{"no confident match"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := s.do(c.request).ok()
			got.wants(c.words...)
			if n := countTokens(t, got.text()); n > 1000 {
				t.Errorf("the answer costs %d tokens, want at most 1000", n)
			}
		})
	}
	t.Run("paged and counted", func(t *testing.T) {
		seen := map[string]bool{}
		for offset := 0; offset < 40; offset += 10 {
			got := s.do(fmt.Sprintf(`{"action":"search","query":"invoice","limit":10,"offset":%d,"format":"json"}`, offset)).ok().object()
			if n := number(t, got["totalMatches"]); n < 20 {
				t.Fatalf("totalMatches is %d, want all of them", n)
			}
			for _, r := range got["results"].([]any) {
				name := r.(map[string]any)["tool"].(string)
				if seen[name] {
					t.Errorf("%s is on two pages", name)
				}
				seen[name] = true
			}
		}
	})
	t.Run("the same question gives the same answer", func(t *testing.T) {
		first := s.do(`{"action":"search","query":"customer report"}`).text()
		for range 5 {
			if again := s.do(`{"action":"search","query":"customer report"}`).text(); again != first {
				t.Fatalf("got\n%s\nthen\n%s", first, again)
			}
		}
	})
}

// keys fails unless an object has these members, and returns it.
func keys(t *testing.T, v any, names string) map[string]any {
	t.Helper()
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("got %v, want an object with %s", v, names)
	}
	for _, n := range strings.Fields(names) {
		if _, ok := m[n]; !ok {
			t.Errorf("no %q in %v", n, clip(fmt.Sprint(m), 600))
		}
	}
	return m
}

func first(t *testing.T, v any) any {
	t.Helper()
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		t.Fatalf("got %v, want a list that is not empty", v)
	}
	return list[0]
}

func TestJSONShapes(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture"), fix("dead", "--mode", "crash-start")))
	s.do(`{"action":"list","refresh":true}`)
	list := keys(t, s.do(`{"action":"list","format":"json","includeInputSchema":true,"limit":5}`).ok().object(), "action totalConnections connections")
	conn := keys(t, first(t, list["connections"]), "connection alias id state serverInfo toolCount tools")
	if conn["alias"] != "c1" || conn["state"] != "ready" {
		t.Errorf("got %v", conn)
	}
	keys(t, first(t, conn["tools"]), "name description inputSchema")
	found := keys(t, s.do(`{"action":"search","query":"echo","format":"json"}`).ok().object(), "action query totalMatches confident results")
	keys(t, first(t, found["results"]), "connection alias tool type description signature score matchedFields state")
	keys(t, first(t, found["unavailable"]), "connection why")
	schemas := s.do(`{"action":"search","query":"echo","format":"json","includeInputSchema":true}`).ok().object()
	keys(t, keys(t, first(t, schemas["results"]), "inputSchema")["inputSchema"], "properties")
	described := keys(t, s.do(`{"action":"describe","tool":["fixture/structured","fixture/nested"],"format":"json"}`).ok().object(), "action items")
	keys(t, first(t, described["items"]), "connection alias type name description signature inputSchema outputSchema example")
	call := keys(t, s.tool("fixture/echo", `{"message":"x"}`, `"format":"json"`).ok().object(), "action connection alias tool arguments isError byteSize estimatedTokens content")
	if fmt.Sprint(call["arguments"]) != "map[message:x]" {
		t.Errorf("arguments: got %v", call["arguments"])
	}
	spilled := keys(t, s.tool("fixture/big", `{"bytes":100000}`, `"format":"json"`).ok().object(), "handle resultFile autoSpilled byteSize")
	handle := spilled["handle"].(string)
	keys(t, s.do(`{"action":"call","tool":"fixture/mirror","argumentsFile":` + quoted(s.spilled("fixture/mirror", `{"a":1}`)) + `,"format":"json"}`).ok().object()["arguments"], "_fromFile")
	keys(t, s.read(handle, `"op":"head","format":"json"`).ok().object(), "action op resultFile byteSize totalLines lines truncated estimatedTokens content")
	status := keys(t, s.do(`{"action":"status","format":"json"}`).ok().object(), "action totalConnections totalTools catalogHash connections spill tokens")
	keys(t, status["spill"], "files bytes quotaBytes")
	costs := keys(t, status["tokens"], "definition nativeDefinitions saved")
	if told, real := number(t, costs["definition"]), int64(countTokens(t, string(definition(s)))); told != real {
		t.Errorf("status says that the definition costs %d tokens; it costs %d", told, real)
	}
	keys(t, s.do(`{"action":"help","topic":"call","format":"json"}`).ok().object(), "action topic text")
	bad := s.do(`{"action":"call","tool":"fixture/ech","arguments":{},"format":"json"}`)
	e := keys(t, keys(t, bad.object(), "error")["error"], "code message retryable sent")
	if !bad.isError || e["code"] != "unknown_tool" {
		t.Errorf("got %v", e)
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestListAndStatus(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture", "--page", "7"), fix("dead", "--mode", "crash-start"), fixWith("off", `"disabled":true`), fixWith("asleep", `"lazy":true`, "--only-echo")))
	var got answer
	eventually(t, "every server is in its state", func() bool { // one that is started again for somebody else is starting for a moment
		got = s.do(`{"action":"list","refresh":true,"limit":100}`).ok()
		return strings.Contains(got.text(), "failing")
	})
	got.wants("fixture", "ready", "dead", "failing", "disabled", "dirty", "echo")
	if strings.ContainsAny(got.text(), "\u200b\u202e\u0007\u001b") {
		t.Error("hidden characters of a description reached the agent")
	}
	status := s.do(`{"action":"status"}`).ok().text()
	if n := countTokens(t, status); n > 150 {
		t.Errorf("status costs %d tokens, want at most 150:\n%s", n, status)
	}
	s.do(`{"action":"help"}`).ok().wants("search", "call", "readresult")
	for _, topic := range []string{"call", "readresult", "batch", "$from", "path"} {
		s.do(`{"action":"help","topic":` + quoted(topic) + `}`).ok()
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	s.do(`{"action":"describe","tool":"nested"}`).ok().wants("filter", "field: string", "What to keep", `"asc"`, "login", "slug")
	s.do(`{"action":"describe","tool":"structured"}`).ok().wants("celsius", "kmh")
	s.do(`{"action":"describe","connection":"fixture"}`).ok().wants("Call echo first.", "1.2.3")
	s.do(`{"action":"describe","tool":"nested","path":"filter"}`).ok().wants("values")
	s.do(`{"action":"describe","tool":"nestd"}`).fails("unknown_tool", "nested")
}

func TestBatch(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	got := s.do(`{"action":"batch","calls":[
		{"id":"sum","tool":"add","arguments":{"a":2,"b":3}},
		{"id":"more","tool":"add","arguments":{"a":{"$from":"sum"},"b":10}},
		{"id":"bad","tool":"error","arguments":{"message":"broken pipe"}},
		{"id":"after","tool":"echo","arguments":{"message":{"$from":"bad"}}},
		{"id":"pic","tool":"image","arguments":{}}]}`).ok()
	got.wants("[sum] fixture/add ok", "5", "[more] fixture/add ok", "15", "[bad] fixture/error error", "broken pipe", "[after] fixture/echo error", "dependency_failed", "[pic] fixture/image ok")
	if !slices.ContainsFunc(got.blocks, func(b block) bool { return b.Type == "image" }) {
		t.Error("the picture is missing")
	}
	items := s.do(`{"action":"batch","format":"json","calls":[{"id":"a","tool":"echo","arguments":{"message":"x"}},{"tool":"nothing","arguments":{}}]}`).object()["items"].([]any)
	if len(items) != 2 {
		t.Fatalf("got %d items, want 2", len(items))
	}
	keys(t, items[0], "id index isError connection tool content")
	keys(t, items[1], "index isError error")
	s.do(`{"action":"batch","calls":[{"id":"a","tool":"echo","arguments":{"message":{"$from":"b"}}},{"id":"b","tool":"echo","arguments":{"message":{"$from":"a"}}}]}`).wants("a", "b")
	large := s.do(`{"action":"batch","calls":[{"id":"one","tool":"big","arguments":{"bytes":12000}},{"id":"two","tool":"big","arguments":{"bytes":12000,"kind":"log"}},{"id":"three","tool":"echo","arguments":{"message":"small"}}]}`).ok()
	large.wants("small")
	if n := len(large.raw); n > 30_000 {
		t.Errorf("the budget does not hold for the sum: %d bytes", n)
	}
	calls := strings.Repeat(`{"tool":"echo","arguments":{"message":"x"}},`, 51)
	s.do(`{"action":"batch","calls":[`+strings.TrimSuffix(calls, ",")+`]}`).fails("bad_request", "50")
}

func TestAllowAndDeny(t *testing.T) {
	t.Parallel()
	s := serve(t, config(`"tools":{"deny":["*/delete_*"]}`,
		fixWith("some", `"tools":{"allow":["e*","add"],"deny":["error"]}`), fixWith("reader", `"readOnly":true`), fix("all")))
	list := s.do(`{"action":"list","refresh":true,"limit":200,"format":"json"}`).ok().object()
	names := map[string][]string{}
	for _, c := range list["connections"].([]any) {
		conn := c.(map[string]any)
		for _, tool := range conn["tools"].([]any) {
			names[conn["connection"].(string)] = append(names[conn["connection"].(string)], tool.(map[string]any)["name"].(string))
		}
	}
	slices.Sort(names["some"])
	if want := []string{"add", "echo", "embedded", "environ", "exact", "exit_mid_call"}; !slices.Equal(names["some"], want) {
		t.Errorf("some: got %v, want %v", names["some"], want)
	}
	slices.Sort(names["reader"])
	if want := []string{"add", "big", "echo", "page_of", "records_sum"}; !slices.Equal(names["reader"], want) {
		t.Errorf("reader: got %v, want %v", names["reader"], want)
	}
	if slices.Contains(names["all"], "delete_thing") || !slices.Contains(names["all"], "put_thing") {
		t.Errorf("all: got %v", names["all"])
	}
	for _, tool := range []string{"some/error", "some/mirror", "reader/mirror", "all/delete_thing"} {
		for _, action := range []string{"call", "describe"} {
			if got := s.do(fmt.Sprintf(`{"action":%q,"tool":%q,"arguments":{"id":"1"}}`, action, tool)); !got.isError {
				t.Errorf("%s %s went through: %s", action, tool, got.text())
			}
		}
	}
	if text := s.do(`{"action":"search","query":"delete a thing for good"}`).text(); strings.Contains(text, "delete_thing(") {
		t.Errorf("search shows what is denied:\n%s", text)
	}
}

func TestListChangedReachesSearch(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	before := s.do(`{"action":"status","format":"json"}`).ok().object()["catalogHash"]
	s.tool("grow", `{}`, "").ok()
	eventually(t, "the new tool", func() bool {
		return strings.Contains(s.do(`{"action":"search","query":"grown_1"}`).text(), "fixture/grown_1")
	})
	if after := s.do(`{"action":"status","format":"json"}`).ok().object()["catalogHash"]; after == before {
		t.Error("catalogHash did not change with the catalog")
	}
}
