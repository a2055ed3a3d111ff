//! `agentry test`: plays the cassettes of agents, and checks the examples of their policies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_compile::tested;
use serde_json::{Value, json};

use crate::args::{ResultFormat, TestArguments};
use crate::command::find;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::{cassettes, replay};
use crate::disk::DiskWorld;
use crate::output::{ExitKind, complain, print, print_json, remark};

/// Part of the name of every cassette.
const CASSETTE: &str = ".cassette.";

/// The result of one test.
struct TestOutcome {
    agent: String,
    what: &'static str,
    name: String,
    /// The reason of a failure, and its details.
    failed: Option<(String, String)>,
}

pub(crate) fn run(args: &TestArguments) -> ExitKind {
    let disk = DiskWorld::default();
    let paths = if args.agents.is_empty() { vec![".".to_owned()] } else { args.agents.clone() };
    let (agents, wrong) = find(&disk, &paths, args.format_override);
    let mut exit = ExitKind::Done;
    for failure in &wrong {
        complain(failure);
        exit = exit.max(failure.exit);
    }
    let (mut all, mut agents_read, mut played) = (Vec::new(), Vec::new(), BTreeSet::new());
    for found in &agents {
        match PreparedAgent::read(&found.path, Some(found.format)) {
            Ok(ground) => {
                policy(&ground, &mut all);
                played.extend(replays(&ground, &mut all));
                agents_read.push(ground.path().trim_end_matches('/').to_owned());
            }
            Err(failure) => {
                complain(&failure);
                exit = exit.max(failure.exit);
            }
        }
    }
    for (path, name) in unplayed(&agents_read, &played) {
        let (path, name) = (path.display(), name.display());
        remark(&format!("`{path}` is not played: a cassette is looked for as `{name}`"));
        if all.is_empty() {
            exit = exit.max(ExitKind::Findings);
        }
    }
    match args.format {
        ResultFormat::Json => print_json(&to_json(&all)),
        ResultFormat::Human => print(&to_text(&all)),
    }
    let failed = all.iter().any(|test| test.failed.is_some());
    if failed { exit.max(ExitKind::Findings) } else { exit }
}

/// Tests the examples beside the rules.
fn policy(ground: &PreparedAgent, all: &mut Vec<TestOutcome>) {
    for (test, verdict) in tested(&*ground.disk, &ground.compiled) {
        let test = &test.value;
        let holds = test.expected.holds(verdict.action);
        all.push(TestOutcome {
            agent: ground.path().to_owned(),
            what: "policy",
            name: format!("{} {} {}", test.expected, test.section, test.subject),
            failed: (!holds).then(|| (format!("it is {}", verdict.action), String::new())),
        });
    }
}

/// Plays the cassettes beside the agent.
fn replays(ground: &PreparedAgent, all: &mut Vec<TestOutcome>) -> Vec<PathBuf> {
    let found = cassettes(ground).unwrap_or_default();
    for path in &found {
        let output_sink = Arc::new(|_| {}) as _;
        let tape = replay::open(ground, path);
        let played = tape.and_then(|tape| replay::play(ground, tape, (None, None), &output_sink));
        let failed = match played {
            Err(failure) => Some((failure.message, String::new())),
            // Any ending passes: a different one would be a difference from the recording.
            Ok(replayed) => {
                replayed.difference.map(|difference| (difference.message, difference.diff))
            }
        };
        let name = path.file_name().unwrap_or(Path::new("").as_os_str()).to_string_lossy();
        let (agent, name) = (ground.path().to_owned(), name.into_owned());
        all.push(TestOutcome { agent, what: "replay", name, failed });
    }
    found
}

/// Cassettes in and beside agents that belong to no agent, with the names under which they would be
/// played.
fn unplayed(agents: &[String], played: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, PathBuf> {
    let played: BTreeSet<PathBuf> = played.iter().filter_map(|it| it.canonicalize().ok()).collect();
    let mut out = BTreeMap::new();
    for agent in agents.iter().map(Path::new) {
        let Some(name) = agent.file_name().and_then(|name| name.to_str()) else { continue };
        // A cassette is often named after the agent without its file extension.
        let name = name.split('.').next().filter(|name| !name.is_empty()).unwrap_or(name);
        let parent = agent.parent().unwrap_or(Path::new(""));
        for directory in [agent, parent] {
            let inside = names(directory);
            let belongs = |head: &str| {
                let starts = |name: &String| {
                    name.strip_prefix(head).is_some_and(|it| it.is_empty() || it.starts_with('.'))
                };
                let others = inside.iter().filter(|name| !name.contains(CASSETTE));
                // A file inside an agent is not an agent.
                directory == parent && others.into_iter().any(starts)
            };
            for file in inside.iter().filter(|file| !is_part(file)) {
                let Some((head, tail)) = file.split_once(CASSETTE) else { continue };
                let path = directory.join(file);
                if belongs(head) || path.canonicalize().is_ok_and(|path| played.contains(&path)) {
                    continue;
                }
                let of = if head.is_empty() || head == name {
                    String::new()
                } else {
                    format!("{head}.")
                };
                let wanted = parent.join(format!("{name}{CASSETTE}{of}{tail}"));
                out.entry(path).or_insert(wanted);
            }
        }
    }
    out
}

/// Whether a cassette is still incomplete.
fn is_part(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|end| end == "part")
}

/// The names in a directory; none if it is not a directory.
fn names(directory: &Path) -> Vec<String> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn to_json(all: &[TestOutcome]) -> Value {
    let test = |test: &TestOutcome| {
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

fn to_text(all: &[TestOutcome]) -> String {
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
