package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostile are scripts that try to run for ever, to take what they can, or to get out. want is what the outcome holds:
// "stopped" is any of the limits, "refused" any error at all, "" anything as long as it comes in time; all else is text.
var hostile = []struct{ name, code, want string }{
	// without end
	{"loop", "for (;;);", "ran longer"},
	{"loop that catches", "for (;;) try { for (;;); } catch {}", "ran longer"},
	{"loop in finally", "try { for (;;); } finally { for (;;); }", "ran longer"},
	{"loop in a getter of the value", "return { get a() { for (;;); } }", "ran longer"},
	{"loop in toJSON of the value", "return { toJSON() { for (;;); } }", "ran longer"},
	{"loop in toString of a name", "await call({ toString() { for (;;); } })", "ran longer"},
	{"loop in what the console shows", "console.log({ toJSON() { for (;;); } })", "ran longer"},
	{"loop in the message of an error", "throw { get message() { for (;;); } }", "ran longer"},
	{"loop in then of the value", "return { then() { for (;;); } }", "ran longer"},
	{"loop in a generator", "for (const x of (function* () { for (;;) yield 1 })()); ", "ran longer"},
	{"loop of awaits", "for (;;) await 1", "ran longer"},
	{"loop of promises", "const f = () => Promise.resolve().then(f); await f()", "ran longer"},
	{"loop of thenables", "const t = { then(f) { f(t) } }; await t", "ran longer"},
	{"loop of jobs that fork", "const f = () => { Promise.resolve().then(f); Promise.resolve().then(f) }; f(); await new Promise(() => {})", "stopped"},
	{"loop of calls", "for (;;) await call('a')", "more than 50 calls"},
	{"loop of calls that catches", "for (;;) try { await call('a') } catch {}", "ran longer"},
	{"loop of calls nobody awaits", "for (;;) call('a').catch(() => {})", "stopped"},
	{"loop of logs", "for (;;) console.log('x')", "ran longer"},
	{"loop in a comparison", "[3, 2, 1].sort(() => { for (;;); })", "ran longer"},
	{"loop in a replacement", "'a'.replace(/a/, () => { for (;;); })", "ran longer"},
	{"loop in a reviver", "JSON.parse('[1]', () => { for (;;); })", "ran longer"},
	{"loop of long natives", "const s = 'x'.repeat(4e6); for (;;) s.indexOf('z')", "ran longer"},
	{"loop of long parses", "const s = JSON.stringify(new Array(1e5).fill(1)); for (;;) JSON.parse(s)", "ran longer"},
	{"promise never settled", "await new Promise(() => {})", "nothing will settle"},
	{"promise that waits for itself", "let r; const p = new Promise((f) => { r = f }); r(p.then(() => p)); await p", "refused"},
	{"forEach over a hole", "const a = []; a.length = 2 ** 32 - 1; a.forEach(() => {})", "too many"},
	{"map over a hole", "const a = []; a.length = 2 ** 32 - 1; a.map((x) => x)", "too many"},
	{"includes in a hole", "const a = []; a.length = 2 ** 32 - 1; a.includes(1)", "too many"},
	{"join of a hole", "const a = []; a.length = 2 ** 32 - 1; String(a)", "too many"},
	{"sort of a hole", "const a = []; a[2 ** 32 - 2] = 1; a.sort()", "too many"},
	{"flat of a hole", "const a = []; a.length = 2 ** 32 - 1; [a].flat()", "too many"},
	{"concat of a hole", "const a = []; a.length = 2 ** 32 - 1; [].concat(a)", "too many"},
	{"concat of what says it spreads", "return [].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true }).length", "1"},
	{"indexOf in what says it is long", "[].indexOf.call({ length: 2 ** 53 - 1 }, 1)", "too many"},
	{"a length that grows", "let n = 0; [].indexOf.call({ get length() { return n++ ? 2 ** 53 - 1 : 1 } }, 1)", ""},
	{"reverse of what is no array", "[].reverse.call({ length: 2 ** 53 - 1 })", "not an array"},
	{"raw of what says it is long", "String.raw({ raw: { length: 2 ** 53 - 1 } })", "too many"},
	{"drop from what says it is long", "[].values.call({ length: 2 ** 53 - 1 }).drop(1e12).next()", "too many"},
	{"drop by what changes", "let n = 0; [].values.call({ length: 2 ** 53 - 1 }).drop({ valueOf() { return n++ ? 1e12 : 1 } }).next(); return 1", "1"},
	{"stringify by a hole", "const a = []; a.length = 2 ** 32 - 1; JSON.stringify({}, a)", "too many"},
	{"set of a hole", "const a = []; a.length = 2 ** 32 - 1; new Set(a)", "stopped"},
	{"text in a text", "'a'.repeat(5e6).indexOf('a'.repeat(2e6) + 'b')", "ran longer"},
	{"last text in a text", "'a'.repeat(5e6).lastIndexOf('b' + 'a'.repeat(2e6))", "too long"},
	{"split by a text", "'a'.repeat(5e6).split('a'.repeat(2e6) + 'b')", "too long"},
	{"replace a text that changes", "let n = 0; 'a'.repeat(5e6).replaceAll({ toString() { return n++ ? 'a' : 'a'.repeat(2e6) + 'b' } }, '')", "too long"},
	{"equal texts in a list", "const s = 'x'.repeat(1e6) + 'a', t = 'x'.repeat(1e6) + 'a'; for (;;) new Array(1e5).fill(s).indexOf(t + 'b')", "stopped"},
	{"sort of equal texts", "const s = 'x'.repeat(1e6) + 'a', t = 'x'.repeat(1e6) + 'a'; const a = []; for (let i = 0; i < 1e5; i++) a[i] = i % 2 ? s : t; a.sort()", "stopped"},
	{"native iterator without end", "new Set({ [Symbol.iterator]: () => ({ next: Object.bind(null, { done: false, value: 1 }) }) })", "ran longer"},
	{"regular expression that backtracks", "/^(a+)+$/.test('a'.repeat(40) + 'b')", "ran longer"},
	{"regular expression that backtracks in replace", "('x'.repeat(40)).replace(/(x+x+)+y/g, '')", "ran longer"},
	{"large integers", "let x = 7n ** 20000n; for (;;) x = x * x % (7n ** 20001n)", "stopped"},

	// all there is
	{"objects without end", "const a = []; for (;;) a.push({})", "more memory"},
	{"objects that catch", "const a = []; for (;;) try { a.push({}) } catch {}", "stopped"},
	{"closures without end", "let f = () => 1; for (;;) { const g = f; f = () => g() }", "stopped"},
	{"text that doubles", "let s = 'x'; for (;;) s += s", "refused"},
	{"repeat", "return 'x'.repeat(2 ** 30)", "refused"},
	{"pad", "return 'x'.padEnd(2 ** 29)", "refused"},
	{"large array", "return new Array(1e8).fill(0)", "refused"},
	{"large buffer", "return new ArrayBuffer(1e9)", "more memory"},
	{"large map", "const m = new Map(); for (let i = 0; ; i++) m.set(i, i)", "stopped"},
	{"recursion", "const f = () => f(); f()", "stack overflow"},
	{"recursion of async functions", "const f = async () => { await f() }; await f()", "refused"},
	{"recursion through a getter", "const o = { get a() { return this.a } }; o.a", "stack overflow"},
	{"recursion through toJSON", "const o = { toJSON() { return JSON.stringify(o) } }; return o", "stack overflow"},
	{"deep value", "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a", "refused"},
	{"deep JSON", "return JSON.parse('['.repeat(1e6))", "refused"},
	{"deep code", strings.Repeat("(", 100000), "stack overflow"},
	{"deep regular expression", "new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5))", "refused"},
	{"deep chain of bind", "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); f()", "refused"},
	{"long value", "return 'x'.repeat(3e6)", ""},
	{"many arguments", "Math.max.apply(null, { length: 1e9 })", "too many arguments"},
	{"large arguments", "await call('a', { x: 'x'.repeat(3e6) })", ""},

	// out
	{"eval", "return eval('1')", "not defined"},
	{"Function", "return Function('return 1')()", "code from text"},
	{"constructor of a function", "return (() => {}).constructor('return 1')()", "code from text"},
	{"constructor of an async function", "return (async () => {}).constructor('return 1')()", "code from text"},
	{"constructor of a generator", "return (function* () {}).constructor('return 1')()", "code from text"},
	{"constructor of call", "return call.constructor('return 1')()", "code from text"},
	{"new constructor", "return Reflect.construct((() => {}).constructor, ['return 1'])", "code from text"},
	{"constructor put back", "Function.prototype.constructor = 1; return typeof (() => {}).constructor", "function"},
	{"import of a file", "return await import('/etc/passwd')", "refused"},
	{"import of a package", "return await import('std')", "refused"},
	{"import as code", "import fs from 'fs'", "refused"},
	{"import.meta", "return import.meta.url", "refused"},
	{"host", "return typeof host + typeof globalThis.host", "undefinedundefined"},
	{"what hosts have", "return [typeof process, typeof require, typeof std, typeof os, typeof fetch, typeof print, typeof scriptArgs, typeof Deno].join('')",
		strings.Repeat("undefined", 8)},
	{"timers", "setTimeout(() => {}, 1)", "not defined"},
	{"shared memory", "return typeof SharedArrayBuffer + typeof Atomics", "undefinedundefined"},
	{"Proxy", "return new Proxy([], {})", "not defined"},
	{"prototype of tools", "Object.getPrototypeOf(tools).x = 1", "refused"},
	{"a tool as an object", "tools.a.b.x = 1; delete tools.a.b; return (await tools.a.b({})).tool", `"a/b"`},
	{"tools are not changed", "tools.echo = 1; delete tools.a; try { Object.setPrototypeOf(tools, null) } catch {} return (await tools.echo({})).tool", `"echo"`},
	{"end of the wrapper", "}); for (;;); (async () => {", "ran longer"},
	{"what is outside of the wrapper", "}); globalThis.out = typeof host + typeof tools; (async () => {", ""},
	{"caller", "function f() { return f.caller } return f()", ""},
	{"stack of the host", "try { await call('fail') } catch (e) { return e.constructor.constructor('return 1')() }", "code from text"},

	// poison
	{"promise", "Promise.prototype.then = () => {}; Promise.resolve = null; Promise = null; return (await tools.a.b({ x: 1 })).args.x", "1"},
	{"JSON", "JSON.stringify = JSON.parse = () => 'bad'; return (await call('a', { x: 1 })).args.x", "1"},
	{"objects", "Object.prototype.toJSON = () => 'bad'; return { a: 1 }", `"bad"`},
	{"setters on every object", "Object.defineProperty(Object.prototype, '1', { set() { throw 'bad' }, configurable: true }); return (await call('a', { x: 1 })).args.x", "1"},
	{"then on every object", "Object.prototype.then = function (f) { f(1) }; return await call('a', { x: 1 })", ""},
	{"arrays", "for (const k of Object.getOwnPropertyNames(Array.prototype)) try { Array.prototype[k] = null } catch {} return (await call('a', { x: [1] })).args.x[0]", "1"},
	{"iterators", "Array.prototype[Symbol.iterator] = null; return (await call('a', { x: 1 })).args.x", "1"},
	{"calls of functions", "Function.prototype.call = Function.prototype.apply = null; Reflect.apply = null; return ['a'].map((x) => x + 'b')[0].split('')[0]", `"a"`},
	{"texts", "for (const k of Object.getOwnPropertyNames(String.prototype)) if (k !== 'length') String.prototype[k] = null; console.log('x'); return 1", "1"},
	{"errors", "Error.prototype.toString = () => { throw 1 }; Error = null; throw new TypeError('x')", "TypeError: x"},
	{"regular expressions", "RegExp.prototype.exec = () => { throw 1 }; return (await call('a', { x: 12345678901234567890n })).args.x", "12345678901234567890"},
	{"every global", "for (const k of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[k] } catch {} return (await call('a', { x: 1 })).args.x", "1"},
	{"throwing in the console", "console.log({ toJSON() { throw 1 } }, { get a() { throw 2 } }); return 1", "1"},
	{"a value that throws", "return { get a() { throw new Error('no') } }", "Error: no"},
	{"thrown that throws", "throw { get message() { throw 1 } }", "can't be shown"},
	{"thrown null", "throw null", "refused"},
	{"thrown promise", "throw Promise.reject(1)", "refused"},
	{"thrown symbol", "throw Symbol('x')", "refused"},
	{"value that is a symbol", "return Symbol('x')", ""},
	{"value that is a function", "return () => 1", ""},
	{"name that is a symbol", "return (await call(Symbol('x'))).tool", "Symbol(x)"},
	{"arguments that are no object", "await call('a', () => 1)", "refused"},
	{"forged error", "const e = new InternalError('out of memory'); throw e", "refused"},
}

// within says whether an outcome is what was wanted.
func within(want, got string, err error) bool {
	switch want {
	case "":
		return true
	case "refused":
		return err != nil
	case "stopped":
		return errors.Is(err, ErrTimeout) || errors.Is(err, ErrMemory)
	}
	return strings.Contains(got, want)
}

func TestHostile(t *testing.T) {
	if len(hostile) < 40 {
		t.Fatalf("%d scripts", len(hostile))
	}
	r := New(Limits{Timeout: slow * 200 * time.Millisecond, Memory: 16 << 20, Calls: 50})
	defer r.Close()
	patient := New(Limits{Timeout: slow * 10 * time.Second, Memory: 16 << 20, Calls: 50})
	defer patient.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	others.Go(func() { // others are not harmed
		good := New(Limits{})
		defer good.Close()
		for ctx.Err() == nil {
			v, err := good.Run(ctx, "return (await call('a', { x: [1].map((x) => x + 1) })).args.x[0]", echo{})
			if ctx.Err() == nil && (err != nil || string(v) != "2") {
				t.Errorf("another run: got %s, %v", v, err)
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	for i, tt := range hostile {
		if slow > 1 && i%8 != 0 {
			continue // the engine is much slower there, and what it does is the same
		}
		t.Run(tt.name, func(t *testing.T) {
			begun := time.Now()
			v, err := r.Run(t.Context(), tt.code, echo{})
			took := time.Since(begun)
			if errors.Is(err, ErrTimeout) && !within(tt.want, outcomeOf(v, err), err) { // a busy machine
				v, err = patient.Run(t.Context(), tt.code, echo{})
			}
			got := outcomeOf(v, err)
			if !within(tt.want, got, err) && slow == 1 {
				t.Errorf("got %.300s, want %s", got, tt.want)
			}
			for r.shop.stuck.Load() > 0 { // a busy machine may take longer than a run is waited for
				if time.Since(begun) > slow*10*time.Second {
					t.Fatalf("it could not be stopped (answered after %s)", took)
				}
				time.Sleep(10 * time.Millisecond)
			}
			if v != nil && !json.Valid(v) {
				t.Errorf("the value is no JSON: %.100s", v)
			}
		})
	}
}

// TestManyAtOnce runs hostile scripts beside each other.
func TestManyAtOnce(t *testing.T) {
	r := New(Limits{Timeout: slow * 300 * time.Millisecond, Memory: 8 << 20, Calls: 10, Runs: 3})
	defer r.Close()
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			code := []string{"for (;;);", "const a = []; for (;;) a.push({})", "for (;;) await 1", "return await call('a', { n: " + fmt.Sprint(i) + " })"}[i%4]
			v, err := r.Run(t.Context(), code, echo{})
			if i%4 == 3 && (err != nil || !strings.Contains(string(v), fmt.Sprintf(`{"n":%d}`, i))) && !errors.Is(err, ErrTimeout) {
				t.Errorf("%s: got %s, %v", code, v, err)
			}
			if i%4 != 3 && err == nil {
				t.Errorf("%s: got %s", code, v)
			}
		})
	}
	all.Wait()
}
