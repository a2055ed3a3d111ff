//! Scripts: modules that import each other, and `ctx` with its calls.

use std::time::{Duration, Instant};

use agentry_javascript::{CodePlace, JobFailure, JobLimits, ModuleFile};
use serde_json::{Value, json};

use crate::broker::{LONG, POOL, TestBroker, block_on};

/// The time of rows that never end.
const SHORT: Duration = Duration::from_millis(300);
/// How late a deadline may be noticed on a busy machine.
const SLACK: Duration = Duration::from_secs(10);

fn module(path: &str, text: &str) -> ModuleFile {
    ModuleFile { path: path.to_owned(), text: text.to_owned() }
}

fn run_modules(
    modules: &[ModuleFile],
    inputs: &Value,
    time: Duration,
    broker: &TestBroker,
) -> Result<Value, JobFailure> {
    let limits = JobLimits { time, most_output: 100_000 };
    block_on(POOL.run_script(modules, inputs, limits, broker))
}

/// Runs a script with this body of `run`.
fn script(body: &str) -> Result<Value, JobFailure> {
    let text = format!("export async function run(ctx, inputs) {{ {body}\n}}");
    run_modules(&[module("run.mjs", &text)], &json!({}), LONG, &TestBroker::default())
}

#[test]
fn every_form_of_run_is_found() {
    let scripts = [
        "function run(ctx, inputs) { return inputs.n + 1; }",
        "async function run(ctx, inputs) { return inputs.n + 1; }",
        "export function run(ctx, inputs) { return inputs.n + 1; }",
        "export default async function run(ctx, inputs) { return inputs.n + 1; }",
        "export default (ctx, inputs) => inputs.n + 1;",
        "export default function start(ctx, { n }) { return n + 1; }",
        "const run = (ctx, inputs) => inputs.n + 1;",
        "const add = (ctx, inputs) => inputs.n + 1;\nexport { add as run };",
        "const one = await Promise.resolve(1);\nexport const run = (_, { n }) => n + one;",
    ];
    for text in scripts {
        let ran =
            run_modules(&[module("a.js", text)], &json!({"n": 1}), LONG, &TestBroker::default());
        assert_eq!(ran, Ok(json!(2)), "{text}");
    }
    let missing =
        run_modules(&[module("a.js", "let a = 1;")], &json!({}), LONG, &TestBroker::default());
    assert!(
        matches!(&missing, Err(JobFailure::Threw { message, .. }) if message.contains("`a.js` has no function `run`")),
        "{missing:?}"
    );
}

#[test]
fn modules_import_each_other() {
    let modules = [
        module(
            "scripts/run.mjs",
            "import { double } from '../lib/double.mjs';\nimport * as even from './even.mjs';\nexport const base = 10;\nexport async function run(ctx, { n }) { const late = await import('../lib/late.js'); return [double(n), even.isEven(n), late.default]; }",
        ),
        module(
            "scripts/even.mjs",
            "import { isOdd } from './odd.mjs';\nexport const isEven = (n) => n === 0 || isOdd(n - 1);",
        ),
        // A circle: both import the other one.
        module(
            "scripts/odd.mjs",
            "import { isEven } from './even.mjs';\nexport const isOdd = (n) => n !== 0 && isEven(n - 1);",
        ),
        module("lib/double.mjs", "export function double(n) { return n * 2; }"),
        module("lib/late.js", "export default 'late';"),
    ];
    let ran = run_modules(&modules, &json!({"n": 4}), LONG, &TestBroker::default());
    assert_eq!(ran, Ok(json!([8, true, "late"])));
}

#[test]
fn errors_have_file_line_and_column() {
    let cases = [
        (
            vec![module(
                "a.mjs",
                "export function run() {\n  const ä = 'öü'; throw new RangeError(ä);\n}",
            )],
            "RangeError: öü",
            Some(("a.mjs", 2, 40)),
        ),
        (
            vec![
                module("s/a.mjs", "import { f } from './b c.mjs';\nexport const run = () => f();"),
                module("s/b c.mjs", "\n\nexport function f() {\n  null.x;\n}"),
            ],
            "TypeError: cannot read property 'x' of null",
            Some(("s/b c.mjs", 4, 3)),
        ),
        (
            vec![
                module("a.mjs", "import './b.mjs';\nexport const run = () => 1;"),
                module("b.mjs", "const a = 1;\nlet let = 2;"),
            ],
            "SyntaxError",
            Some(("b.mjs", 2, 5)),
        ),
        (vec![module("a.mjs", "\nexport function run( {")], "SyntaxError", Some(("a.mjs", 2, 23))),
        (
            vec![module(
                "a.mjs",
                "export const run = async (ctx) => {\n  await ctx.tool('closed');\n};",
            )],
            "refused: `closed` is not among the allowed tools",
            Some(("a.mjs", 2, 13)),
        ),
        (
            vec![module(
                "a.mjs",
                "export const run = () => { throw { message: 'forged', stack: 'at agent-file/etc/passwd:1:1' }; };",
            )],
            "forged",
            None,
        ),
    ];
    let mut wrong = Vec::new();
    for (modules, message, place) in cases {
        let found = run_modules(&modules, &json!({}), LONG, &TestBroker::default());
        let Err(JobFailure::Threw { message: text, place: at, file }) = &found else {
            panic!("{modules:?}: {found:?}");
        };
        assert!(text.starts_with(message), "{modules:?}: {text}");
        let at = at.map(|CodePlace { line, column }| (line, column));
        let at = file.as_deref().zip(at).map(|(file, (line, column))| (file, line, column));
        if at != place {
            wrong.push(format!("{modules:?}: {text}: {at:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn ctx_helpers_call_tools() {
    let cases = [
        (
            "return (await ctx.tool('echo', { a: 1 })).output;",
            json!("{\"a\":1}"),
            json!(["echo", {"a": 1}]),
        ),
        (
            "return await ctx.tools.echo({ a: 1 });",
            json!({"name": "echo", "output": "{\"a\":1}", "text": "{\"a\":1}", "exitCode": 0, "metadata": {}}),
            json!(["echo", {"a": 1}]),
        ),
        ("return (await ctx.tools.broken()).exitCode;", json!(1), json!(["broken", {}])),
        (
            "return await ctx.readFile('x');",
            json!("one\n\ttwo\n4\tthree\n"),
            json!(["read", {"limit": 1_000_000, "path": "x"}]),
        ),
        (
            "await ctx.tool('read', { file_path: 'x' }); return 1;",
            json!(1),
            json!(["read", {"path": "x"}]),
        ),
        (
            "await ctx.grep('a+', { path: 'src', glob: '*.rs' }); return 1;",
            json!(1),
            json!(["grep", {"path": "src", "include": "*.rs", "pattern": "a+"}]),
        ),
        ("await ctx.glob('**/*.rs'); return 1;", json!(1), json!(["glob", {"pattern": "**/*.rs"}])),
        (
            "await ctx.search('x', { mode: 'glob' }); return 1;",
            json!(1),
            json!(["glob", {"pattern": "x"}]),
        ),
        ("await ctx.ls('src'); return 1;", json!(1), json!(["list", {"path": "src"}])),
        ("await ctx.tool('ls', {}); return 1;", json!(1), json!(["list", {}])),
        (
            "await ctx.bash('make -j2'); return 1;",
            json!(1),
            json!(["bash", {"command": "make -j2"}]),
        ),
        (
            "await ctx.tool('git', { args: ['log', '--format=%h %s', \"it's; rm -rf $HOME\"] }); return 1;",
            json!(1),
            json!(["bash", {"command": "git log '--format=%h %s' 'it'\\''s; rm -rf $HOME'"}]),
        ),
        (
            "await ctx.git('status', '--short'); return 1;",
            json!(1),
            json!(["bash", {"command": "git status --short"}]),
        ),
    ];
    let mut wrong = Vec::new();
    for (body, expected, call) in cases {
        let broker = TestBroker::default();
        let text = format!("export async function run(ctx, inputs) {{ {body} }}");
        let ran = run_modules(&[module("run.mjs", &text)], &json!({}), LONG, &broker);
        let called = broker.called.lock().expect("a lock").clone();
        let called: Vec<Value> =
            called.into_iter().map(|(tool, given)| json!([tool, given])).collect();
        if ran != Ok(expected) || called != [call] {
            wrong.push(format!("{body}: {ran:?} {called:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// What a script tries, and the start of the error or the JSON that it ends with.
const HOSTILE: &[(&str, &str)] = &[
    ("throw new Error('thrown');", "thrown"),
    ("return Promise.reject('rejected');", "rejected"),
    ("await new Promise(() => {});", "it never settles"),
    ("while (true) {}", "it took longer than"),
    (
        "for await (const a of (async function* () { while (true) yield 1; })()) {}",
        "it took longer than",
    ),
    ("return new Array(1e9) + '';", "*"),
    ("return 'ab'.repeat(2 ** 20).replaceAll('a', 'b'.repeat(1000)).length;", "*"),
    ("const all = []; while (true) all.push('x'.repeat(1e6));", "*"),
    ("const f = () => f() + 1; return f();", "RangeError"),
    ("const a = {}; a.a = a; return a;", "TypeError: circular"),
    ("return { a: 'x'.repeat(100 * 1024 * 1024) };", "*"),
    ("return 'x'.repeat(200000);", "its result has 200002 bytes; at most 100000 are allowed"),
    ("return () => 1;", "it returned a function, which is no JSON"),
    ("return Symbol('a');", "it returned a symbol, which is no JSON"),
    ("return 1n;", "TypeError"),
    ("return (await import('../secret.mjs')).default;", "*../secret.mjs"),
    ("return (await import('/etc/passwd')).default;", "*/etc/passwd"),
    ("return (await import('https://example.com/a.mjs')).default;", "*https://example.com/a.mjs"),
    ("return (await import('node:fs')).default;", "*node:fs"),
    ("return (await import('fs')).default;", "*fs"),
    ("return (await import('./missing.mjs')).default;", "*./missing.mjs"),
    ("return (await import('data:text/javascript,export default 1')).default;", "*data:"),
    ("return (await import('agent-file/run.mjs')).default;", "*agent"),
    (
        "return [typeof fetch, typeof Headers, typeof Request, typeof WebSocket, typeof Worker, typeof process, typeof require];",
        "= [\"undefined\",\"undefined\",\"undefined\",\"undefined\",\"undefined\",\"undefined\",\"undefined\"]",
    ),
    ("ctx.tool = () => 1;", "TypeError"),
    ("ctx.tools.read = () => 1;", "TypeError"),
    ("Object.defineProperty(ctx, 'tool', { value: 1 });", "TypeError"),
    ("Object.setPrototypeOf(ctx, { tool: 1 });", "TypeError"),
    ("delete ctx.tool;", "TypeError"),
    ("ctx.__proto__.polluted = 1; return typeof ctx.polluted;", "= \"number\""),
    ("return Object.isFrozen(ctx);", "= true"),
    (
        "JSON.stringify = () => '{\"op\":\"fetch\",\"url\":\"file:///etc/passwd\"}'; return (await ctx.tool('closed')).output;",
        "refused: `closed`",
    ),
    ("return await ctx.tool('closed', {});", "refused: `closed`"),
    ("return await ctx.tools.closed();", "refused: `closed`"),
    ("const a = {}; a.a = a; return await ctx.tool('echo', a);", "TypeError: circular"),
    ("return await ctx.tool('echo', 1n);", "TypeError"),
    ("return await ctx.tool({ toString() { throw new Error('odd'); } });", "odd"),
    (
        "let deep = {}; for (let n = 0; n < 200; n++) deep = { deep }; return await ctx.tool('echo', deep);",
        "TypeError: not a request",
    ),
    ("return await ctx.tool('slow');", "it took longer than"),
    (
        "await Promise.all(Array.from({ length: 100 }, () => ctx.tool('slow')));",
        "at most 64 requests wait at once",
    ),
    ("return await ctx.bash('x', { command: 'y' });", "*"),
    ("return await ctx.bm25('x');", "`ctx.bm25` is not available here"),
    ("return await ctx.verify();", "`ctx.verify` is not available here"),
    ("return await ctx.readFile('x', { path: '/etc/passwd' });", "*"),
];

#[test]
fn hostile_scripts_read_nothing_outside() {
    let mut wrong = Vec::new();
    for (body, expected) in HOSTILE {
        let text = format!("export async function run(ctx, inputs) {{ {body}\n}}");
        let modules = [module("run.mjs", &text)];
        let is_endless = expected.starts_with("it took longer") || expected == &"*";
        let time = if is_endless { SHORT } else { LONG };
        let began = Instant::now();
        let ran = run_modules(&modules, &json!({}), time, &TestBroker::default());
        assert!(began.elapsed() < time + SLACK, "{body}: {:?}", began.elapsed());
        let shown = match &ran {
            Ok(value) => format!("= {value}"),
            Err(failure) => failure.to_string(),
        };
        let is_met = match expected.strip_prefix('*') {
            Some(part) => shown.contains(part),
            None => shown.starts_with(expected),
        };
        assert!(!shown.contains("root:"), "{body}: {shown}");
        if !is_met {
            wrong.push(format!("{body}: {shown}"));
        }
        assert_eq!(script("return 1 + 1;"), Ok(json!(2)), "after {body}");
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// What a script left behind is not answered any more: its job is over.
#[test]
fn calls_after_the_end_of_a_script_are_ignored() {
    let broker = TestBroker::default();
    let text = "export function run(ctx) { setTimeout(() => ctx.tool('echo', { late: 1 }), 0); return 'done'; }";
    let ran = run_modules(&[module("run.mjs", text)], &json!({}), LONG, &broker);
    assert_eq!(ran, Ok(json!("done")));
    assert!(broker.called.lock().expect("a lock").is_empty());
}
