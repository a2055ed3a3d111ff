//! Gaps: ways to write a command for which a harness' rules give a milder verdict than the source.
//!
//! Each blind spot is tried with commands from the source's rules. Only a blind spot that changes a verdict
//! is reported, with the line that shows it.

use std::cell::OnceCell;
use std::collections::HashSet;

use agentry_policy::compare::ExampleSubject;
use agentry_policy::path::NoLinks;
use agentry_policy::{Action, RuleList, Section, SectionCall};

use crate::blind_spots::{ANY, as_typed};
use crate::encoding::RuleEncoding;
use crate::example::command;
use crate::model::{HarnessModel, HarnessTool};
use crate::proof::action;
use crate::subject::RenderSubject;

/// A part of a command line that a harness does not check.
#[derive(Debug)]
pub struct BlindSpot {
    /// Its name, such as `redirections`.
    pub name: &'static str,
    /// The reason, in half a sentence.
    pub why: &'static str,
    /// Makes lines from a command that show the blind spot.
    pub lines: fn(&str) -> Vec<MisreadLine>,
}

/// A line that a harness misreads as less than it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MisreadLine {
    /// The line as it is typed.
    pub typed: String,
    /// The command that the harness matches its rules against.
    pub taken_for: Vec<String>,
}

impl MisreadLine {
    /// Pairs a line with the command that it is taken for.
    pub fn new(typed: impl Into<String>, taken_for: Vec<String>) -> Self {
        Self { typed: typed.into(), taken_for }
    }
}

/// The files in the arguments of a command: no harness checks them.
pub const FILES: BlindSpot = BlindSpot {
    name: "files of commands",
    why: "the files that a command is given are not looked at",
    lines: |_| ["touch x", "tee x", "rm -rf x", "cat .env", "cat /etc/passwd"].map(as_typed).into(),
};

/// The addresses in the arguments of a command: no harness checks them.
pub const ADDRESSES: BlindSpot = BlindSpot {
    name: "addresses of commands",
    why: "the addresses that a command is given are not looked at",
    lines: |_| vec![as_typed("curl https://example.com/")],
};

/// A blind spot that changes a verdict for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyGap {
    /// The name of the blind spot.
    pub name: &'static str,
    /// The reason for the blind spot.
    pub why: &'static str,
    /// A line that shows it.
    pub line: String,
    /// The command that the harness takes the line for.
    pub taken_for: Vec<String>,
    /// The verdict of the source.
    pub source: Action,
    /// The verdict of the harness.
    pub target: Action,
}

impl PolicyGap {
    /// Describes the gap for the user.
    pub fn detail(&self) -> String {
        let Self { name, why, line, source, target, .. } = self;
        format!("{name}: {why}; `{line}` is {source} in the source and {target} there")
    }
}

/// Returns the blind spots of a harness that change a verdict for an agent.
pub fn gaps(subject: &RenderSubject, model: &HarnessModel, blind: &[BlindSpot]) -> Vec<PolicyGap> {
    let Some(way) = model.ways.iter().find(|way| way.section == Section::Bash) else {
        return Vec::new();
    };
    // The tables are statics, so the address of a table identifies its harness in the memo.
    let table = blind.as_ptr().addr();
    let question = (subject.kind(), table, way.key());
    subject.memo.gaps.get(question, || tried(subject, &commands(subject), way, blind))
}

/// Tries the lines of every blind spot.
fn tried(
    subject: &RenderSubject,
    commands: &[String],
    way: &HarnessTool,
    blind: &[BlindSpot],
) -> Vec<PolicyGap> {
    let layers: Vec<&RuleList> = way.layers.iter().collect();
    let allows = layers.iter().all(|rules| rules.all().any(|rule| rule.action == Action::Allow));
    let crossed = |spot: &BlindSpot| {
        let mut lines = lines(spot, commands).into_iter();
        let first = lines.find_map(|line| crossing(subject, &layers, spot, line))?;
        if first.target == Action::Allow || !allows {
            return Some(first);
        }
        // A line that runs without a question is a better example than a line that asks.
        let mut passing = lines.filter(|line| target(&layers, line) == Action::Allow);
        Some(passing.find_map(|line| crossing(subject, &layers, spot, line)).unwrap_or(first))
    };
    blind.iter().filter_map(crossed).collect()
}

/// The lines of a blind spot, each once.
fn lines(spot: &BlindSpot, commands: &[String]) -> Vec<MisreadLine> {
    let mut seen = HashSet::new();
    let lines = commands.iter().flat_map(|command| (spot.lines)(command));
    lines.filter(|line| seen.insert(line.typed.clone())).collect()
}

/// Makes rules about commands stricter until no blind spot gives a milder verdict than the source.
pub(crate) fn close(subject: &RenderSubject, bash: &mut RuleEncoding, blind: &[BlindSpot]) {
    let commands = commands(subject);
    let lines: Vec<MisreadLine> = blind.iter().flat_map(|spot| lines(spot, &commands)).collect();
    // The source's verdicts do not change while the rules do, so each is computed once.
    let answers: Vec<OnceCell<Action>> = lines.iter().map(|_| OnceCell::new()).collect();
    // As in `narrowed`: each rule can become stricter twice, from allow to deny.
    for _ in 0..=2 * (bash.entries.len() + 1) {
        let mut rules = bash.rules();
        let mut is_closed = true;
        for (line, answer) in lines.iter().zip(&answers) {
            let target = target(&[&rules], line);
            if target == Action::Deny {
                continue;
            }
            let source = *answer.get_or_init(|| source(subject, line));
            if target < source {
                let example = ExampleSubject::Command(line.taken_for.clone());
                is_closed &= !bash.raise(&example, source);
                rules = bash.rules();
            }
        }
        if is_closed {
            break;
        }
    }
}

fn crossing(
    subject: &RenderSubject,
    layers: &[&RuleList],
    spot: &BlindSpot,
    line: MisreadLine,
) -> Option<PolicyGap> {
    let target = target(layers, &line);
    // Nothing is stricter than a deny, so the source need not be asked.
    if target == Action::Deny {
        return None;
    }
    let source = source(subject, &line);
    let (BlindSpot { name, why, .. }, MisreadLine { typed, taken_for }) = (spot, line);
    let (name, why) = (*name, *why);
    (target < source).then_some(PolicyGap { name, why, line: typed, taken_for, source, target })
}

/// The verdict of a harness with these rules about a line.
fn target(layers: &[&RuleList], line: &MisreadLine) -> Action {
    action(layers, &ExampleSubject::Command(line.taken_for.clone()))
}

/// The verdict of the source about a line; it is the same for every harness.
fn source(subject: &RenderSubject, line: &MisreadLine) -> Action {
    subject.memo.lines.get((subject.kind(), line.typed.clone()), || {
        let directory = &subject.judge.places().workspace;
        let call = SectionCall { section: Section::Bash, subject: &line.typed, directory };
        subject.judge.judge(call, &NoLinks).action
    })
}

/// Returns commands that match the rules of an agent, one per pattern, and one that matches no rule.
fn commands(subject: &RenderSubject) -> Vec<String> {
    let rules = subject.permissions.get(Section::Bash).map(|section| &section.rules);
    let lines = rules.into_iter().flatten().map(|rule| command(&rule.pattern, ""));
    // The limit bounds the cost for very long rule lists.
    lines.filter(|line| !line.is_empty()).take(100).chain([ANY.to_owned()]).collect()
}
