//! Measures verdicts, and comparisons of two policies.
//!
//! A verdict is compared with the parsers that it needs, on the same lines in the same run. Files are not
//! read, since the disk is not part of the policy. Times are processor times, so that a busy machine does
//! not count.

mod samples;

use std::hint::black_box;
use std::time::Duration;

use agentry_policy::compare::{RefinementAnswer, refines};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::path::NoLinks;
use agentry_policy::{SectionCall, Judge, HazardProtection, Section};
use nix::time::{ClockId, clock_gettime};

use crate::report::{Row, Table, seconds};
use samples::{LINES, judge, rules};

/// The number of verdicts for every line.
const ROUNDS: usize = 400;
/// The number of rules of a policy.
const RULES: usize = 100;
/// The largest number of rules that people write in a section.
const MOST_RULES: usize = 200;
/// The limits of a verdict: the median, and the 99th percentile.
const MEDIAN: Duration = Duration::from_micros(50);
const SLOW: Duration = Duration::from_micros(200);
/// The limit of a verdict, in multiples of the parsing time.
const TIMES_PARSING: f64 = 3.0;
/// The time limit of a comparison.
const COMPARISON: Duration = Duration::from_millis(50);
/// The time limit of a comparison of two large policies.
const LARGE_COMPARISON: Duration = Duration::from_secs(1);
/// The limit for a hundred times as many commands: linear, with a margin for caches.
const HUNDREDFOLD: f64 = 150.0;

/// Verdicts on ordinary lines, and on long chains.
pub(crate) fn verdicts(table: &mut Table) {
    eprintln!("judging command lines by {RULES} rules");
    let judge = judge(RULES);
    let mut parsers = Parsers::new();
    let (mut verdicts, mut parses) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for line in LINES {
            let verdict = timed(|| decide(&judge, line));
            let parse = timed(|| parsers.read(line));
            // The first round fills the caches and does not count.
            if round > 0 {
                verdicts.push(verdict);
                parses.push(parse);
            }
        }
    }
    let total = |times: &[Duration]| times.iter().sum::<Duration>();
    let (spent, parsing) = (total(&verdicts), total(&parses));
    verdicts.sort();
    let at = |share: usize| verdicts.get(verdicts.len() * share / 100).copied().unwrap_or_default();
    table.add(within("verdict, median".to_owned(), at(50), MEDIAN));
    table.add(within("verdict, 99 of 100".to_owned(), at(99), SLOW));
    let count = u32::try_from(verdicts.len()).unwrap_or(1).max(1);
    let what = "verdict / both parsers".to_owned();
    table.add(times(what, (spent / count, parsing / count, "parsing"), TIMES_PARSING));
    chains(&judge, table);
    let kinds = LINES.len();
    table.note(format!(
        "{kinds} ordinary command lines, {RULES} rules: {} a verdict",
        seconds(spent / count)
    ));
}

/// Verdicts on lines of 80 and of 8,000 chained commands. A longer line is not analysed at all.
fn chains(judge: &Judge, table: &mut Table) {
    let [short, long] = [80, 8_000].map(|count| "git log -5 && ".repeat(count) + "ls");
    let best = |line: &str, rounds: usize| {
        // The minimum, because the long line is measured too rarely for a median.
        (0..rounds).map(|_| timed(|| decide(judge, line))).min().unwrap_or_default()
    };
    let (few, many) = (best(&short, 50), best(&long, 5));
    let what = "verdict on 8000 chained commands / 80".to_owned();
    table.add(times(what, (many, few, "80 commands"), HUNDREDFOLD));
    table.note(format!("8000 chained commands: {} each", seconds(many / 8_000)));
}

/// Whether one policy is within another.
pub(crate) fn comparisons(table: &mut Table) {
    for (count, limit) in [(RULES, COMPARISON), (MOST_RULES, LARGE_COMPARISON)] {
        compare(count, limit, table);
    }
}

/// Whether one policy of `count` rules lies within another.
fn compare(count: usize, limit: Duration, table: &mut Table) {
    eprintln!("comparing policies of {count} rules");
    let [one, other] = [0, 1].map(|version| rules(count, version));
    let mut best: Option<Duration> = None;
    let mut is_known = true;
    for _ in 0..5 {
        // Policies and comparisons are memoised, so every round starts with a new memo and new policies.
        let memo = PolicyMemo::default();
        let (one, other) = (one.compile(), other.compile());
        let mut answer = None;
        let time = timed(|| answer = Some(refines(&memo, &[&one], &[&other], HazardProtection::On)));
        is_known &= !matches!(answer, Some(RefinementAnswer::Unknown(_)) | None);
        best = Some(best.map_or(time, |best| best.min(time)));
    }
    let mut row = within(
        format!("one policy of {count} rules within another"),
        best.unwrap_or_default(),
        limit,
    );
    // A fast «unknown» is no result.
    row.is_met &= is_known;
    if !is_known {
        row.measured += ", no answer";
    }
    table.add(row);
}

fn decide(judge: &Judge, line: &str) {
    let call = SectionCall { section: Section::Bash, subject: line, directory: "/workspace" };
    black_box(judge.judge(call, &NoLinks));
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = worked();
    work();
    worked().saturating_sub(start)
}

/// The processor time of this thread.
fn worked() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

/// The two parsers that every verdict needs.
struct Parsers {
    options: brush_parser::ParserOptions,
}

impl Parsers {
    fn new() -> Self {
        let options =
            brush_parser::ParserOptions { enable_extended_globbing: false, ..Default::default() };
        Self { options }
    }

    fn read(&mut self, line: &str) {
        let mut parser = tree_sitter::Parser::new();
        let is_known = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
        black_box(is_known.then(|| parser.parse(line, None)));
        let tokens = brush_parser::uncached_tokenize_str(line, &self.options.tokenizer_options());
        if let Ok(tokens) = tokens {
            let _ = black_box(brush_parser::parse_tokens(&tokens, &self.options));
        }
    }
}

fn within(what: String, time: Duration, most: Duration) -> Row {
    Row {
        what,
        measured: seconds(time),
        ratio: String::new(),
        target: format!("< {}", seconds(most)),
        is_met: time < most,
    }
}

fn times(what: String, (ours, theirs, name): (Duration, Duration, &str), most: f64) -> Row {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    Row {
        what,
        measured: format!("{} to {} of {name}", seconds(ours), seconds(theirs)),
        ratio: format!("{ratio:.1}"),
        target: format!("≤ {most:.1}"),
        is_met: ratio <= most,
    }
}
