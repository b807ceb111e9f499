package tests

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const scripting = `"script": {"enabled": true, "timeout": "4s"}`

// run sends code and returns the answer.
func (s *session) run(code string) answer {
	s.t.Helper()
	text, _ := json.Marshal(code)
	return s.do(fmt.Sprintf(`{"action":"run","code":%s}`, text))
}

func TestDefinitionWithCode(t *testing.T) {
	t.Parallel()
	s := serve(t, config(scripting, manyServers(30)...))
	raw := definition(s)
	if n := countTokens(t, string(raw)); n > 500 {
		t.Errorf("the definition costs %d tokens, want at most 500", n)
	}
	var d struct{ InputSchema json.RawMessage }
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	plainSchema(t, d.InputSchema)
	for _, want := range []string{`"run"`, `"code":{"type":"string"}`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
	if without := definition(serve(t, config("", fix("a")))); strings.Contains(string(without), `"code"`) {
		t.Errorf("code in a definition where it is off: %s", without)
	}
}

// TestCode runs code in front of a real server.
func TestCode(t *testing.T) {
	t.Parallel()
	s := serve(t, config(scripting, fix("fix"), server{"my-orders", `{"builtin":"dataset"}`}))
	for _, tt := range []struct{ name, code, want string }{
		{"value", "return (await tools.fix.echo({message: 'hi'})).length > 0", "true"},
		{"a name that is no identifier", "return (await tools['my-orders'].query_rows({rows: 3})).length", "3"},
		{"at once", "return (await Promise.all([1, 2, 3, 4].map((n) => tools['my-orders'].query_rows({rows: n})))).map((r) => r.length)", "[1,2,3,4]"},
		{"structured content", "return (await tools['my-orders'].aggregate_rows({rows: [{a: 1}, {a: 2}], sum: 'a'})).sum ?? 'none'", ""},
		{"large between calls", "const rows = await tools['my-orders'].query_rows({rows: 20000}); return (await tools['my-orders'].aggregate_rows({rows})).count ?? rows.length", "20000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.run(tt.code).ok().text(); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s, want %s", clip(got, 500), tt.want)
			}
		})
	}
	if got := s.run("await tools.fix.echo({message: 'a'}); for (;;);").text(); !strings.Contains(got, "timeout:") || !strings.Contains(got, "called fix/echo") {
		t.Errorf("a loop: got %s", clip(got, 500))
	}
	s.tool("fix/echo", `{"message":"still here"}`, "").ok()
}

// TestCodeIsOff holds that nothing runs unless it is switched on.
func TestCodeIsOff(t *testing.T) {
	t.Parallel()
	s := serve(t, config("", fix("fix")))
	if got := s.run("return 1").text(); !strings.Contains(got, "switched off") {
		t.Errorf("got %s", got)
	}
}
