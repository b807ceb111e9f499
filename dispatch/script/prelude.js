// What every script finds: the language without what reaches beyond it, guards around the built-in functions that the
// engine can't stop while they run, and the way to the host. Everything the glue needs is taken aside before a script
// runs, so that a script that changes built-in objects only changes its own world.
(function () {
"use strict";
const host = globalThis.host;
delete globalThis.host;

const { apply, defineProperty, deleteProperty } = Reflect;
const { parse, stringify, rawJSON } = JSON;
const { isArray } = Array;
const { isSafeInteger } = Number;
const { create, fromEntries, keys } = Object;
const { floor, max, min } = Math;
const P = Promise, E = Error, Text = String, Big = BigInt, Hidden = Proxy;
const Range = RangeError, Wrong = TypeError, Eval = EvalError;
const AsyncFunction = (async () => {}).constructor;
const arrays = Array.prototype, strings = String.prototype;
const nativeIndexOf = strings.indexOf, substring = strings.substring, test = RegExp.prototype.exec;

function set(object, name, value) {
	defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
}

// replace puts a function in place of a built-in one; make gets the old one. An assignment is enough, and much cheaper
// than a definition: each world pays for this.
function replace(object, name, make) {
	object[name] = make(object[name]);
}

// ---- numbers: an integer that a double can't hold is a BigInt, and a BigInt is written as the integer it is.

const integer = /^-?\d{16,400}$/;
function exact(key, value, said) {
	if (typeof value !== "number" || isSafeInteger(value) || said === undefined || said.source === undefined) return value;
	return apply(test, integer, [said.source]) === null ? value : Big(said.source);
}
const read = (text, large) => (large ? parse(text, exact) : parse(text));
set(BigInt.prototype, "toJSON", function () { return rawJSON(Text(this)); });
set(Map.prototype, "toJSON", function () { return fromEntries(this); });
set(Set.prototype, "toJSON", function () { return [...this]; });
set(Error.prototype, "toJSON", function () { return { name: this.name, message: this.message }; });

// ---- guards: each of these walks a length or compares texts without ever looking up.

const LONG = 1 << 24;
const WORK = 1 << 26;
function short(n, what) {
	if (n > LONG) throw new Range(`${what}: ${n} elements are too many here`);
}

// listed is the array that a method works on: array-likes are copied.
function listed(o, name) {
	if (isArray(o)) {
		short(o.length, name);
		return o;
	}
	if (o === null || o === undefined) throw new Wrong(`${name}: not a list`);
	const n = max(0, floor(+o.length)) || 0;
	short(n, name);
	const copy = [];
	for (let i = 0; i < n; i++) if (i in Object(o)) copy[i] = o[i];
	copy.length = n;
	return copy;
}

for (const name of ["every", "some", "forEach", "map", "filter", "find", "findIndex", "findLast", "findLastIndex", "reduce",
	"reduceRight", "join", "slice", "toLocaleString", "toReversed", "toSpliced", "with"]) {
	replace(arrays, name, (old) => function (...args) { return apply(old, listed(this, name), args); });
}
for (const name of ["copyWithin", "fill", "reverse", "shift", "splice", "unshift"]) {
	replace(arrays, name, (old) => function (...args) {
		if (!isArray(this)) throw new Wrong(`${name}: not an array`);
		return apply(old, listed(this, name), args);
	});
}

function compare(a, b) {
	a = Text(a);
	b = Text(b);
	return a < b ? -1 : a > b ? 1 : 0;
}
for (const name of ["sort", "toSorted"]) {
	replace(arrays, name, (old) => function (by) {
		if (name === "sort" && !isArray(this)) throw new Wrong("sort: not an array");
		return apply(old, listed(this, name), [by === undefined ? compare : by]);
	});
}

const bulky = (x) => typeof x === "string" ? x.length > 64 : typeof x === "bigint";
replace(arrays, "indexOf", (old) => function (x, ...from) {
	const list = listed(this, "indexOf");
	if (!bulky(x)) return apply(old, list, [x, ...from]);
	const n = floor(+from[0]) || 0;
	for (let i = n < 0 ? max(0, list.length + n) : n; i < list.length; i++) if (list[i] === x) return i;
	return -1;
});
replace(arrays, "includes", (old) => function (x, ...from) {
	const list = listed(this, "includes");
	return bulky(x) ? apply(arrays.indexOf, list, [x, ...from]) >= 0 : apply(old, list, [x, ...from]);
});
replace(arrays, "lastIndexOf", (old) => function (x, ...from) {
	const list = listed(this, "lastIndexOf");
	if (!bulky(x)) return apply(old, list, [x, ...from]);
	const n = from.length ? floor(+from[0]) || 0 : list.length - 1;
	for (let i = n < 0 ? list.length + n : min(n, list.length - 1); i >= 0; i--) if (list[i] === x) return i;
	return -1;
});
replace(arrays, "concat", (old) => function (...args) {
	for (let i = 0; i < args.length; i++) {
		if (isArray(args[i])) short(args[i].length, "concat");
		else args[i] = [args[i]];
	}
	return apply(old, isArray(this) ? listed(this, "concat") : [this], args);
});
function flatten(out, list, depth) {
	short(list.length, "flat");
	for (let i = 0; i < list.length; i++) {
		if (!(i in list)) continue;
		const v = list[i];
		if (depth > 0 && isArray(v)) flatten(out, v, depth - 1);
		else out[out.length] = v;
	}
	return out;
}
replace(arrays, "flat", () => function (depth = 1) { return flatten([], listed(this, "flat"), floor(+depth) || 0); });
const map = arrays.map;
replace(arrays, "flatMap", () => function (f, self) { return flatten([], apply(map, this, [f, self]), 1); });
replace(Iterator.prototype, "drop", (old) => function (n) {
	n = +n;
	if (n > LONG) throw new Range(`drop: ${n} elements are too many here`);
	return apply(old, this, [n]);
});

// far finds a long text in a longer one in steps that can be stopped.
function far(s, what, i) {
	const step = max(1, floor(WORK / what.length));
	for (; i + what.length <= s.length; i += step) {
		const at = apply(nativeIndexOf, apply(substring, s, [i, i + step + what.length - 1]), [what]);
		if (at >= 0) return i + at;
	}
	return -1;
}
const costly = (s, what) => s.length * what.length > WORK;
function said(o) {
	if (o === null || o === undefined) throw new Wrong("not a string");
	return Text(o);
}
function plain(what) {
	if (what instanceof RegExp) throw new Wrong("a string is wanted, not a regular expression");
	return Text(what);
}
replace(strings, "indexOf", (old) => function (what, from) {
	const s = said(this), w = Text(what);
	return costly(s, w) ? far(s, w, max(0, floor(+from) || 0)) : apply(old, s, [w, from]);
});
replace(strings, "includes", (old) => function (what, from) {
	const s = said(this), w = plain(what);
	return costly(s, w) ? far(s, w, max(0, floor(+from) || 0)) >= 0 : apply(old, s, [w, from]);
});
replace(strings, "lastIndexOf", (old) => function (what, ...from) {
	const s = said(this), w = Text(what);
	if (costly(s, w)) throw new Range("lastIndexOf: the texts are too long");
	return apply(old, s, [w, ...from]);
});
for (const [name, symbol] of [["split", Symbol.split], ["replace", Symbol.replace], ["replaceAll", Symbol.replace]]) {
	replace(strings, name, (old) => function (what, ...rest) {
		const s = said(this);
		if (typeof what === "object" && what !== null) {
			const own = what[symbol];
			if (own !== undefined && own !== null) {
				if (name === "replaceAll" && what instanceof RegExp && !what.global) throw new Wrong("replaceAll: the regular expression must be global");
				return apply(own, what, [s, ...rest]);
			}
		}
		if (what !== undefined || name !== "split") what = Text(what);
		if (what !== undefined && costly(s, what)) throw new Range(`${name}: the texts are too long`);
		return apply(old, s, [what, ...rest]);
	});
}
replace(String, "raw", (old) => function (parts, ...values) {
	const all = listed(parts.raw, "raw");
	return apply(old, this, [{ raw: all }, ...values]);
});
replace(JSON, "stringify", (old) => function (value, by, space) {
	if (isArray(by)) short(by.length, "stringify");
	return old(value, by, space);
});

// ---- what is not there: code from text, shared memory, and objects that change under the guards.

for (const f of [function () {}, async function () {}, function* () {}, async function* () {}]) {
	const proto = Object.getPrototypeOf(f);
	const none = function () { throw new Eval("code from text is not run here"); };
	none.prototype = proto;
	defineProperty(proto, "constructor", { value: none, writable: false, configurable: false });
	if (proto === Function.prototype) set(globalThis, "Function", none);
}
for (const name of ["eval", "Proxy", "Atomics", "SharedArrayBuffer", "WeakRef", "FinalizationRegistry"]) deleteProperty(globalThis, name);

// ---- the way to the host: texts only, one number for each promise.

const waiting = create(null);
let count = 0, resolve, reject;
function take(yes, no) { // one function for all promises: to make one for each costs more than the rest
	resolve = yes;
	reject = no;
}
function ask(op, a, b) {
	const id = ++count;
	host(op, id, a, b);
	const promise = new P(take);
	waiting[id] = { resolve, reject, op };
	return promise;
}
function settle(id, ok, text, large) {
	const promise = waiting[id]; // its resolve and reject look at no `this`
	delete waiting[id];
	try {
		const value = read(text, large);
		if (ok) return promise.resolve(promise.op === "search" && !isArray(value) ? value.results : value);
		const e = new E(value.message);
		const data = value.data || {};
		for (const k of keys(data)) if (k !== "message" && k !== "stack") set(e, k, data[k]);
		set(e, "name", "ToolError");
		promise.reject(e);
	} catch (e) {
		promise.reject(e);
	}
}

function written(v, what) {
	const text = stringify(v === undefined ? {} : v);
	if (text === undefined) throw new Wrong(`${what}: not a value that JSON can hold`);
	return text;
}
// promised is what f asks for, or a promise of what it throws. Nothing here looks up `then`, which a script may change.
function promised(f) {
	try {
		return f();
	} catch (e) {
		return new P((_, reject) => reject(e));
	}
}
function call(name, args) {
	try {
		return ask("call", Text(name), written(args, "arguments"));
	} catch (e) {
		return promised(() => { throw e; });
	}
}
function readHandle(handle, query) {
	return promised(() => {
		if (typeof handle === "object" && handle !== null) handle = handle.handle;
		return ask("read", Text(handle), written(typeof query === "string" ? { jq: query } : query, "query"));
	});
}
function search(query, more) {
	return promised(() => ask("search", "", written(typeof query === "object" ? query : { ...more, query: Text(query) }, "query")));
}
function progress(done, total, message) {
	host("progress", 0, stringify(typeof done === "object" ? done : { progress: done, total, message }), "");
}

function shown(v) {
	try {
		if (typeof v === "string") return v;
		if (v instanceof E) return `${v.name}: ${v.message}`;
		const text = stringify(v);
		return text === undefined ? Text(v) : text;
	} catch {
		return "(can't be shown)";
	}
}
function logger(level) {
	return function (...args) {
		let line = "";
		for (let i = 0; i < args.length && line.length < 4000; i++) line += (i ? " " : "") + shown(args[i]);
		host("log", 0, level, apply(substring, line, [0, 4000]));
	};
}
const log = logger("log");
const console = { log, debug: logger("debug"), info: logger("info"), warn: logger("warn"), error: logger("error"), trace: log };
set(globalThis, "console", console);

// tools.SERVER.TOOL(args) and tools.TOOL(args): names are only put together here, the host knows what they mean.
const reserved = (name) => typeof name !== "string" || name === "then" || name === "toJSON";
const closed = {
	set: () => false, deleteProperty: () => false, defineProperty: () => false, setPrototypeOf: () => false, getPrototypeOf: () => null,
};
const servers = create(null);
function server(path) {
	const own = create(null);
	return (servers[path] = new Hidden(() => {}, {
		...closed,
		get: (_, name) => (reserved(name) ? undefined : own[name] ?? (own[name] = (args) => call(`${path}/${name}`, args))),
		apply: (_, self, args) => call(path, args[0]),
		ownKeys: () => [],
	}));
}
const tools = new Hidden({}, { ...closed, get: (_, name) => (reserved(name) ? undefined : servers[name] ?? server(name)) });

// ---- begin and end of a run.

function ended(value) {
	const text = stringify(value);
	host("done", 0, text === undefined ? "" : text, "");
}
function failed(e) {
	let name = "", message = "", stack = "";
	try {
		if (e === null) { // what is thrown where there is no memory for an error; nobody else throws it
			name = "InternalError";
			message = "out of memory";
		} else if (typeof e === "object") {
			name = Text(e.name ?? "");
			message = Text(e.message ?? stringify(e));
			stack = Text(e.stack ?? "");
		} else message = Text(e);
	} catch {
		message = "something that can't be shown was thrown";
	}
	host("failed", 0, stringify([name, message, stack]), "");
}
async function watch(start) {
	try {
		ended(await start());
	} catch (e) {
		host("room", 0, "", ""); // so that a script that has filled its memory can still be told of
		failed(e);
	}
}
let exported;
return {
	settle,
	run(code) {
		watch(() => AsyncFunction("tools", "call", "read", "search", code)(tools, call, readHandle, search));
	},
	take(module) { exported = module; },
	// describe tells what an export is: a value as JSON, or "function" with the texts beside it.
	describe(name) {
		const v = exported[name];
		const out = { kind: v === undefined ? "none" : typeof v };
		const own = v && typeof v === "object" ? v : create(null);
		const f = typeof v === "function" ? v : own.run ?? own.handler ?? own.call;
		for (const k of ["name", "title", "description", "inputSchema", "outputSchema", "annotations"]) {
			const said = own[k] ?? (k !== "name" && typeof v === "function" ? v[k] : undefined) ?? exported[k];
			if (said !== undefined && typeof said !== "function") out[k] = said;
		}
		out.callable = typeof f === "function";
		return stringify(out);
	},
	call(name, args, large) {
		watch(() => {
			const v = exported[name];
			const f = typeof v === "function" ? v : v && (v.run ?? v.handler ?? v.call);
			if (typeof f !== "function") throw new Wrong(`there is no exported function ${name}`);
			const context = { call, search, read: readHandle, progress, tools, log };
			return apply(f, v, [...read(args, large), context]);
		});
	},
};
})()
