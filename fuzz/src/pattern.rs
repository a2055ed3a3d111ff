//! Bytes as one rule and one subject: whoever asks, directly or by machines, gets the same answer.

use agentry_policy::argv::{Arg, Piece, Word};
use agentry_policy::compare::{Answer, refines};
use agentry_policy::deciders::{Deciders, deciders};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::{Action, Pattern, Places, Protections, Rule, Rules, Section, Subject};

/// Longer subjects and patterns find nothing new.
const MAX_BYTES: usize = 60;

/// Reads `SECTION ACTION`, a pattern and a subject, one a line, and asks in both ways.
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

/// A literal command takes the direct way; in two pieces it is a set with one member.
fn command(pattern: &str, action: Action, subject: &str) {
    let argv: Vec<&str> = subject.split(' ').filter(|word| !word.is_empty()).collect();
    if argv.is_empty() || subject.chars().any(char::is_control) {
        return;
    }
    let rules = rules(Section::Bash, vec![rule(Section::Bash, pattern, action)], other(action));
    let direct = rules.first(Subject::Command(&argv)).action;
    let set: Vec<Arg> = argv.iter().enumerate().map(|(at, word)| pieces(word, at)).collect();
    let Deciders::Known(found) = deciders(&rules, &set) else { return };
    let found: Vec<Action> = found.iter().map(|decider| rules.at(decider.rule).action).collect();
    assert_eq!(found, [direct], "`{pattern}:{action}` about {argv:?}");
}

/// A word that is one text in two pieces, except for the command itself.
fn pieces(word: &str, at: usize) -> Arg {
    let middle = word.char_indices().nth(1).map_or(word.len(), |(middle, _)| middle);
    let (first, second) = word.split_at(middle);
    if at == 0 {
        return Arg::text(word);
    }
    let pieces = vec![Piece::Text(first.to_owned()), Piece::Text(second.to_owned())];
    Arg::One(Word { pieces })
}

fn path(pattern: &str, action: Action, subject: &str) {
    let odd = |part: &str| matches!(part, "" | "." | "..");
    let is_path = subject.strip_prefix('/').is_some_and(|rest| !rest.split('/').any(odd));
    if is_path {
        one_of(Section::Edit, pattern, action, subject);
    }
}

/// Whether the machine of a pattern takes one subject, asked as a comparison of two policies.
fn one_of(section: Section, pattern: &str, action: Action, subject: &str) {
    let is_plain = |c: char| c.is_ascii_graphic() && !"*~\\".contains(c);
    if subject.is_empty() || !subject.chars().all(is_plain) {
        return;
    }
    let direct = rule(section, pattern, action).pattern.matches(Subject::Text(subject));
    // Everything but the subject is denied here, and everything that the pattern takes there.
    let here = rules(section, vec![rule(section, subject, Action::Allow)], Action::Deny);
    let mut there = rule(section, pattern, action);
    there.action = Action::Deny;
    let there = rules(section, vec![there], Action::Allow);
    match refines(&PolicyMemo::default(), &[&here], &[&there], Protections::On) {
        Answer::Yes => assert!(!direct, "`{pattern}:{action}` about `{subject}`"),
        Answer::No(_) => assert!(direct, "`{pattern}:{action}` about `{subject}`"),
        Answer::Unknown(_) => {}
    }
}

fn other(action: Action) -> Action {
    if action == Action::Allow { Action::Deny } else { Action::Allow }
}

fn rule(section: Section, text: &str, action: Action) -> Rule {
    let pattern = Pattern::new(section.kind(), text, action, &Places::default());
    Rule { pattern, action, text: text.to_owned(), span: None }
}

fn rules(section: Section, rules: Vec<Rule>, intent: Action) -> Rules {
    Rules { section, rules, intent: rule(section, "**", intent) }
}
