//! Runs the tables of the reference, and tests what the tables cannot express.

use super::*;
use crate::PatternRule;

const PAGE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/patterns.md"));

/// Returns the rows of every table: heading, rule, subject, and whether it matches.
fn rows() -> Vec<(&'static str, &'static str, &'static str, bool)> {
    let mut heading = "";
    let mut rows = Vec::new();
    for line in PAGE.lines() {
        heading = line.strip_prefix("## ").unwrap_or(heading);
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let ["", rule, subject, matches @ ("yes" | "no"), ""] = cells[..] else { continue };
        rows.push((heading, rule.trim_matches('`'), subject.trim_matches('`'), matches == "yes"));
    }
    rows
}

fn kind(heading: &str) -> PatternKind {
    match heading {
        "Commands" => PatternKind::Command,
        "Files" => PatternKind::Path,
        "Web addresses" => PatternKind::Web,
        "Names" => PatternKind::Name,
        "Texts" => PatternKind::Text,
        other => panic!("no kind for {other}"),
    }
}

/// Splits a subject into words, some of them in single quotes.
fn words(text: &str) -> Vec<&str> {
    let parts = text.split('\'').enumerate();
    parts
        .flat_map(|(index, part)| match index % 2 {
            0 => part.split(' ').filter(|word| !word.is_empty()).collect(),
            _ => vec![part],
        })
        .collect()
}

#[test]
fn the_reference_tables_match_the_patterns() {
    let rows = rows();
    assert!(rows.len() > 150, "{} rows were found", rows.len());
    for (heading, rule, subject, expected) in rows {
        let kind = kind(heading);
        let PatternRule { pattern, action } = rule.parse().expect(rule);
        let pattern = Pattern::new(kind, &pattern, action, &PathAnchors::default());
        let matches = match kind {
            PatternKind::Command => pattern.matches(PatternSubject::Command(&words(subject))),
            _ => pattern.matches(PatternSubject::Text(subject)),
        };
        assert_eq!(matches, expected, "{heading}: {rule} on {subject}");
    }
}

#[test]
fn invalid_patterns_have_a_reason() {
    let cases = [
        (PatternKind::Command, " ", Some("the pattern is empty")),
        (PatternKind::Command, "a\0b", Some("the pattern holds a NUL character")),
        (PatternKind::Command, "ls *", None),
        (PatternKind::Path, "**/../x", Some("`..` after a wildcard leads nowhere")),
        (PatternKind::Path, "/../x", Some("`..` leads out of the root directory")),
        (PatternKind::Web, "file:///etc", Some("`file` is not a scheme of the web")),
        (PatternKind::Web, "x.org:http", Some("`http` is not a port")),
        (PatternKind::Web, "a..*", Some("`a..*` is not a host")),
        (PatternKind::Web, "https://", Some("`` is not a host")),
        (PatternKind::Name, "x", None),
    ];
    for (kind, text, expected) in cases {
        for (action, holds) in [(Action::Allow, false), (Action::Ask, true), (Action::Deny, true)] {
            let pattern = Pattern::new(kind, text, action, &PathAnchors::default());
            assert_eq!(pattern.problem(), expected, "{text}");
            if expected.is_some() {
                assert_eq!(pattern.matches(PatternSubject::Text("/x")), holds, "{text}:{action}");
                assert_eq!(
                    pattern.matches(PatternSubject::Command(&["x"])),
                    holds,
                    "{text}:{action}"
                );
            }
        }
    }
}

#[test]
fn without_a_home_an_allow_shrinks_and_a_deny_grows() {
    let places = PathAnchors { home: None, ..PathAnchors::default() };
    let cases = [
        ("cat ~/x", Action::Allow, "cat ~/x", true),
        ("cat ~/x", Action::Allow, "cat /home/user/x", false),
        ("cat ~/x", Action::Deny, "cat /home/user/x", true),
        ("cat ~/x", Action::Deny, "cat /home/user/y", false),
    ];
    for (text, action, line, expected) in cases {
        let pattern = Pattern::new(PatternKind::Command, text, action, &places);
        assert_eq!(
            pattern.matches(PatternSubject::Command(&words(line))),
            expected,
            "{text} on {line}"
        );
    }
    let pattern = Pattern::new(PatternKind::Path, "~/x", Action::Deny, &places);
    assert_eq!(pattern.problem(), Some("the home directory is not known"));
}

#[test]
fn an_address_that_is_not_canonical_is_never_allowed() {
    for address in ["x.org", "https://x.org/", "https://x.org:443", "https://x.org:99999/"] {
        for (action, expected) in [(Action::Allow, false), (Action::Deny, true)] {
            let pattern =
                Pattern::new(PatternKind::Web, "x.org:*", action, &PathAnchors::default());
            assert_eq!(
                pattern.matches(PatternSubject::Text(address)),
                expected,
                "{address}:{action}"
            );
        }
    }
}
