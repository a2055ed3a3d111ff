//! Checks one rule with one subject: direct matching and the automaton must give the same answer.

use agentry_policy::argv::{ShellArg, WordPiece, ShellWord};
use agentry_policy::compare::{RefinementAnswer, refines};
use agentry_policy::deciders::{DeciderSet, deciders};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::{Action, Pattern, PathAnchors, HazardProtection, PolicyRule, RuleList, Section, PatternSubject};

/// Longer subjects and patterns find nothing new.
const MAX_BYTES: usize = 60;

/// Reads `SECTION ACTION`, a pattern and a subject, one on each line, and matches in both ways.
pub fn agrees(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().filter(|line| line.len() <= MAX_BYTES);
    let (Some(head), Some(pattern), Some(subject)) = (line(), line(), line()) else { return };
    let action = match head.as_bytes().get(1) {
        Some(b'd') => Action::Deny,
        Some(b'?') => Action::Ask,
        _ => Action::Allow,
    };
    match head.as_bytes().first() {
        Some(b'c') => command(pattern, action, subject),
        Some(b'p') => path(pattern, action, subject),
        Some(b'n') => one_of(Section::Mcp, pattern, action, subject),
        _ => {}
    }
}

/// A literal command is matched directly; split in two pieces it is a set with one member.
fn command(pattern: &str, action: Action, subject: &str) {
    let argv: Vec<&str> = subject.split(' ').filter(|word| !word.is_empty()).collect();
    if argv.is_empty() || subject.chars().any(char::is_control) {
        return;
    }
    let rules = rules(Section::Bash, vec![rule(Section::Bash, pattern, action)], other(action));
    let direct = rules.first(PatternSubject::Command(&argv)).action;
    let set: Vec<ShellArg> = argv.iter().enumerate().map(|(at, word)| pieces(word, at)).collect();
    // A set may be too large to decide; that is a valid answer.
    let DeciderSet::Known(found) = deciders(&rules, &set) else { return };
    let found: Vec<Action> = found.iter().map(|decider| rules.at(decider.rule).action).collect();
    assert_eq!(found, [direct], "`{pattern}:{action}` about {argv:?}");
}

/// A word as one text in two pieces, except for the command itself.
fn pieces(word: &str, at: usize) -> ShellArg {
    let middle = word.char_indices().nth(1).map_or(word.len(), |(middle, _)| middle);
    let (first, second) = word.split_at(middle);
    if at == 0 {
        return ShellArg::text(word);
    }
    let pieces = vec![WordPiece::Text(first.to_owned()), WordPiece::Text(second.to_owned())];
    ShellArg::One(ShellWord { pieces })
}

fn path(pattern: &str, action: Action, subject: &str) {
    let odd = |part: &str| matches!(part, "" | "." | "..");
    let is_path = subject.strip_prefix('/').is_some_and(|rest| !rest.split('/').any(odd));
    if is_path {
        one_of(Section::Edit, pattern, action, subject);
    }
}

/// Whether the automaton of a pattern accepts one subject, asked as a comparison of two policies.
fn one_of(section: Section, pattern: &str, action: Action, subject: &str) {
    // The subject becomes a pattern below, so it must not contain wildcards.
    let is_plain = |c: char| c.is_ascii_graphic() && !"*~\\".contains(c);
    if subject.is_empty() || !subject.chars().all(is_plain) {
        return;
    }
    let direct = rule(section, pattern, action).pattern.matches(PatternSubject::Text(subject));
    // `here` denies everything but the subject; `there` denies everything that the pattern matches.
    let here = rules(section, vec![rule(section, subject, Action::Allow)], Action::Deny);
    let mut there = rule(section, pattern, action);
    there.action = Action::Deny;
    let there = rules(section, vec![there], Action::Allow);
    match refines(&PolicyMemo::default(), &[&here], &[&there], HazardProtection::On) {
        RefinementAnswer::Yes => assert!(!direct, "`{pattern}:{action}` about `{subject}`"),
        RefinementAnswer::No(_) => assert!(direct, "`{pattern}:{action}` about `{subject}`"),
        RefinementAnswer::Unknown(_) => {}
    }
}

fn other(action: Action) -> Action {
    if action == Action::Allow { Action::Deny } else { Action::Allow }
}

fn rule(section: Section, text: &str, action: Action) -> PolicyRule {
    let pattern = Pattern::new(section.kind(), text, action, &PathAnchors::default());
    PolicyRule { pattern, action, text: text.to_owned(), span: None }
}

fn rules(section: Section, rules: Vec<PolicyRule>, intent: Action) -> RuleList {
    RuleList { section, rules, intent: rule(section, "**", intent) }
}
