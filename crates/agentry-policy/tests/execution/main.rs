//! Runs lines with the verdict `allow`, and checks that they run only what the rules allow.
//!
//! ```text
//! grammar, mutations, tables ─▶ line ─▶ Judge ─ allow ─▶ bash, confined, with logging stand-ins
//!                                                          │ every argv, every changed file
//!                                                          ▼
//!                                            the rules again, on what really happened
//! ```
//!
//! The lines are the same in every run. `AGENTRY_EXECUTION_LINES=100000` makes more of them, and
//! `AGENTRY_EXECUTION_SEED` makes different ones.
#![expect(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod generate;
mod generator;
mod oracle;
mod rule_sets;
mod sandbox;
#[path = "../table/mod.rs"]
mod table;
mod vectors;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::thread;

use generator::Generator;
use oracle::{Oracle, Result as Ran};
use rule_sets::{RuleSet, rule_sets};
use sandbox::{Effects, Sandbox};

/// How many lines are generated in an ordinary run.
const LINES: usize = 2_000;
/// The run stops after this many failures, because more of them show nothing new.
const MAX_HOLES: usize = 40;

#[test]
fn allowed_lines_execute_only_allowed_commands() {
    let Some(_) = sandbox() else { return };
    let lines = number("AGENTRY_EXECUTION_LINES").unwrap_or(LINES);
    let seed = number("AGENTRY_EXECUTION_SEED").unwrap_or(1);
    let workers = thread::available_parallelism().map_or(1, usize::from).min(4);
    let work = |worker: usize| work(seed * 1000 + worker, lines.div_ceil(workers));
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker")).collect()
    });
    let mut all = Tally::default();
    tallies.into_iter().for_each(|tally| all.add(tally));
    println!("{all}");
    assert!(all.allowed * 20 > all.judged, "hardly any line is allowed: {all}");
    assert!(all.holes.is_empty(), "{all}");
}

#[test]
fn stand_in_programs_log_every_call() {
    let Some(mut sandbox) = sandbox() else { return };
    let Effects { calls, changes } =
        sandbox.run("ls 'a b'; env cat b > c; no-such").expect("an end");
    let calls: Vec<String> = calls.iter().map(|call| call.argv.join("|")).collect();
    assert_eq!(calls, ["ls|a b", "env|cat|b", "cat|b", "no-such"]);
    assert_eq!(changes, ["/workspace/c"]);
    assert!(sandbox.run("while :; do :; done").is_none());
    let Effects { calls, changes } = sandbox.run("/bin/ls & ./rm").expect("an end");
    let mut calls: Vec<String> = calls.iter().map(|call| call.argv.join("|")).collect();
    calls.sort();
    assert_eq!(calls, ["./rm", "/bin/ls"]);
    assert_eq!(changes, [""; 0]);
}

#[test]
fn generated_lines_depend_only_on_their_bytes() {
    let lines: BTreeSet<String> =
        (0..50).map(|byte| generate::line_of(vec![byte; usize::from(byte)])).collect();
    assert!(lines.len() > 25, "{lines:?}");
    assert_eq!(generate::line_of(vec![7; 30]), generate::line_of(vec![7; 30]));
}

/// Starts a sandbox, unless this machine has none.
fn sandbox() -> Option<Sandbox> {
    match Sandbox::new(Vec::new()) {
        Ok(sandbox) => Some(sandbox),
        Err(why) => {
            eprintln!("SKIPPED: no line was run: {why}");
            None
        }
    }
}

/// The results of a run.
#[derive(Default)]
struct Tally {
    judged: usize,
    allowed: usize,
    commands: usize,
    without_result: usize,
    /// The shortest line for each kind of failure.
    holes: BTreeMap<String, String>,
}

fn work(seed: usize, lines: usize) -> Tally {
    let vectors = vectors::groups();
    let mut sets = rule_sets();
    let own = sets.len();
    sets.extend(vectors.iter().map(|group| RuleSet::new(&group.name, group.judge.clone())));
    let mut generator = Generator::new(seed as u64, vectors);
    let mut oracle = Oracle::new(generator.names()).expect("a sandbox");
    let mut tally = Tally::default();
    while tally.judged < lines && tally.holes.len() < MAX_HOLES {
        let (line, group) = generator.line();
        // Lines of the tables are also judged by the rules of their group.
        let group = group.map(|group| own + group);
        for set in (0..own).chain(group).filter_map(|at| sets.get(at)) {
            tally.judge(&line, set, &mut oracle);
        }
    }
    tally
}

impl Tally {
    fn judge(&mut self, line: &str, set: &RuleSet, oracle: &mut Oracle) {
        self.judged += 1;
        if !set.allows(line) {
            return;
        }
        self.allowed += 1;
        match oracle.run(line, set) {
            Ran::Nothing => self.without_result += 1,
            Ran::Fine(commands) => self.commands += commands,
            Ran::Hole(what) => {
                let least = oracle.shrink(line, set);
                let found = format!("under {}: {what}", set.name);
                self.holes.entry(found).or_insert(least);
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.judged += other.judged;
        self.allowed += other.allowed;
        self.commands += other.commands;
        self.without_result += other.without_result;
        self.holes.extend(other.holes);
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { judged, allowed, commands, without_result, holes } = self;
        writeln!(
            f,
            "{judged} lines judged, {allowed} of them allow: {commands} commands ran, \
             {without_result} lines without a result, {} holes",
            holes.len()
        )?;
        holes.iter().try_for_each(|(what, line)| writeln!(f, "  {what}\n    {line:?}"))
    }
}

fn number(name: &str) -> Option<usize> {
    env::var(name).ok()?.parse().ok()
}
