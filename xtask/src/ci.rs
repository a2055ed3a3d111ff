//! `cargo xtask ci`: runs every check, the cheapest first.
//!
//! The first failing step ends the run. A step that cannot run here is reported as skipped, also at the
//! end. Every step that builds names the whole workspace: then Cargo chooses the same features each time,
//! and nothing is compiled twice.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::{self, cargo};
use crate::step::{self, Outcome};
use crate::{conformance, deny, dist, docs, install, targets, tidy};

/// The extent of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    Full,
    /// Everything but rustdoc and other systems.
    Fast,
}

struct Step {
    name: &'static str,
    what: &'static str,
    work: fn() -> Result<Outcome, String>,
    in_fast: bool,
}

const STEPS: &[Step] = &[
    step("tools", "what the steps need beyond Rust itself", || done(install::ensure())),
    step("format", "cargo fmt --all -- --check", || command("fmt --all -- --check")),
    step("lint", "cargo clippy --workspace --all-targets -- -D warnings", || {
        command("clippy --workspace --all-targets -- -D warnings")
    }),
    step("tidy", "arrows, sizes, words, code map, openings, purity", || done(tidy::run())),
    step(
        "tests",
        "cargo test --workspace; no file of the repository may change",
        tests_change_nothing,
    ),
    step("packages", "packages of the built program, each installed in an empty place", || {
        done(dist::run(&dist::DistRequest::parse(&["--binary", "target/debug/agentry"])?))
    }),
    step("features", "cargo test --features agentry/otel, of the telemetry alone", || {
        command("test --workspace --features agentry/otel --test telemetry -- --quiet")
    }),
    Step {
        in_fast: false,
        ..step("rustdoc", "cargo doc, with warnings as errors", || {
            done(process::run(&mut docs::rustdoc()))
        })
    },
    Step {
        in_fast: false,
        ..step("targets", "cargo check --target, for macOS and Windows", || {
            targets::run(targets::IN_CI)
        })
    },
    step("links", "links and anchors of the pages", || done(docs::check_links())),
    step("mcp", "the conformance suite of MCP, and real servers", conformance::mcp),
    step("serving", "the official clients of ACP and MCP, with agents", conformance::serving),
    step("clients", "the real clients, asked about rendered agents", conformance::step),
    step("deny", "licences, wildcards and sources of the dependencies", || done(deny::run())),
];

const fn step(
    name: &'static str,
    what: &'static str,
    work: fn() -> Result<Outcome, String>,
) -> Step {
    Step { name, what, work, in_fast: true }
}

/// Runs the steps, up to the first failure.
pub(crate) fn run(extent: Extent) -> Result<(), String> {
    let start = Instant::now();
    let (mut skipped, mut times) = (Vec::new(), Vec::new());
    for Step { name, what, work, in_fast } in STEPS {
        if extent == Extent::Fast && !in_fast {
            println!("{}\n", step::line('!', name, "left out by --fast"));
            skipped.push(*name);
            continue;
        }
        let began = Instant::now();
        let outcome = step::run(name, what, work)
            .map_err(|message| format!("{message}\n\nci failed at `{name}`"))?;
        if outcome == Outcome::Done {
            times.push((began.elapsed(), *name));
        } else {
            skipped.push(*name);
        }
    }
    println!("{}", slowest(times));
    println!("{}", farewell(&step::seconds(start.elapsed()), &skipped));
    Ok(())
}

/// The three slowest steps.
fn slowest(mut times: Vec<(Duration, &str)>) -> String {
    times.sort_unstable_by(|one, other| other.cmp(one));
    let shown = times.iter().take(3).map(|(time, name)| format!("{name} {}", step::seconds(*time)));
    format!("longest: {}", shown.collect::<Vec<_>>().join(", "))
}

fn farewell(time: &str, skipped: &[&str]) -> String {
    match skipped {
        [] => format!("ci passed in {time}"),
        names => format!("ci passed in {time}; SKIPPED: {}", names.join(", ")),
    }
}

/// The tests, in an environment that does not depend on the user's shell.
///
/// Runs the whole workspace, unless the arguments name a package. Snapshots are compared and never
/// written, and no variable that controls `agentry` or its colours is inherited.
pub(crate) fn tests(arguments: &[&str]) -> Command {
    let is_narrowed = arguments.iter().any(|word| matches!(*word, "-p" | "--package"));
    let mut command = cargo("test --no-fail-fast");
    command.args((!is_narrowed).then_some("--workspace"));
    command.args(arguments).env("INSTA_UPDATE", "no").env("TZ", "UTC");
    for name in ["INSTA_FORCE_PASS", "CLICOLOR_FORCE", "FORCE_COLOR", "NO_COLOR"] {
        command.env_remove(name);
    }
    let own = std::env::vars_os().map(|(name, _)| name);
    // The home of a developer must not affect the tests.
    for name in own.filter(|name| name.to_string_lossy().starts_with("AGENTRY_")) {
        command.env_remove(name);
    }
    command
}

/// Runs the tests, and fails if one of them changed a file: then a generated page was stale.
fn tests_change_nothing() -> Result<Outcome, String> {
    let before = fingerprint();
    // A dot for each test; failures are named at the end.
    process::run(&mut tests(&["--", "--quiet"]))?;
    let Ok(before) = before else {
        println!("SKIPPED: no Git checkout, so it cannot be checked whether a test changed a file");
        return Ok(Outcome::Done);
    };
    if fingerprint()? == before {
        return Ok(Outcome::Done);
    }
    process::run(&mut process::program("git status --short"))?;
    Err("the tests changed files; look at them, commit them and run again".to_owned())
}

/// The differences of the files from the last commit: equal before and after if nothing was rewritten,
/// whether or not the tree was clean.
fn fingerprint() -> Result<String, String> {
    let status = process::output(&mut process::program("git status --porcelain -uall"))?;
    let changes = process::output(&mut process::program("git diff HEAD --binary --no-ext-diff"))?;
    Ok(status + &changes)
}

fn command(arguments: &str) -> Result<Outcome, String> {
    done(process::run(&mut cargo(arguments)))
}

fn done(result: Result<(), String>) -> Result<Outcome, String> {
    result.map(|()| Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_lists_skipped_steps() {
        let cases = [
            (&[][..], "ci passed in 2.0 s"),
            (&["rustdoc", "deny"][..], "ci passed in 2.0 s; SKIPPED: rustdoc, deny"),
        ];
        for (skipped, expected) in cases {
            assert_eq!(farewell("2.0 s", skipped), expected, "{skipped:?}");
        }
    }

    #[test]
    fn the_three_longest_steps_are_named() {
        let times = [(1, "format"), (90, "lint"), (200, "tests"), (30, "rustdoc")];
        let times = times.map(|(seconds, name)| (Duration::from_secs(seconds), name));
        let expected = "longest: tests 3 min 20 s, lint 1 min 30 s, rustdoc 30.0 s";
        assert_eq!(slowest(times.to_vec()), expected);
    }
}
