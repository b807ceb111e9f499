package script

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

type echo struct{ Closed }

func (echo) Call(_ context.Context, tool string, args json.RawMessage) (json.RawMessage, error) {
	if tool == "fail" {
		return nil, &Thrown{Message: "no luck", Data: json.RawMessage(`{"code":"denied"}`)}
	}
	return json.RawMessage(`{"tool":` + string(must(tool)) + `,"args":` + string(args) + `}`), nil
}

func must(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// outcomeOf is the value of a run, or its error.
func outcomeOf(v json.RawMessage, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return string(v)
}

func TestRun(t *testing.T) {
	r := New(Limits{Timeout: 10 * time.Second, Calls: 20})
	defer r.Close()
	for _, tt := range []struct{ name, code, want string }{
		{"value", "return 1 + 1", "2"},
		{"nothing", "", ""},
		{"call", "return await call('a/b', {y: [1, 2.5, 'ü']})", `{"tool":"a/b","args":{"y":[1,2.5,"ü"]}}`},
		{"large integers", "const v = await call('a', {x: 12345678901234567890n}); return [v.args.x, typeof v.args.x, v.args.x + 1n]",
			`[12345678901234567890,"bigint",12345678901234567891]`},
		{"integers a double holds", "return typeof (await call('a', {x: 9007199254740991})).args.x", `"number"`},
		{"tools", "return await tools.a['b-c']({n: 1})", `{"tool":"a/b-c","args":{"n":1}}`},
		{"tool alone", "return (await tools.echo()).tool", `"echo"`},
		{"tools are no promises", "await tools; await tools.echo; return 1", "1"},
		{"at once", "return (await Promise.all([1, 2, 3].map((i) => tools.a.b({i})))).map((x) => x.args.i)", "[1,2,3]"},
		{"rejected", "try { await call('fail') } catch (e) { return [e.name, e.message, e.code, e instanceof Error] }",
			`["ToolError","no luck","denied",true]`},
		{"not caught", "await call('fail')", "error: ToolError: no luck"},
		{"thrown", "\n\nthrow new TypeError('x')", "error: TypeError: x (line 3)"},
		{"thrown text", "throw 'x'", "error: x"},
		{"syntax", "\nlet x = ;", "error: SyntaxError: unexpected token in expression: ';' (line 2)"},
		{"unknown name", "\nfoo()", "error: ReferenceError: 'foo' is not defined (line 2)"},
		{"too many calls", "let n = 0; try { for (;; n++) await call('a') } catch (e) { return [n, e.message] }", `[20,"more than 20 calls in one run"]`},
		{"never settled", "await new Promise(() => {})", "error: " + ErrIdle.Error()},
		{"circular", "const o = {}; o.o = o; return o", "error: TypeError: circular reference"},
		{"forms", "return [new Map([['a', 1]]), new Set([1]), 10n ** 20n, NaN, new Date(0), undefined, new Error('x')]",
			`[{"a":1},[1],100000000000000000000,null,"1970-01-01T00:00:00.000Z",null,{"name":"Error","message":"x"}]`},
		{"lists", "return [[1, 2, [3, [4]]].flat(9), [[1, [2]]].flat(), [3, 10, 2].sort(), [1, 2].flatMap((x) => [x, x]), [1].concat(2, [3])]",
			"[[1,2,3,4],[1,[2]],[10,2,3],[1,1,2,2],[1,2,3]]"},
		{"array-likes", "return [[].map.call('ab', (c) => c + c), (function () { return [].slice.call(arguments, 1) })(1, 2, 3)]", `[["aa","bb"],[2,3]]`},
		{"found", "const long = 'x'.repeat(100); return [[1, 2].indexOf(2), ['a', long].indexOf(long), [long].includes(long), [long, 1].lastIndexOf(long), [1, 2, 1].lastIndexOf(1)]",
			"[1,1,true,0,2]"},
		{"texts", "return ['a,b'.split(','), 'aXbX'.replaceAll('X', '-'), 'ab'.replace(/b/, 'c'), 'abc'.includes('b'), 'abcb'.lastIndexOf('b'), 'ab'.split(''), 'abc'.split(/b/), 'a'.split()]",
			`[["a","b"],"a-b-","ac",true,3,["a","b"],["a","c"],["a"]]`},
		{"raw", "return String.raw`a\\n${1}b`", `"a\\n1b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := outcomeOf(r.Run(t.Context(), tt.code, echo{})); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func BenchmarkRun(b *testing.B) {
	r := New(Limits{})
	defer r.Close()
	for b.Loop() {
		if _, err := r.Run(b.Context(), "return 1", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMachine(b *testing.B) {
	s := newShop(Limits{}.withDefaults(), nil)
	for b.Loop() {
		m, err := s.make()
		if err != nil {
			b.Fatal(err)
		}
		m.close()
	}
}

func BenchmarkFifty(b *testing.B) {
	r := New(Limits{})
	defer r.Close()
	for b.Loop() {
		if _, err := r.Run(b.Context(), "await Promise.all(Array.from({length: 50}, (_, i) => tools.echo.echo({message: String(i)})))", echo{}); err != nil {
			b.Fatal(err)
		}
	}
}
