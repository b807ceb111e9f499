package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	large := "20000"
	if raceOn {
		large = "1000" // the engine is many times slower then, and has the same time
	}
	for _, tt := range []struct{ name, code, want string }{
		{"value", "return (await tools.fix.echo({message: 'hi'})).length > 0", "true"},
		{"a name that is no identifier", "return (await tools['my-orders'].query_rows({rows: 3})).length", "3"},
		{"at once", "return (await Promise.all([1, 2, 3, 4].map((n) => tools['my-orders'].query_rows({rows: n})))).map((r) => r.length)", "[1,2,3,4]"},
		{"structured content", "return (await tools['my-orders'].aggregate_rows({rows: [{a: 1}, {a: 2}], sum: 'a'})).sum ?? 'none'", ""},
		{"large between calls", "const rows = await tools['my-orders'].query_rows({rows: " + large + "}); return (await tools['my-orders'].aggregate_rows({rows})).count ?? rows.length", large},
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

const ordersModule = `
import { best } from "./lib/best.js";
let calls = 0;
export const top = {
	name: "top_customers",
	description: "The customers who bought most in a country.",
	inputSchema: { type: "object", properties: { country: { type: "string" } }, required: ["country"] },
	async run({ country }, ctx) {
		const rows = await ctx.tools.orders.query_rows({ rows: 500, filter: { country } });
		ctx.log("rows", rows.length);
		ctx.progress(1, 2, "summing");
		return { calls: ++calls, top: best(rows, 3), seen: (await ctx.search("rows")).length > 0 };
	},
};
export const description = "Fails, always.";
export async function failing(args, ctx) { return await ctx.call("orders/query_rows", { rows: "many", ...args }) }
`

// TestCustomTool calls a tool that a module defines, like any other.
func TestCustomTool(t *testing.T) {
	t.Parallel()
	h := newHome(t, config(`"views": {"shop": {"exposure": "dispatch", "tools": {"orders": {"describe_table": {}}},
		"custom_tools": [{"module": "tools/orders.js#top"}, {"module": "tools.orders.failing"}]}}`, server{"orders", `{"builtin":"dataset"}`}))
	for name, text := range map[string]string{"tools/orders.js": ordersModule, "tools/lib/best.js": `export const best = (rows, n) => rows.sort((a, b) => b.amount - a.amount).slice(0, n).map((o) => o.customer);`} {
		file := filepath.Join(h.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := h.serve(t, "--expose", "view:shop")
	if got := s.do(`{"action":"search","query":"customers who bought most"}`).ok().text(); !strings.Contains(got, "top_customers(country: string)") {
		t.Errorf("search: got %s", got)
	}
	for range 2 { // each call begins anew
		if got := s.tool("top_customers", `{"country":"DE"}`, "").ok().text(); !strings.Contains(got, `"calls":1`) || !strings.Contains(got, `"seen":true`) {
			t.Errorf("call: got %s", got)
		}
	}
	if got := s.tool("top_customers", `{}`, "").text(); !strings.Contains(got, "invalid_arguments") {
		t.Errorf("without arguments: got %s", got)
	}
	if got := s.tool("failing", `{}`, "").text(); !strings.Contains(got, "invalid_arguments") || !strings.Contains(got, "Ran and failed.") {
		t.Errorf("a tool that fails: got %s", got)
	}
	if got := s.tool("orders/query_rows", `{"rows":1}`, "").text(); !strings.Contains(got, "unknown_tool") {
		t.Errorf("what the view does not show: got %s", got)
	}
}
