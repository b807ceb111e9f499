package tests

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tests/agent"
)

// direct asks the fixture without the proxy between.
func direct(t *testing.T, tool, arguments string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	h := newHome(t, "")
	cmd := h.command(t)
	self, _ := os.Executable()
	cmd.Path, cmd.Args = self, []string{self}
	cmd.Env = append(h.env, "PROXY_DISPATCH_FIXTURE=1")
	a, err := agent.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	raw, err := a.Call(ctx, tool, arguments, "")
	if err != nil {
		t.Fatalf("direct call of %s: %v", tool, err)
	}
	return parseAnswer(t, raw)
}

func TestInlineIsUnchanged(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	cases := []struct{ name, tool, arguments string }{
		{"text", "echo", `{"message":"a < b & c > d – ü \u2028"}`},
		{"image", "image", `{}`},
		{"audio", "audio", `{}`},
		{"resource link", "link", `{}`},
		{"embedded resources", "embedded", `{}`},
		{"unknown kind and fields", "unknown", `{}`},
		{"one of each", "mixed", `{}`},
		{"two texts", "two_texts", `{}`},
		{"exact numbers", "exact", `{}`},
		{"structured", "structured", `{"city":"Bern"}`},
		{"error of the tool", "error", `{"message":"no such file"}`},
		{"text with bidi characters", "dirty", `{}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := direct(t, c.tool, c.arguments)
			got := s.tool(c.tool, c.arguments, "")
			for key, value := range want.fields {
				if key != "_meta" && string(got.fields[key]) != string(value) {
					t.Errorf("%s: got %s, want %s", key, got.fields[key], value)
				}
			}
			for key := range got.fields {
				if _, ok := want.fields[key]; !ok && key != "_meta" {
					t.Errorf("%s was added: %s", key, got.fields[key])
				}
			}
			var theirs, ours map[string]json.RawMessage
			_ = json.Unmarshal(want.fields["_meta"], &theirs)
			_ = json.Unmarshal(got.fields["_meta"], &ours)
			for key, value := range theirs {
				if string(ours[key]) != string(value) {
					t.Errorf("_meta.%s: got %s, want %s", key, ours[key], value)
				}
			}
			var about struct {
				Connection, Tool          string
				ByteSize, EstimatedTokens int
			}
			if err := json.Unmarshal(ours["proxy-dispatch"], &about); err != nil || about.Connection != "fixture" || about.Tool != c.tool {
				t.Errorf("_meta of ours: got %s (%v)", ours["proxy-dispatch"], err)
			}
		})
	}
}

func TestArgumentsArriveExact(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	cases := map[string]string{
		"large integer":           `{"n":9007199254740993}`,
		"number spelling":         `{"a":1.10,"b":1E+2,"c":-0.0}`,
		"key order":               `{"z":1,"a":2,"m":{"y":1,"b":2}}`,
		"unicode and escapes":     `{"s":"ü\u00fc\n\"</script>"}`,
		"looks like a reference":  `{"$from":"r7kq","other":1}`,
		"deep":                    `{"a":[[[[{"b":null}]]]]}`,
		"a literal reference":     `{"v":{"$literal":{"$from":"x"}}}`,
		"a literal of other kind": `{"v":{"$literal":5}}`,
	}
	for name, arguments := range cases {
		t.Run(name, func(t *testing.T) {
			want := arguments
			if name == "a literal reference" {
				want = `{"v":{"$from":"x"}}`
			}
			if got := s.tool("mirror", arguments, "").ok().text(); got != want {
				t.Errorf("the server got %s, want %s", got, want)
			}
		})
	}
}

func TestToolNames(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("one"), fix("two", "--only-echo")))
	for _, name := range []string{"one/add", "c1/add", "default/add", "primary/add", "one__add", "one::add", "one.add", "add"} {
		if got := s.tool(name, `{"a":1,"b":2}`, "").ok().text(); got != "3" {
			t.Errorf("%s: got %q, want 3", name, got)
		}
	}
	s.do(`{"action":"call","tool":"add","connection":"c1","arguments":{"a":1,"b":2}}`).ok().wants("3")
	s.do(`{"action":"list","refresh":true}`).ok() // until both are known, the name may belong to one alone
	s.tool("echo", `{"message":"x"}`, "").fails("ambiguous_tool", "one", "two", "Not sent: safe to repeat.")
	s.tool("one/ad", `{}`, "").fails("unknown_tool", "add", "Not sent: safe to repeat.")
	s.tool("three/echo", `{}`, "").fails("unknown_tool", "Not sent: safe to repeat.")
}

func TestRepairs(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	cases := []struct{ name, request, arrived string }{
		{"top-level key of the tool", `{"action":"call","tool":"set_mode","mode":"fast"}`, `{"mode":"fast"}`},
		{"arguments as a string", `{"action":"call","tool":"set_mode","arguments":"{\"mode\":\"fast\"}"}`, `{"mode":"fast"}`},
		{"number as a string", `{"action":"call","tool":"set_mode","arguments":{"mode":"fast","level":"5"}}`, `{"mode":"fast","level":5}`},
		{"scalar for a list", `{"action":"call","tool":"set_mode","arguments":{"mode":"fast","tags":"a"}}`, `{"mode":"fast","tags":["a"]}`},
		{"list as a string", `{"action":"call","tool":"set_mode","arguments":{"mode":"fast","tags":"[\"a\"]"}}`, `{"mode":"fast","tags":["a"]}`},
		{"null for an absent one", `{"action":"call","tool":"set_mode","arguments":{"mode":"fast","level":null}}`, `{"mode":"fast"}`},
		{"other names", `{"action":"invoke","tool_name":"set_mode","input":{"mode":"fast"}}`, `{"mode":"fast"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := s.do(c.request).ok()
			if got.text() != c.arrived {
				t.Errorf("the server got %s, want %s", got.text(), c.arrived)
			}
			if !strings.Contains(string(got.fields["_meta"]), "repairs") {
				t.Errorf("no repairs in _meta: %s", got.fields["_meta"])
			}
		})
	}
}

// TestPages has a read-only call repeated page by page, and computes with what it gave.
func TestPages(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	s.do(`{"action":"call","tool":"page_of","arguments":{},"pages":{"send":"cursor","next":".next","items":".items"}}`).ok().wants("[0,1,2,", ",33,34]")
	s.do(`{"action":"call","tool":"big","arguments":{"bytes":50000},"jq":"map(select(.id <= 3).amount)"}`).ok().wants("0.10", "0.30")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	const unsent = "Not sent: safe to repeat."
	cases := []struct {
		name, request, code string
		words               []string
	}{
		{"wrong enum value", `{"action":"call","tool":"set_mode","arguments":{"mode":"quick"}}`, "invalid_arguments", []string{"mode", "fast", "careful", unsent}},
		{"missing argument", `{"action":"call","tool":"echo","arguments":{}}`, "invalid_arguments", []string{"message", unsent}},
		{"misspelt argument", `{"action":"call","tool":"set_mode","arguments":{"mode":"fast","lvel":3}}`, "invalid_arguments", []string{"lvel", "level", unsent}},
		{"out of range", `{"action":"call","tool":"set_mode","arguments":{"mode":"fast","level":12}}`, "invalid_arguments", []string{"level", unsent}},
		{"nested", `{"action":"call","tool":"nested","arguments":{"filter":{"field":1}}}`, "invalid_arguments", []string{"filter", "field", unsent}},
		{"duplicate keys", `{"action":"call","tool":"echo","arguments":{"message":"a","message":"b"}}`, "invalid_arguments", []string{"message", unsent}},
		{"no action", `{"tool":"echo"}`, "bad_request", []string{"action"}},
		{"unknown action", `{"action":"destroy"}`, "bad_request", []string{"search", "call"}},
		{"no tool", `{"action":"call"}`, "bad_request", []string{"tool"}},
		{"unknown handle", `{"action":"readresult","resultFile":"r1zz"}`, "not_found", nil},
		{"unknown handle in arguments", `{"action":"call","tool":"echo","arguments":{"message":{"$from":"r1zz"}}}`, "not_found", []string{unsent}},
		{"foreign file", `{"action":"readresult","resultFile":"/etc/hostname","op":"read"}`, "", nil},
		{"foreign argumentsFile", `{"action":"call","tool":"echo","argumentsFile":"/etc/hostname"}`, "", []string{unsent}},
		{"run is off", `{"action":"run","code":"return 1"}`, "bad_request", []string{"switched off", "script.enabled"}},
		{"bad jq", `{"action":"call","tool":"image","jq":".["}`, "bad_request", []string{"jq", unsent}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := s.do(c.request)
			if c.code == "" {
				if code, _, _ := strings.Cut(got.text(), ":"); !got.isError || code != "denied" && code != "not_found" {
					t.Errorf("got %s, want denied or not_found", clip(string(got.raw), 500))
				}
				got.wants(c.words...)
				return
			}
			got.fails(c.code, c.words...)
		})
	}
}

func TestErrorsOfServers(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture"), fix("dead", "--mode", "crash-start"), fixWith("unset", `"cwd":"${NOT_SET_ANYWHERE}"`), fixWith("off", `"disabled":true`)))
	s.tool("rpc_error", `{}`, "").wants("quota used up")
	s.tool("dead/echo", `{"message":"x"}`, "").fails("server_unavailable", "dead", "Not sent: safe to repeat.")
	s.tool("unset/echo", `{"message":"x"}`, "").fails("server_unavailable", "NOT_SET_ANYWHERE", "Not sent: safe to repeat.")
	s.tool("off/echo", `{"message":"x"}`, "").fails("server_unavailable", "Not sent: safe to repeat.")
	s.tool("hang", `{}`, `"timeoutMs":200`).fails("timeout", "Sent, outcome unknown: check before repeating.")
	s.tool("crash", `{}`, "").fails("server_unavailable", "Sent, outcome unknown: check before repeating.")
	s.tool("echo", `{"message":"back again"}`, `"connection":"fixture"`).ok().wants("back again")
	s.tool("exit_mid_call", `{}`, "").fails("server_unavailable", "Sent, outcome unknown: check before repeating.")
	if got := s.tool("fixture/echo", `{"message":"again"}`, "").ok(); got.text() != "again" {
		t.Errorf("after a crash: got %q", got.text())
	}
}

func TestDryRunAndMeta(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	s.tool("count", `{"key":"k"}`, `"dryRun":true`).ok().wants(`"key"`)
	if got := s.tool("count", `{"key":"k"}`, "").ok().text(); got != "1" {
		t.Errorf("a dry run reached the server: count says %s", got)
	}
	got := s.tool("mirror", `{"a":1}`, `"meta":{"tenant":9007199254740993}`).ok()
	if !strings.Contains(string(got.fields["_meta"]), `"tenant":9007199254740993`) {
		t.Errorf("meta did not arrive: %s", got.fields["_meta"])
	}
}

func TestProgressAndCancellation(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "received")
	s := serve(t, config("", fix("fixture", "--record", record)))
	got := s.doWith(`{"action":"call","tool":"slow","arguments":{"steps":4,"ms":5}}`, `"_meta":{"progressToken":"mine-9007199254740993"}`).ok()
	got.wants("4 steps done")
	seen := 0
	for _, n := range s.Notes() {
		if n.Method == "notifications/progress" && strings.Contains(string(n.Params), `"mine-9007199254740993"`) {
			seen++
		}
	}
	if seen != 4 {
		t.Errorf("got %d progress notifications before the result, want 4: %v", seen, s.Notes())
	}
	ctx, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := s.Call(ctx, "proxy-dispatch", `{"action":"call","tool":"hang","arguments":{}}`, ""); err == nil {
		t.Fatal("hang answered")
	}
	eventually(t, "the cancellation at the server", func() bool {
		b, _ := os.ReadFile(record)
		return strings.Contains(string(b), "\ncancelled ")
	})
	if b, _ := os.ReadFile(record); strings.Contains(string(b), "mine-9007199254740993") {
		t.Error("the agent's progress token reached the server")
	}
}

func TestIdsOfTheAgent(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	for _, id := range []string{`9007199254740993`, `"a \" quote"`, `"7"`, `0`} {
		r, err := s.RequestID(s.ctx, id, "tools/call", `{"name":"proxy-dispatch","arguments":{"action":"call","tool":"echo","arguments":{"message":"x"}}}`)
		if err != nil || r.Result == nil {
			t.Errorf("id %s: got %s %s, %v", id, r.Result, r.Error, err)
		}
	}
	if _, err := s.Request(s.ctx, "tools/call", `{"name":"echo","arguments":{}}`); err == nil || !strings.Contains(err.Error(), "-32602") {
		t.Errorf("unknown tool of ours: got %v, want code -32602", err)
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	for uri, want := range map[string]string{"fixture://notes/1": `"text":"first note"`, "fixture://notes/77": `"text":"note 77"`, "fixture://blob": `"blob":"AAEC/w=="`} {
		if got := s.do(`{"action":"call","type":"resource","tool":"` + uri + `"}`).ok(); !strings.Contains(string(got.raw), want) {
			t.Errorf("%s: got %s, want %s", uri, got.raw, want)
		}
	}
	s.do(`{"action":"call","type":"resource","tool":"fixture://log"}`).ok().wants("lines", `"op":"grep"`)
	s.do(`{"action":"call","type":"prompt","tool":"greet","arguments":{"who":"Ada"}}`).ok().wants("Greet Ada.")
	s.do(`{"action":"call","type":"prompt","tool":"greet","arguments":{}}`).fails("invalid_arguments", "who")
	s.do(`{"action":"list","type":"resource"}`).ok().wants("fixture://notes/1", "fixture://notes/{id}")
	s.do(`{"action":"list","type":"prompt"}`).ok().wants("greet", "summary")
	s.do(`{"action":"search","type":"prompt","query":"greeting"}`).ok().wants("greet")
	s.do(`{"action":"describe","type":"prompt","tool":"greet"}`).ok().wants("who", "style")
	s.do(`{"action":"call","type":"resource","tool":"fixture://nothing","connection":"fixture"}`).wants("not found")
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fixture")))
	type got struct{ want, text string }
	answers := make(chan got, 64)
	for i := range 64 {
		go func() {
			message := "call " + strconv.Itoa(i)
			raw, err := s.Call(s.ctx, "proxy-dispatch", `{"action":"call","tool":"echo","arguments":{"message":"`+message+`"}}`, "")
			if err != nil {
				answers <- got{message, err.Error()}
				return
			}
			answers <- got{message, string(raw)}
		}()
	}
	for range 64 {
		if g := <-answers; !strings.Contains(g.text, `"text":"`+g.want+`"`) {
			t.Errorf("got %s, want %q", clip(g.text, 300), g.want)
		}
	}
}
