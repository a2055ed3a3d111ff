//! `agentry test`: whether agents still do what was recorded, and their policies what their authors say.

use std::path::Path;
use std::sync::Arc;

use agentry_compile::tested;
use serde_json::{Value, json};

use crate::args::{ResultFormat, Test};
use crate::command::find;
use crate::command::run::ground::Ground;
use crate::command::run::{cassettes, replay};
use crate::disk::Disk;
use crate::output::{Exit, complain, print, print_json};

/// One test.
struct Tested {
    agent: String,
    what: &'static str,
    name: String,
    /// Why it failed, and how that looks.
    failed: Option<(String, String)>,
}

pub(crate) fn run(args: &Test) -> Exit {
    let disk = Disk::default();
    let paths = if args.agents.is_empty() { vec![".".to_owned()] } else { args.agents.clone() };
    let (agents, wrong) = find(&disk, &paths, args.format_override);
    let mut exit = Exit::Done;
    for failure in &wrong {
        complain(failure);
        exit = exit.max(failure.exit);
    }
    let mut all = Vec::new();
    for found in &agents {
        match Ground::read(&found.path, Some(found.format)) {
            Ok(ground) => {
                policy(&ground, &mut all);
                replays(&ground, &mut all);
            }
            Err(failure) => {
                complain(&failure);
                exit = exit.max(failure.exit);
            }
        }
    }
    match args.format {
        ResultFormat::Json => print_json(&to_json(&all)),
        ResultFormat::Human => print(&to_text(&all)),
    }
    let failed = all.iter().any(|test| test.failed.is_some());
    if failed { exit.max(Exit::Findings) } else { exit }
}

/// The examples beside the rules.
fn policy(ground: &Ground, all: &mut Vec<Tested>) {
    for (test, verdict) in tested(&*ground.disk, &ground.compiled) {
        let test = &test.value;
        let holds = test.expected.holds(verdict.action);
        all.push(Tested {
            agent: ground.path().to_owned(),
            what: "policy",
            name: format!("{} {} {}", test.expected, test.section, test.subject),
            failed: (!holds).then(|| (format!("it is {}", verdict.action), String::new())),
        });
    }
}

/// The cassettes beside the agent.
fn replays(ground: &Ground, all: &mut Vec<Tested>) {
    for path in cassettes(ground).unwrap_or_default() {
        let failed = match replay::play(ground, &path, None, &(Arc::new(|_| {}) as _)) {
            Err(failure) => Some((failure.message, String::new())),
            // However it ended: it ended so when it was recorded.
            Ok(replayed) => {
                replayed.difference.map(|difference| (difference.message, difference.diff))
            }
        };
        let name = path.file_name().unwrap_or(Path::new("").as_os_str()).to_string_lossy();
        let (agent, name) = (ground.path().to_owned(), name.into_owned());
        all.push(Tested { agent, what: "replay", name, failed });
    }
}

fn to_json(all: &[Tested]) -> Value {
    let test = |test: &Tested| {
        json!({
            "agent": test.agent,
            "kind": test.what,
            "name": test.name,
            "passed": test.failed.is_none(),
            "message": test.failed.as_ref().map(|(why, _)| why),
            "diff": test.failed.as_ref().map(|(_, diff)| diff).filter(|diff| !diff.is_empty()),
        })
    };
    let failed = all.iter().filter(|test| test.failed.is_some()).count();
    json!({
        "tests": all.iter().map(test).collect::<Vec<_>>(),
        "summary": { "tests": all.len(), "failed": failed },
    })
}

fn to_text(all: &[Tested]) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    let mut agent = "";
    for test in all {
        if test.agent != agent {
            let _ = writeln!(out, "{}", test.agent);
            agent = &test.agent;
        }
        let state = if test.failed.is_some() { "FAILED" } else { "ok" };
        let _ = writeln!(out, "  {} {}  {state}", test.what, test.name);
        if let Some((why, diff)) = &test.failed {
            let _ = writeln!(out, "    {why}");
            for line in diff.lines() {
                let _ = writeln!(out, "    {line}");
            }
        }
    }
    let failed = all.iter().filter(|test| test.failed.is_some()).count();
    let summary = match (all.len(), failed) {
        (0, _) => "nothing to test: record a cassette with `agentry run --record`, or write examples in a `policy-tests` block".to_owned(),
        (1, 0) => "1 test passed".to_owned(),
        (count, 0) => format!("{count} tests passed"),
        (count, failed) => format!("{failed} of {count} tests failed"),
    };
    out + &summary + "\n"
}
