//! Runs the table of hostile code. None of it reads a file, a variable, the network or another call's
//! state, none outlives its deadline by much, and this process goes on.

use std::time::{Duration, Instant};

use agentry_javascript::{CodePlace, JobFailure, ScriptBlock};
use serde_json::{Value, json};

use crate::broker::{GRANTED, LONG, POOL, TestBroker, block_on, call, probe, run};
use crate::table::{Expectation, HOSTILE, HostileScript};

/// A variable of this process that no call is granted.
const SECRET: &str = "CARGO_MANIFEST_DIR";
/// The time of rows that never end.
const SHORT: Duration = Duration::from_millis(300);
/// How late a deadline may be noticed on a busy machine.
const SLACK: Duration = Duration::from_secs(10);

#[test]
fn hostile_code_reads_nothing_outside() {
    assert!(HOSTILE.len() >= 80, "{}", HOSTILE.len());
    let secret = std::env::var(SECRET).expect("a variable that cargo sets");
    let mut wrong = Vec::new();
    let mut latest = Duration::ZERO;
    for row in HOSTILE {
        let broker = TestBroker::default();
        let is_endless = matches!(row.expected, Expectation::TimesOut | Expectation::Ends);
        let time = if is_endless { SHORT } else { LONG };
        let began = Instant::now();
        let result = call(&row.blocks(), &json!({}), time, &broker);
        if matches!(result, Err(JobFailure::TimedOut(_))) {
            latest = latest.max(began.elapsed().saturating_sub(time));
        }
        if !row.is_met_by(&result) {
            wrong.push(format!("{}: {result:?}", row.name));
        }
        let log = broker.log.lock().expect("a lock");
        let shown = format!("{result:?} {log:?} {:?}", broker.asked.lock().expect("a lock"));
        assert!(!shown.contains(&secret), "{}: {shown}", row.name);
        assert!(!shown.contains("root:"), "{}: {shown}", row.name);
        // Whatever happened, the next call works.
        assert_eq!(run("return 1 + 1;"), Ok(json!(2)), "after {}", row.name);
    }
    eprintln!("{} rows; the latest deadline was noticed after {latest:?}", HOSTILE.len());
    assert!(latest < SLACK, "{latest:?}");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn calls_do_not_share_state() {
    let leaves = [
        "globalThis.left = 'here'; return 1;",
        "Object.prototype.left = 'here'; return 1;",
        "Array.prototype.map = () => ['here']; JSON.parse = () => 'here'; return 1;",
        "Promise.prototype.then = function () { return 'here'; }; return 1;",
        "setInterval(() => { globalThis.left = 'here'; }, 0); return 1;",
        "String.prototype.toWellFormed = () => 'here'; globalThis.fetch = () => 'here'; return 1;",
    ];
    let look = "return [typeof left, typeof ({}).left, [1].map((n) => n), JSON.parse('2'), await 3, String(4).toWellFormed()];";
    for code in leaves {
        let _ = run(code);
        assert_eq!(
            run(look),
            Ok(json!(["undefined", "undefined", [1], 2, 3, "4"])),
            "after `{code}`"
        );
    }
}

#[test]
fn only_granted_variables_are_visible() {
    let expected = json!([[GRANTED.0], GRANTED.1, null, true]);
    let code = "return [Object.keys(ctx.env), ctx.env.GRANTED, ctx.env.PATH ?? null, Object.isFrozen(ctx.env)];";
    assert_eq!(run(code), Ok(expected));
}

#[test]
fn a_killed_worker_fails_its_own_call_only() {
    let blocks = [
        probe("while (true) {}"),
        probe("await new Promise((r) => setTimeout(r, 200)); return 'fine';"),
    ];
    let broker = TestBroker::default();
    let (endless, fine) = block_on(async {
        let arguments = json!({});
        let job = |time| {
            (
                agentry_javascript::ToolJob { tool: "probe", arguments: &arguments, env: &[] },
                agentry_javascript::JobLimits { time, ..Default::default() },
            )
        };
        let ((first, short), (second, long)) = (job(SHORT), job(LONG));
        tokio::join!(
            POOL.call(&blocks[0], &first, short, &broker),
            POOL.call(&blocks[1], &second, long, &broker),
        )
    });
    assert_eq!(endless, Err(JobFailure::TimedOut(SHORT)));
    assert_eq!(fine, Ok(json!("fine")));
}

#[test]
fn a_dropped_call_kills_its_worker() {
    let blocks = probe("while (true) {}");
    let broker = TestBroker::default();
    block_on(async {
        let arguments = json!({});
        let job = agentry_javascript::ToolJob { tool: "probe", arguments: &arguments, env: &[] };
        let limits = agentry_javascript::JobLimits { time: LONG, ..Default::default() };
        let called = POOL.call(&blocks, &job, limits, &broker);
        assert!(tokio::time::timeout(SHORT, called).await.is_err());
    });
    assert_eq!(run("return 1;"), Ok(json!(1)));
}

#[test]
fn errors_have_a_position_in_the_file() {
    let block = |line, text: &str| vec![ScriptBlock { line, text: text.to_owned() }];
    let tool = |body: &str| {
        format!("return {{ probe: {{ scheme: {{}}, fn: async (args, ctx) => {{\n{body}\n}} }} }};")
    };
    let cases = [
        (block(12, &tool("  throw new Error('no')")), "no", Some((13, 13))),
        (
            block(12, &tool("  null.x")),
            "TypeError: cannot read property 'x' of null",
            Some((13, 3)),
        ),
        (
            block(7, &tool("  const ä = 'öü'; throw new RangeError(ä)")),
            "RangeError: öü",
            Some((8, 40)),
        ),
        (block(30, "const a = 1;\nlet let = 2;"), "SyntaxError", Some((31, 5))),
        (block(3, "throw new Error('at once')"), "at once", Some((3, 11))),
        (
            block(2, "return 5;"),
            "the block returns a value of type int; it must return an object",
            Some((2, 1)),
        ),
        (
            block(5, &tool("await fetch('https://closed.example/')")),
            "TypeError: refused: no rule allows it",
            Some((6, 7)),
        ),
        (block(5, &tool("throw 'only text'")), "only text", None),
        (
            block(5, &tool("throw { stack: 'agent-file:9999:1', message: 'forged' }")),
            "forged",
            None,
        ),
        (
            block(5, &tool("throw { get stack() { throw 1; }, get message() { throw 2; } }")),
            "it failed without a message",
            None,
        ),
        (block(5, &tool("throw null")), "it failed without a message", None),
        (block(5, &tool("Error.prepareStackTrace = () => 5; throw new Error('odd')")), "odd", None),
    ];
    let mut wrong = Vec::new();
    for (blocks, message, place) in cases {
        let found = call(&blocks, &json!({}), LONG, &TestBroker::default());
        let Err(JobFailure::Threw { message: found_message, place: found_place, .. }) = &found
        else {
            panic!("{blocks:?}: {found:?}");
        };
        assert!(found_message.starts_with(message), "{blocks:?}: {found_message}");
        let found_place = found_place.map(|CodePlace { line, column }| (line, column));
        if found_place != place {
            wrong.push(format!("{blocks:?}: {found_message}: {found_place:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

impl HostileScript {
    fn blocks(&self) -> Vec<ScriptBlock> {
        match self.code.strip_prefix("block: ") {
            Some(text) => vec![ScriptBlock { line: 10, text: text.to_owned() }],
            None => probe(self.code),
        }
    }

    fn is_met_by(&self, result: &Result<Value, JobFailure>) -> bool {
        match (&self.expected, result) {
            (Expectation::Returns(json), Ok(value)) => {
                *value == serde_json::from_str::<Value>(json).expect("JSON")
            }
            (Expectation::Fails(part), Err(JobFailure::Threw { message, .. })) => {
                message.contains(part)
            }
            (Expectation::TimesOut, Err(JobFailure::TimedOut(_)))
            // It may also run out of memory first.
            | (Expectation::Ends, Err(_)) => true,
            _ => false,
        }
    }
}
