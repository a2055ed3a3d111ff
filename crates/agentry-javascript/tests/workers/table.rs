//! Hostile code, by what it is after. Each row says how it ends.

/// A row of the table.
pub(crate) struct HostileScript {
    pub(crate) name: &'static str,
    /// The body of a tool, or after `block: ` a whole block.
    pub(crate) code: &'static str,
    pub(crate) expected: Expectation,
}

/// How a row ends.
pub(crate) enum Expectation {
    /// With this JSON: the attempt found nothing.
    Returns(&'static str),
    /// With an error whose message has this text.
    Fails(&'static str),
    /// At the deadline.
    TimesOut,
    /// With an error of any kind.
    Ends,
}

use Expectation::{Ends, Fails, Returns, TimesOut};

const fn row(name: &'static str, code: &'static str, expected: Expectation) -> HostileScript {
    HostileScript { name, code, expected }
}

pub(crate) const HOSTILE: &[HostileScript] = &[
    // Files.
    row("require", "return require('fs').readFileSync('/etc/passwd', 'utf8');", Fails("require")),
    row(
        "dynamic import of a file",
        "return (await import('/etc/passwd')).default;",
        Fails("/etc/passwd"),
    ),
    row(
        "import of a relative file",
        "return Object.keys(await import('../../../../etc/passwd'));",
        Fails("passwd"),
    ),
    row("import of a built-in", "return Object.keys(await import('fs'));", Fails("fs")),
    row(
        "import of the engine's library",
        "return Object.keys(await import('qjs:std'));",
        Fails("qjs:std"),
    ),
    row(
        "import of an address",
        "return Object.keys(await import('https://open.example/text'));",
        Fails("https://open.example/text"),
    ),
    row(
        "import of data",
        "return Object.keys(await import('data:text/javascript,export default 1'));",
        Fails("data:"),
    ),
    row(
        "import of JSON",
        "return (await import('/etc/hostname', { with: { type: 'json' } })).default;",
        Fails("hostname"),
    ),
    row(
        "a static import",
        "block: import x from '/etc/passwd'; return { probe: { fn: () => x, scheme: {} } };",
        Fails("SyntaxError"),
    ),
    row(
        "libraries of QuickJS",
        "return [typeof std, typeof os, typeof bjson, typeof print, typeof load, typeof loadScript];",
        Returns(r#"["undefined","undefined","undefined","undefined","undefined","undefined"]"#),
    ),
    row(
        "fetch of a file",
        "return await (await fetch('file:///etc/passwd')).text();",
        Fails("refused"),
    ),
    row(
        "other hosts of JavaScript",
        "return [typeof process, typeof Deno, typeof Bun, typeof navigator, typeof WebAssembly, typeof Worker, typeof XMLHttpRequest, typeof WebSocket].filter((type) => type !== 'undefined');",
        Returns("[]"),
    ),
    row(
        "a function in the global scope",
        "return new Function('return typeof require + typeof process')();",
        Returns(r#""undefinedundefined""#),
    ),
    row("indirect eval", "return (0, eval)('typeof require');", Returns(r#""undefined""#)),
    row(
        "the constructor of a constructor",
        "return (function () {}).constructor.constructor('return typeof process')();",
        Returns(r#""undefined""#),
    ),
    row(
        "the constructor of an async function",
        "return await (async () => {}).constructor('return typeof process')();",
        Returns(r#""undefined""#),
    ),
    row(
        "reading its own source by stack",
        "return typeof new Error().fileName;",
        Returns(r#""undefined""#),
    ),
    // Variables.
    row("the environment of a process", "return process.env;", Fails("process")),
    row(
        "variables that are not granted",
        "return Object.getOwnPropertyNames(ctx.env);",
        Returns(r#"["GRANTED"]"#),
    ),
    row(
        "a variable by prototype",
        "return [ctx.env.__proto__ ?? null, ctx.env.constructor ?? null, 'PATH' in ctx.env];",
        Returns("[null,null,false]"),
    ),
    row("a new variable", "ctx.env.PATH = 'x'; return ctx.env.PATH;", Fails("TypeError")),
    row(
        "variables of the global object",
        "return Object.getOwnPropertyNames(globalThis).filter((name) => /env|path|home|secret/i.test(name));",
        Returns("[]"),
    ),
    // The network.
    row("a host that no rule allows", "await fetch('https://closed.example/');", Fails("refused")),
    row(
        "the metadata of a cloud",
        "await fetch('http://169.254.169.254/latest/meta-data/');",
        Fails("refused"),
    ),
    row("this machine", "await fetch('http://127.0.0.1:22/');", Fails("refused")),
    row(
        "an address with a user",
        "await fetch('https://open.example@closed.example/');",
        Fails("refused"),
    ),
    row(
        "a line break in a header",
        "await fetch('https://open.example/text', { headers: { 'x-a': 'b\\r\\nhost: c' } });",
        Fails("line break"),
    ),
    row(
        "a header in the type of a blob",
        "await fetch('https://open.example/text', { method: 'POST', body: new Blob(['x'], { type: 'a\\r\\nhost: c' }) }); return 1;",
        Returns("1"),
    ),
    row(
        "a large body behind a stream",
        "const body = ReadableStream.from([new Uint8Array(9 << 20)]); await fetch('https://open.example/echo', { method: 'POST', body });",
        Fails("too long"),
    ),
    row(
        "a broken name of a header",
        "await fetch('https://open.example/text', { headers: { 'a b': 'c' } });",
        Fails("not the name"),
    ),
    row(
        "a body of another call",
        "return globalThis.fetch.toString().includes('native');",
        Returns("false"),
    ),
    row(
        "requests without end",
        "while (true) await fetch('https://open.example/text').catch(() => {});",
        TimesOut,
    ),
    row(
        "many requests at once",
        "return (await Promise.allSettled(Array.from({ length: 500 }, () => fetch('https://open.example/slow')))).filter((r) => r.status === 'rejected').length > 400;",
        TimesOut,
    ),
    row("a response that never comes", "await fetch('https://open.example/slow');", TimesOut),
    row(
        "a body that is too large for memory",
        "const all = []; while (true) all.push(await (await fetch('https://open.example/large')).bytes());",
        Ends,
    ),
    row(
        "a request body that is too large",
        "await fetch('https://open.example/echo', { method: 'POST', body: 'x'.repeat(9 << 20) });",
        Fails("too long"),
    ),
    row(
        "the prelude's functions by stack",
        "if (globalThis.again) return; globalThis.again = true; const seen = []; Error.prepareStackTrace = (e, frames) => { seen.push(...frames); return ''; }; new Error('x').stack; for (const frame of seen.splice(0)) { try { frame.getFunction()?.([], 'x', '{}', '[[\"PATH\", 1]]', 1); } catch {} } await fetch('https://closed.example/');",
        Fails("refused"),
    ),
    row(
        "the host's functions by a patched method",
        "const seen = []; const { set } = Map.prototype; Map.prototype.set = function (k, v) { seen.push(v); return set.call(this, k, v); }; await fetch('https://closed.example/').catch(() => {}); return seen.some((v) => v?.request !== undefined);",
        Returns("false"),
    ),
    row(
        "the host's functions by a patched JSON",
        "JSON.stringify = () => { throw new Error('caught'); }; return (await fetch('https://open.example/text')).status;",
        Returns("200"),
    ),
    // Time.
    row("an endless loop", "while (true) {}", TimesOut),
    row("an endless loop in the block", "block: while (true) {}", TimesOut),
    row("an endless loop of promises", "while (true) await null;", TimesOut),
    row(
        "endless microtasks",
        "const again = () => Promise.resolve().then(again); await again();",
        TimesOut,
    ),
    row(
        "endless queued microtasks",
        "const again = () => queueMicrotask(again); again(); await new Promise(() => {});",
        TimesOut,
    ),
    row("endless timers", "await new Promise(() => setInterval(() => {}, 0));", TimesOut),
    row(
        "a timer in a hundred days",
        "await new Promise((resolve) => setTimeout(resolve, 8.64e9));",
        TimesOut,
    ),
    row(
        "a timer that takes all time",
        "setTimeout(() => { while (true) {} }, 0); await new Promise(() => setInterval(() => {}, 5));",
        TimesOut,
    ),
    row("a promise that never settles", "await new Promise(() => {});", Fails("never settles")),
    row(
        "a block that never settles",
        "block: await new Promise(() => {});",
        Fails("never settles"),
    ),
    row("a then that never calls", "return { then() {} };", Fails("never settles")),
    row(
        "a then without end",
        "const self = { then(resolve) { resolve(self); } }; return self;",
        TimesOut,
    ),
    row("an array as text", "return String(new Array(1e9)).length;", Ends),
    row(
        "a search in a long text",
        "const text = 'a'.repeat(1 << 22); let n = 0; while (true) n += text.indexOf('a'.repeat(1 << 21) + 'b');",
        TimesOut,
    ),
    row(
        "a regular expression that backtracks",
        "return /^(a+)+$/.test('a'.repeat(40) + 'b');",
        TimesOut,
    ),
    row(
        "a regular expression with a back reference",
        "return /^(.*)*\\1x$/.test('a'.repeat(60));",
        TimesOut,
    ),
    row(
        "sorting by a comparison that lies",
        "const list = Array.from({ length: 1e5 }, (_, n) => n); while (true) list.sort(() => Math.random() - 0.5);",
        TimesOut,
    ),
    row(
        "replacing in a long text",
        "const text = 'a'.repeat(1 << 20); while (true) text.replaceAll('a', 'b');",
        TimesOut,
    ),
    row("a large power", "return (2n ** 50000000n).toString().length;", Ends),
    row("large products", "let n = 3n; while (true) n = n * n;", Ends),
    row("a getter without end", "return { get a() { while (true) {} } };", TimesOut),
    row("a toJSON without end", "return { toJSON() { while (true) {} } };", TimesOut),
    row(
        "an iterator without end",
        "for (const _ of { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }) {}",
        TimesOut,
    ),
    row(
        "a proxy without end",
        "const p = new Proxy({}, { ownKeys() { while (true) {} } }); return Object.keys(p);",
        TimesOut,
    ),
    row("a finally without end", "try { return 1; } finally { while (true) {} }", TimesOut),
    row(
        "an error that is caught for ever",
        "while (true) { try { throw new Error('x'); } catch {} }",
        TimesOut,
    ),
    row(
        "a comparison without end",
        "const a = { valueOf() { while (true) {} } }; return a > 1;",
        TimesOut,
    ),
    row(
        "a clock that waits",
        "const end = Date.now() + 1e9; while (Date.now() < end) {}",
        TimesOut,
    ),
    row(
        "ignoring the signal",
        "ctx.signal.addEventListener('abort', (e) => { while (true) {} }); await new Promise(() => setInterval(() => {}, 1));",
        TimesOut,
    ),
    row(
        "digests without end",
        "const data = new Uint8Array(1 << 20); while (true) await crypto.subtle.digest('SHA-512', data);",
        TimesOut,
    ),
    row(
        "addresses without end",
        "while (true) new URL('https://example.com/' + 'a'.repeat(10000));",
        TimesOut,
    ),
    row(
        "a stream without end",
        "for await (const _ of new ReadableStream({ pull: (c) => c.enqueue(1) })) {}",
        TimesOut,
    ),
    row(
        "a stream that never gives",
        "await new ReadableStream({ pull: () => {} }).getReader().read();",
        Fails("never settles"),
    ),
    row(
        "a body without end",
        "const body = ReadableStream.from((function* () { for (;;) yield new Uint8Array(0); })()); await fetch('https://open.example/echo', { method: 'POST', body });",
        TimesOut,
    ),
    // Memory and stack.
    row(
        "a stream that is filled without end",
        "new ReadableStream({ start(c) { for (;;) c.enqueue(new Uint8Array(1000)); } });",
        Ends,
    ),
    row(
        "a blob of blobs",
        "let blob = new Blob(['x'.repeat(1 << 20)]); for (;;) blob = new Blob([blob, blob]);",
        Ends,
    ),
    row(
        "a large text in another encoding",
        "return new TextDecoder('utf-16le').decode(new Uint8Array(1 << 25)).length;",
        Ends,
    ),
    row(
        "arrays without end",
        "const all = []; while (true) all.push(new Array(1000).fill(all.length));",
        Ends,
    ),
    row("a text that doubles", "let text = 'a'; while (true) text += text;", Ends),
    row("a large buffer", "return new ArrayBuffer(1 << 30).byteLength;", Ends),
    row(
        "a buffer that grows",
        "const buffer = new ArrayBuffer(1, { maxByteLength: 1 << 30 }); buffer.resize(1 << 30); new Uint8Array(buffer).fill(1); return 1;",
        Ends,
    ),
    row("a repeated text", "return 'x'.repeat(2 ** 30).length;", Ends),
    row(
        "objects without end",
        "let last = {}; while (true) last = { last, more: new Uint8Array(1000) };",
        Ends,
    ),
    row("a map without end", "const map = new Map(); for (let n = 0; ; n++) map.set(n, {});", Ends),
    row("recursion", "const f = () => f() + 1; return f();", Fails("stack")),
    row(
        "recursion that is caught",
        "const f = () => { try { return f(); } catch { return f(); } }; return f();",
        Ends,
    ),
    row(
        "recursion by JSON",
        "let deep = []; for (let n = 0; n < 1e5; n++) deep = [deep]; return deep;",
        Ends,
    ),
    row("JSON of many levels", "return JSON.parse('['.repeat(1e6));", Ends),
    row("a function of many levels", "return new Function('return ' + '('.repeat(1e6))();", Ends),
    row(
        "a regular expression of many levels",
        "return new RegExp('('.repeat(1e6) + ')'.repeat(1e6)).test('');",
        Ends,
    ),
    row("arguments without end", "return Math.max(...new Array(1e7).fill(1));", Ends),
    row("log lines without end", "while (true) console.log('x'.repeat(100000));", TimesOut),
    row(
        "a chain of getters",
        "let o = {}; for (let n = 0; n < 1e5; n++) o = Object.create(o); return o.missing === undefined;",
        Returns("true"),
    ),
    // Results.
    row("a function as a result", "return () => {};", Fails("is no JSON")),
    row("a symbol as a result", "return Symbol('x');", Fails("is no JSON")),
    row("a large whole number as a result", "return 1n;", Fails("BigInt")),
    row("a cycle", "const a = {}; a.a = a; return a;", Fails("circular")),
    row("a hundred megabytes", "return 'x'.repeat(1e8);", Ends),
    row("more than the limit", "return 'x'.repeat(5 << 20);", Fails("at most 4194304 are allowed")),
    row("nothing", "return undefined;", Returns("null")),
    row("half of a pair", "return '\\ud83d\\ude00'.slice(0, 1);", Returns(r#""\ufffd""#)),
    row(
        "a forged result",
        "console.log(JSON.stringify({ Done: { Returned: '5' } })); return 6;",
        Returns("6"),
    ),
    // Blocks.
    row("a block that returns nothing", "block: const a = 1;", Fails("must return an object")),
    row("a block that returns a list", "block: return [];", Fails("must return an object")),
    row(
        "a block that returns a function",
        "block: return () => {};",
        Fails("must return an object"),
    ),
    row(
        "a block that rejects",
        "block: await Promise.reject(new Error('rejected'));",
        Fails("rejected"),
    ),
    row(
        "a block that leaves its function",
        "block: }); globalThis.left = 1; (async function () { return { probe: { fn: () => 7, scheme: {} } };",
        Returns("7"),
    ),
    row("a tool that is no object", "block: return { probe: 5 };", Fails("has no function")),
    row(
        "a tool without a function",
        "block: return { probe: { fn: 'x', scheme: {} } };",
        Fails("has no function"),
    ),
    row(
        "no such tool",
        "block: return { other: { fn: () => 1, scheme: {} } };",
        Fails("returns no tool"),
    ),
    row(
        "a tool behind a getter that throws",
        "block: return { get probe() { throw new Error('got'); } };",
        Fails("got"),
    ),
    row("a block that is no JavaScript", "block: '''", Fails("SyntaxError")),
    // The engine.
    row(
        "shared memory",
        "return [typeof SharedArrayBuffer, typeof Atomics, typeof WeakRef, typeof FinalizationRegistry, typeof performance];",
        Returns(r#"["undefined","undefined","undefined","undefined","undefined"]"#),
    ),
    row(
        "a detached buffer",
        "const buffer = new ArrayBuffer(8); const view = new Uint8Array(buffer); buffer.transfer(); crypto.getRandomValues(view); return view.length;",
        Fails("detached"),
    ),
    row(
        "a patched prototype of all objects",
        "Object.prototype.toJSON = () => 'patched'; return {};",
        Returns(r#""patched""#),
    ),
    row("a patched promise", "Promise.prototype.then = () => 5; return 8;", Returns("8")),
    row(
        "a frozen world",
        "Object.freeze(Object.prototype); Object.freeze(globalThis); return new URL('https://a.example/b').pathname;",
        Ends,
    ),
    row(
        "every global called",
        "for (const name of Object.getOwnPropertyNames(globalThis)) { try { new globalThis[name](-1, {}, []); } catch {} } return 9;",
        Returns("9"),
    ),
    row("a class that extends null", "return new (class extends null {})();", Fails("TypeError")),
    row(
        "a species that lies",
        "class A extends Array { static get [Symbol.species]() { return function () { return {}; }; } } return new A(1, 2, 3).map((n) => n);",
        Returns(r#"{"0":1,"1":2,"2":3}"#),
    ),
    row(
        "an array that shrinks while it is sorted",
        "const list = Array.from({ length: 1000 }, (_, n) => n); list.sort((a, b) => { list.length = 0; return a - b; }); return list.length <= 1000;",
        Returns("true"),
    ),
    row(
        "a typed array that shrinks while it is filled",
        "const buffer = new ArrayBuffer(1000, { maxByteLength: 2000 }); const view = new Uint8Array(buffer); view.fill({ valueOf() { buffer.resize(1); return 1; } }); return view.length;",
        Returns("1"),
    ),
];
