//! What a harness does not look at: ways to write a call about which its rules answer more mildly
//! than the source does.
//!
//! Each blind spot is tried with commands of the source's own rules; only what really makes a
//! difference is reported, with the line that shows it.

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

/// Something that a harness does not look at.
#[derive(Debug)]
pub struct BlindSpot {
    /// What it is: `redirections`.
    pub name: &'static str,
    /// Why, in half a sentence.
    pub why: &'static str,
    /// Lines that show it, for a command.
    pub lines: fn(&str) -> Vec<MisreadLine>,
}

/// A line that a harness takes for less than it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MisreadLine {
    /// As it is typed.
    pub typed: String,
    /// The command that the harness takes it for.
    pub taken_for: Vec<String>,
}

impl MisreadLine {
    /// A line and what it is taken for.
    pub fn new(typed: impl Into<String>, taken_for: Vec<String>) -> Self {
        Self { typed: typed.into(), taken_for }
    }
}

/// The files that a command is given: no harness looks at them.
pub const FILES: BlindSpot = BlindSpot {
    name: "files of commands",
    why: "the files that a command is given are not looked at",
    lines: |_| ["touch x", "tee x", "rm -rf x", "cat .env", "cat /etc/passwd"].map(as_typed).into(),
};

/// The addresses that a command is given: no harness looks at them either.
pub const ADDRESSES: BlindSpot = BlindSpot {
    name: "addresses of commands",
    why: "the addresses that a command is given are not looked at",
    lines: |_| vec![as_typed("curl https://example.com/")],
};

/// A blind spot that makes a difference to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyGap {
    /// What it is.
    pub name: &'static str,
    /// Why.
    pub why: &'static str,
    /// A line that shows it.
    pub line: String,
    /// What the harness takes it for.
    pub taken_for: Vec<String>,
    /// What the source says of it.
    pub source: Action,
    /// What the harness would do.
    pub target: Action,
}

impl PolicyGap {
    /// For a person.
    pub fn detail(&self) -> String {
        let Self { name, why, line, source, target, .. } = self;
        format!("{name}: {why}; `{line}` is {source} in the source and {target} there")
    }
}

/// The blind spots of a harness that make a difference to an agent.
pub fn gaps(subject: &RenderSubject, model: &HarnessModel, blind: &[BlindSpot]) -> Vec<PolicyGap> {
    let Some(way) = model.ways.iter().find(|way| way.section == Section::Bash) else {
        return Vec::new();
    };
    // The table of each harness has a place of its own.
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
        // What would happen without a question shows more than what is asked about.
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

/// Makes rules about commands stricter until nothing that a harness does not look at is milder than in
/// the source.
pub(crate) fn close(subject: &RenderSubject, bash: &mut RuleEncoding, blind: &[BlindSpot]) {
    let commands = commands(subject);
    let lines: Vec<MisreadLine> = blind.iter().flat_map(|spot| lines(spot, &commands)).collect();
    // What the source says does not change while the rules do.
    let answers: Vec<OnceCell<Action>> = lines.iter().map(|_| OnceCell::new()).collect();
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
    // Nothing is stricter than a denial.
    if target == Action::Deny {
        return None;
    }
    let source = source(subject, &line);
    let (BlindSpot { name, why, .. }, MisreadLine { typed, taken_for }) = (spot, line);
    let (name, why) = (*name, *why);
    (target < source).then_some(PolicyGap { name, why, line: typed, taken_for, source, target })
}

/// What a harness with these rules makes of a line.
fn target(layers: &[&RuleList], line: &MisreadLine) -> Action {
    action(layers, &ExampleSubject::Command(line.taken_for.clone()))
}

/// What the source says of a line, which is the same for every harness.
fn source(subject: &RenderSubject, line: &MisreadLine) -> Action {
    subject.memo.lines.get((subject.kind(), line.typed.clone()), || {
        let directory = &subject.judge.places().workspace;
        let call = SectionCall { section: Section::Bash, subject: &line.typed, directory };
        subject.judge.judge(call, &NoLinks).action
    })
}

/// Commands that the rules of an agent are about: each pattern with something in the place of its
/// wildcards; and one that no rule is about.
fn commands(subject: &RenderSubject) -> Vec<String> {
    let rules = subject.permissions.get(Section::Bash).map(|section| &section.rules);
    let lines = rules.into_iter().flatten().map(|rule| command(&rule.pattern, ""));
    lines.filter(|line| !line.is_empty()).take(100).chain([ANY.to_owned()]).collect()
}
