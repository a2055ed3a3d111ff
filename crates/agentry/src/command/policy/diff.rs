//! `agentry policy diff`: lists what a new version of an agent may do more, and less.

use std::fmt::Write as _;

use agentry_compile::policy::Section;
use agentry_compile::policy::compare::{DecisionChange, SectionDiff};
use agentry_compile::targets::original;
use agentry_compile::text::report::visible;
use agentry_compile::{CompiledAgent, policy_diff, policy_grants, read};
use serde_json::{Value, json};

use crate::args::{DiffFormat, PolicyDiffArguments, ResultFormat};
use crate::command::policy::since;
use crate::command::{find_one, incomparable};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, columns, print, print_json};

pub(crate) fn run(args: &PolicyDiffArguments) -> CliOutcome {
    if let Some(reference) = &args.since {
        return since::run(args, reference);
    }
    let [old, new] = args.paths.as_slice() else {
        let count = args.paths.len();
        return Err(CliFailure::new(format!(
            "`policy diff` compares two agents, and you named {count}"
        ))
        .hint("name the old one and the new one, or a commit with `--since`"));
    };
    let format = match args.format {
        DiffFormat::Human => ResultFormat::Human,
        DiffFormat::Json => ResultFormat::Json,
        DiffFormat::Markdown => {
            return Err(CliFailure::new("Markdown is for many agents")
                .hint("name a commit with `--since`, or take another `--format`"));
        }
    };
    let disk = DiskWorld::default();
    let found = |path: &str| find_one(&disk, path, args.format_override);
    let (old, new) = (read(&disk, &found(old)?), read(&disk, &found(new)?));
    let broken = [&old, &new].into_iter().filter(|compiled| compiled.has_errors());
    let broken: Vec<_> =
        broken.map(|it| (it.found.path.as_str(), it.diagnostics.as_slice(), &it.sources)).collect();
    if !broken.is_empty() {
        return Err(incomparable(&broken, "", format));
    }
    let change = PolicyChange::of(&old, &new);
    match format {
        ResultFormat::Json => print_json(&to_json(&change.diffs, &change.unasked)),
        ResultFormat::Human => print(&to_text(&change.diffs, &change.unasked)),
    }
    Ok(if change.is_gain() { ExitKind::Findings } else { ExitKind::Done })
}

/// What a new version of an agent may do more and less.
#[derive(Debug)]
pub(super) struct PolicyChange {
    pub(super) diffs: Vec<SectionDiff>,
    /// The harnesses that may ask less, because the agent has other original grants for them.
    pub(super) unasked: Vec<&'static str>,
}

impl PolicyChange {
    pub(super) fn of(old: &CompiledAgent, new: &CompiledAgent) -> Self {
        let known = original::all(old.whole());
        let words = original::all(new.whole()).into_iter().filter(|(target, words)| {
            !known.iter().any(|(other, known)| other.name == target.name && known == words)
        });
        let unasked = words.map(|(target, _)| target.name).collect();
        Self { diffs: policy_diff(old, new), unasked }
    }

    /// What an agent that was not there before may do without a question.
    pub(super) fn of_new(new: &CompiledAgent) -> Self {
        let unasked = original::all(new.whole()).into_iter().map(|(target, _)| target.name);
        Self { diffs: policy_grants(new), unasked: unasked.collect() }
    }

    /// Whether it may do more. A section that could not be compared counts as gained.
    pub(super) fn is_gain(&self) -> bool {
        let is_gain = |diff: &SectionDiff| !diff.gained.is_empty() || diff.unknown.is_some();
        self.diffs.iter().any(is_gain) || !self.unasked.is_empty()
    }

    /// Whether anything is different.
    pub(super) fn is_any(&self) -> bool {
        !self.diffs.is_empty() || !self.unasked.is_empty()
    }
}

/// `unasked` are the harnesses that may ask less, because the agent has other original grants for them.
pub(in crate::command) fn to_json(diffs: &[SectionDiff], unasked: &[&str]) -> Value {
    let change = |section: Section, change: &DecisionChange| {
        json!({
            "section": section.as_str(),
            "pattern": change.pattern,
            "from": change.from.as_str(),
            "to": change.to.as_str(),
            "example": change.example,
        })
    };
    let all = |changes: fn(&SectionDiff) -> &[DecisionChange]| -> Vec<Value> {
        let of = |diff: &SectionDiff| {
            changes(diff).iter().map(|one| change(diff.section, one)).collect::<Vec<_>>()
        };
        diffs.iter().flat_map(of).collect()
    };
    let unknown = |diff: &SectionDiff| {
        let why = diff.unknown.as_ref()?;
        Some(json!({"section": diff.section.as_str(), "reason": why}))
    };
    json!({
        "gained": all(|diff| &diff.gained),
        "lost": all(|diff| &diff.lost),
        "unknown": diffs.iter().filter_map(unknown).collect::<Vec<_>>(),
        "unasked": unasked,
    })
}

pub(in crate::command) fn to_text(diffs: &[SectionDiff], unasked: &[&str]) -> String {
    let mut rows = Vec::new();
    for diff in diffs {
        for (word, changes) in [("gained", &diff.gained), ("lost", &diff.lost)] {
            rows.extend(changes.iter().map(|change| row(word, diff.section, change)));
        }
    }
    let mut text = columns(&rows);
    for diff in diffs {
        if let Some(why) = &diff.unknown {
            let _ = writeln!(text, "unknown: {}: {why}; taken for gained", diff.section);
        }
    }
    for harness in unasked {
        let _ = writeln!(
            text,
            "gained: in {harness}, what is asked about may run without a question, by \
             `x-harness.{harness}.as-written`"
        );
    }
    if text.is_empty() { "nothing gained, nothing lost\n".to_owned() } else { text }
}

fn row(word: &str, section: Section, change: &DecisionChange) -> Vec<String> {
    vec![
        format!("{word}:"),
        section.to_string(),
        format!("`{}`", visible(&change.pattern)),
        format!("{} → {}", change.from, change.to),
        format!("as in `{}`", visible(&change.example)),
    ]
}
