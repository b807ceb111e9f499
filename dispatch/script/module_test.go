package script

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folder writes files, `NAME: TEXT` pairs, and returns where they are.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const hooks = `
import { twice } from "./lib/numbers.js";
let calls = 0;
export function pre_call(context, args, ctx) { calls++; return { args: { ...args, n: twice(args.n), calls, view: context.view } } }
export async function fetched(args, ctx) { ctx.log("asking", args); return await ctx.call("a/b", args) }
export const poison = () => { Object.prototype.bad = 1; Array.prototype.map = null; globalThis.kept = 1; return {}.bad };
export const tool = {
	name: "lookup", description: "Looks up.", inputSchema: { type: "object" },
	factor: 3,
	run(args) { return args.n * this.factor },
};
export const description = "Of the module.";
export default (args) => args;
`

func TestModule(t *testing.T) {
	dir := folder(t, "hooks.js", hooks, "lib/numbers.js", `export const twice = (n) => 2 * n;`)
	m, err := Load(filepath.Join(dir, "hooks.js"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := os.RemoveAll(filepath.Join(dir, "lib")); err != nil { // it was read once
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, export string
		args         []string
		want         string
	}{
		{"hook", "pre_call", []string{`{"view":"v"}`, `{"n":2}`}, `{"args":{"n":4,"calls":1,"view":"v"}}`},
		{"globals begin anew", "pre_call", []string{`{}`, `{"n":9007199254740993}`}, `error: TypeError`},
		{"poison", "poison", nil, `1`},
		{"after poison", "pre_call", []string{`{"view":"v"}`, `{"n":2}`}, `{"args":{"n":4,"calls":1,"view":"v"}}`},
		{"host", "fetched", []string{`{"x":12345678901234567890}`}, `{"tool":"a/b","args":{"x":12345678901234567890}}`},
		{"member of an object", "tool", []string{`{"n":2}`}, `6`},
		{"default", "default", []string{`null`}, `null`},
		{"absent", "nothing", nil, `error: TypeError: there is no exported function nothing`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var args []json.RawMessage
			for _, a := range tt.args {
				args = append(args, json.RawMessage(a))
			}
			v, err := m.Call(t.Context(), tt.export, echo{}, args...)
			got := string(v)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != tt.want && !(strings.HasPrefix(tt.want, "error") && strings.HasPrefix(got, tt.want)) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// of is the host of a scope.
type of struct {
	Closed
	scope string
}

func (h of) Scope() string { return h.scope }

func TestScopes(t *testing.T) {
	m, err := Load(filepath.Join(folder(t, "m.js", `let seen = 0; export const count = () => ++seen;
		export const spoil = () => { seen = 10; throw new Error("no") };
		export const fill = () => { const all = []; for (;;) all.push({}) }`), "m.js"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, tt := range []struct{ name, scope, export, want string }{
		{"first of a", "a", "count", "1"},
		{"again a", "a", "count", "2"},
		{"first of b", "b", "count", "1"},
		{"no scope", "", "count", "1"},
		{"no scope again", "", "count", "1"},
		{"a throws", "a", "spoil", "Error: no"},
		{"a goes on", "a", "count", "11"},
		{"b again", "b", "count", "2"},
		{"a fills its memory", "a", "fill", ErrMemory.Error()},
		{"a begins anew", "a", "count", "1"},
	} {
		v, err := m.Call(t.Context(), tt.export, of{scope: tt.scope})
		got := string(v)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	m, err := Load(filepath.Join(folder(t, "hooks.js", hooks, "lib/numbers.js", `export const twice = (n) => 2 * n;`), "hooks.js"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got, err := m.Describe("tool")
	want := Export{Kind: "object", Callable: true, Name: "lookup", Description: "Looks up.", InputSchema: json.RawMessage(`{"type":"object"}`)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Describe(tool): %v\n%s", err, diff)
	}
	got, err = m.Describe("default")
	want = Export{Kind: "function", Callable: true, Description: "Of the module."}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Describe(default): %v\n%s", err, diff)
	}
	if _, err := m.Describe("nothing"); !errors.Is(err, ErrNoExport) {
		t.Errorf("Describe(nothing): got %v, want ErrNoExport", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"syntax", "export function a( {", "SyntaxError"},
		{"throws", "throw new Error('no')", "Error: no"},
		{"loops", "for(;;);", ErrTimeout.Error()},
		{"waits", "await new Promise(() => {})", "waits"},
		{"imports nothing there", `import "./none.js"`, "none.js"},
		{"imports above", `import "../above.js"`, "above.js"},
		{"imports a package", `import "fs"`, "a module imports files beside it"},
		{"imports a path", `import "/etc/passwd"`, "a module imports files beside it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, "above.js", "export const a = 1", "in/m.js", tt.text)
			m, err := Load(filepath.Join(dir, "in", "m.js"))
			if err == nil {
				m.Close()
				t.Fatal("loaded")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s in it", err, tt.want)
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.js")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct{ ref, file, export string }{
		{"hooks/a.js#pre_call", "hooks/a.js", "pre_call"},
		{"a.js", "a.js", "default"},
		{"hooks.redis_expert.pre_call", "hooks/redis_expert.js", "pre_call"},
		{"a.b", "a.js", "b"},
		{"a", "", ""}, {"", "", ""}, {"a..b", "", ""}, {"../x.y", "", ""}, {"#x", "", ""}, {"a.js#", "", ""},
	} {
		file, export, err := Split(tt.ref)
		if file != tt.file || export != tt.export || (err != nil) != (tt.file == "") {
			t.Errorf("Split(%q) = %q, %q, %v; want %q, %q", tt.ref, file, export, err, tt.file, tt.export)
		}
	}
}

func BenchmarkModule(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "m.js"), []byte(`export function pre_call(c, args) { args.x = 1; return { args } }`), 0o600); err != nil {
		b.Fatal(err)
	}
	m, err := Load(filepath.Join(dir, "m.js"))
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	for b.Loop() {
		if _, err := m.Call(b.Context(), "pre_call", of{scope: "me"}, json.RawMessage(`{"view":"v"}`), json.RawMessage(`{"text":"hello"}`)); err != nil {
			b.Fatal(err)
		}
	}
}
