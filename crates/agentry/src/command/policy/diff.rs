//! `agentry policy diff`: lists what a new version of an agent may do more, and less.

use std::fmt::Write as _;

use agentry_compile::policy::Section;
use agentry_compile::policy::compare::{DecisionChange, SectionDiff};
use agentry_compile::targets::original;
use agentry_compile::text::report::visible;
use agentry_compile::{policy_diff, read};
use serde_json::{Value, json};

use crate::args::{PolicyDiffArguments, ResultFormat};
use crate::command::{find_one, incomparable};
use crate::disk::DiskWorld;
use crate::output::{CliOutcome, ExitKind, columns, print, print_json};

pub(crate) fn run(args: &PolicyDiffArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let found = |path: &str| find_one(&disk, path, args.format_override);
    let (old, new) = (read(&disk, &found(&args.old)?), read(&disk, &found(&args.new)?));
    let broken = [&old, &new].into_iter().filter(|compiled| compiled.has_errors());
    let broken: Vec<_> =
        broken.map(|it| (it.found.path.as_str(), it.diagnostics.as_slice(), &it.sources)).collect();
    if !broken.is_empty() {
        return Err(incomparable(&broken, "", args.format));
    }
    let diffs = policy_diff(&old, &new);
    let known = original::all(old.whole.as_ref().unwrap_or(&old.agent));
    let words = original::all(new.whole.as_ref().unwrap_or(&new.agent)).into_iter();
    let words = words.filter(|(target, words)| {
        !known.iter().any(|(other, known)| other.name == target.name && known == words)
    });
    let unasked: Vec<&str> = words.map(|(target, _)| target.name).collect();
    match args.format {
        ResultFormat::Json => print_json(&to_json(&diffs, &unasked)),
        ResultFormat::Human => print(&to_text(&diffs, &unasked)),
    }
    // A section that could not be compared counts as gained.
    let gained = diffs.iter().any(|diff| !diff.gained.is_empty() || diff.unknown.is_some());
    Ok(if gained || !unasked.is_empty() { ExitKind::Findings } else { ExitKind::Done })
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
