//! The report of `policy diff --since`: for a person, as JSON, and as Markdown for a comment.
//!
//! Paths, names and patterns come from the change under review. In Markdown they stand only in code spans, so that they
//! cannot add links, images or headings to the comment.

use std::fmt::Write as _;

use agentry_compile::policy::compare::{DecisionChange, SectionDiff};
use agentry_compile::text::report::{counted, visible};
use serde_json::{Value, json};

use super::diff::{PolicyChange, to_json, to_text};
use super::since::{AgentChange, AgentState, SinceComparison};
use crate::args::DiffFormat;
use crate::output::{print as print_text, print_json};

/// The most rows of one agent in a comment; GitHub refuses comments over 65,536 characters.
const MOST_ROWS: usize = 20;
/// The most agents that a comment shows in full.
const MOST_AGENTS: usize = 25;
/// The most characters of all tables: GitHub refuses a comment with more than 65,536.
const MOST_COMMENT: usize = 55_000;
/// The longest text of a cell.
const MOST_TEXT: usize = 160;

pub(super) fn print(format: DiffFormat, comparison: &SinceComparison) {
    match format {
        DiffFormat::Human => print_text(&human(comparison)),
        DiffFormat::Json => print_json(&json(comparison)),
        DiffFormat::Markdown => print_text(&markdown(comparison)),
    }
}

/// The state in one word.
fn word(state: &AgentState) -> &'static str {
    match state {
        AgentState::New(_) => "new",
        AgentState::Changed(None, _) => "changed",
        AgentState::Changed(Some(_), _) => "moved",
        AgentState::Gone => "gone",
        AgentState::Broken(_) => "not compared",
    }
}

fn change(state: &AgentState) -> Option<&PolicyChange> {
    match state {
        AgentState::New(change) | AgentState::Changed(_, change) => Some(change),
        AgentState::Gone | AgentState::Broken(_) => None,
    }
}

/// The short form of a commit.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

fn summary(comparison: &SinceComparison) -> String {
    let SinceComparison { reference, commit, agents, same } = comparison;
    let gained = agents.iter().filter(|it| it.is_gain()).count();
    let here = agents.iter().filter(|it| !matches!(it.state, AgentState::Gone)).count();
    let total = counted(here + same, "agent");
    let reference = visible(reference);
    format!("{gained} of {total} may do more than at {reference} ({})", short(commit))
}

fn human(comparison: &SinceComparison) -> String {
    let mut out = String::new();
    for AgentChange { path, state, .. } in &comparison.agents {
        let _ = writeln!(out, "{}: {}", visible(path), word(state));
        match state {
            AgentState::Broken(why) => {
                let _ = writeln!(out, "  {why}");
            }
            AgentState::Gone => {}
            AgentState::New(change) | AgentState::Changed(_, change) => {
                if let AgentState::Changed(Some(old), _) = state {
                    let _ = writeln!(out, "  it was `{}`", visible(old));
                }
                let text = to_text(&change.diffs, &change.unasked);
                for line in text.lines() {
                    let _ = writeln!(out, "  {line}");
                }
            }
        }
    }
    let _ = writeln!(out, "{}", summary(comparison));
    out
}

fn json(comparison: &SinceComparison) -> Value {
    let agent = |agent: &AgentChange| {
        let empty = PolicyChange { diffs: Vec::new(), unasked: Vec::new() };
        let change = change(&agent.state).unwrap_or(&empty);
        let mut value = to_json(&change.diffs, &change.unasked);
        value["path"] = agent.path.as_str().into();
        value["name"] = agent.name.as_str().into();
        value["state"] = word(&agent.state).into();
        if let AgentState::Changed(Some(old), _) = &agent.state {
            value["moved_from"] = old.as_str().into();
        }
        if let AgentState::Broken(why) = &agent.state {
            value["reason"] = (*why).into();
        }
        value
    };
    json!({
        "since": comparison.reference,
        "commit": comparison.commit,
        "agents": comparison.agents.iter().map(agent).collect::<Vec<_>>(),
        "same": comparison.same,
    })
}

fn markdown(comparison: &SinceComparison) -> String {
    let mut out = String::from("### What agents gained\n\n");
    let gained = comparison.agents.iter().filter(|it| it.is_gain());
    let mut shown = 0;
    for agent in gained.clone().take(MOST_AGENTS) {
        let before = out.len();
        markdown_agent(&mut out, agent);
        if out.chars().count() > MOST_COMMENT {
            out.truncate(before);
            break;
        }
        shown += 1;
    }
    match gained.count() {
        0 => out.push_str("Nothing: no agent may do more than before.\n\n"),
        count if count > shown => {
            let more = counted(count - shown, "more agent");
            let _ = writeln!(out, "… and {more} that may do more or could not be compared.\n");
        }
        _ => {}
    }
    let others: Vec<String> = comparison
        .agents
        .iter()
        .filter(|it| !it.is_gain())
        .take(MOST_AGENTS)
        .map(|it| format!("{} ({})", code(&it.path), quiet_word(&it.state)))
        .collect();
    if !others.is_empty() {
        let _ = writeln!(out, "Other changes: {}.\n", others.join(", "));
    }
    let SinceComparison { reference, commit, same, .. } = comparison;
    let same = counted(*same, "other agent");
    let _ = writeln!(
        out,
        "<sub>Compared with {} at {}; {same} unchanged. `agentry policy diff --since` shows the same.</sub>",
        code(reference),
        code(short(commit)),
    );
    out
}

/// The state of an agent that gained nothing.
fn quiet_word(state: &AgentState) -> &'static str {
    match state {
        AgentState::Changed(None, _) => "may do less",
        other => word(other),
    }
}

fn markdown_agent(out: &mut String, agent: &AgentChange) {
    let AgentChange { path, state, .. } = agent;
    let _ = write!(out, "**{}** ({})", code(path), word(state));
    if let AgentState::Changed(Some(old), _) = state {
        let _ = write!(out, ", which was {}", code(old));
    }
    let Some(change) = change(state) else {
        let why = if let AgentState::Broken(why) = state { why } else { "" };
        let _ = writeln!(out, ": {why}. What it may do is not known.\n");
        return;
    };
    out.push_str(
        "\n\n| section | may now | before → now | for example |\n| --- | --- | --- | --- |\n",
    );
    let rows = change.diffs.iter().flat_map(|diff| diff.gained.iter().map(move |it| (diff, it)));
    let rows: Vec<String> = rows.map(|(diff, change)| row(diff, change)).collect();
    rows.iter().take(MOST_ROWS).for_each(|row| out.push_str(row));
    if rows.len() > MOST_ROWS {
        let _ = writeln!(out, "| … | {} more | | |", rows.len() - MOST_ROWS);
    }
    for SectionDiff { section, unknown, .. } in &change.diffs {
        if let Some(why) = unknown {
            let _ = writeln!(out, "| {section} | anything | not known | {} |", cell(why));
        }
    }
    for harness in &change.unasked {
        let _ =
            writeln!(out, "| {harness} | without a question | ask → allow | its original grants |");
    }
    out.push('\n');
}

fn row(SectionDiff { section, .. }: &SectionDiff, change: &DecisionChange) -> String {
    let DecisionChange { pattern, from, to, example, .. } = change;
    format!("| {section} | {} | {from} → {to} | {} |\n", cell(pattern), cell(example))
}

/// Foreign text in a table, where GitHub takes `\|` for a bar even in a code span.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Foreign text as a code span, which its back quotes cannot end.
fn code(text: &str) -> String {
    let shown = visible(text);
    let cut: String = shown.chars().take(MOST_TEXT).collect();
    let more = if cut.len() < shown.len() { "…" } else { "" };
    let longest = cut.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let body = cut.replace(['\n', '\r'], " ");
    let pad =
        if body.starts_with('`') || body.ends_with('`') || body.is_empty() { " " } else { "" };
    format!("{fence}{pad}{body}{more}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::{cell, code};

    #[test]
    fn hostile_text_cannot_leave_its_code_span() {
        let cases = [
            ("git log *", "`git log *`"),
            ("a`b", "``a`b``"),
            ("`x`", "`` `x` ``"),
            ("a | b", "`a | b`"),
            ("", "`  `"),
            ("![x](https://example.org/x.png)", "`![x](https://example.org/x.png)`"),
        ];
        for (text, expected) in cases {
            assert_eq!(code(text), expected, "{text}");
        }
        assert_eq!(cell("a | b"), "`a \\| b`");
        assert!(!code("a\u{202e}b").contains('\u{202e}'), "hidden characters are shown");
        assert_eq!(code(&"x".repeat(500)).chars().count(), 163);
    }
}
