//! Many calls, one after the other and side by side.

use std::time::Instant;

use serde_json::json;

use crate::broker::{LONG, POOL, TestBroker, block_on, probe};
use agentry_javascript::{JobLimits, ToolJob};

#[test]
fn calls_are_independent_of_each_other() {
    let blocks = probe("return args.n + 1;");
    let broker = TestBroker::default();
    let limits = JobLimits { time: LONG, ..JobLimits::default() };
    let began = Instant::now();
    block_on(async {
        for n in 0..200 {
            let arguments = json!({ "n": n });
            let job = ToolJob { tool: "PROBE", arguments: &arguments, env: &[] };
            let result = POOL.call(&blocks, &job, limits, &broker).await;
            assert_eq!(result, Ok(json!(n + 1)));
        }
    });
    eprintln!("{} µs a call", began.elapsed().as_micros() / 200);
    block_on(async {
        let arguments = json!({ "n": 1 });
        let job = ToolJob { tool: "probe", arguments: &arguments, env: &[] };
        let calls = (0..8).map(|_| POOL.call(&blocks, &job, limits, &broker));
        let results = futures_util::future::join_all(calls).await;
        assert!(results.iter().all(|result| *result == Ok(json!(2))), "{results:?}");
    });
}

#[test]
fn a_late_answer_does_not_reach_the_next_job() {
    let blocks = probe(
        "const url = 'https://open.example/text'; const first = fetch(url); fetch(url); fetch(url); return (await first).status + args.n;",
    );
    let broker = TestBroker::default();
    let limits = JobLimits { time: LONG, ..JobLimits::default() };
    block_on(async {
        for n in 0..100 {
            let arguments = json!({ "n": n });
            let job = ToolJob { tool: "probe", arguments: &arguments, env: &[] };
            let result = POOL.call(&blocks, &job, limits, &broker).await;
            assert_eq!(result, Ok(json!(200 + n)));
        }
    });
}
