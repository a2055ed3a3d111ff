//! Every rule is documented by a bad and a good example; this runs them.

use std::collections::BTreeSet;

use agentry_compile::model::Format;
use agentry_compile::text::LintRule;
use agentry_compile::{MemoryWorld, registry};

use crate::world::{Finding, findings_as};

/// The findings of an example. If a search does not detect an agent, it is read in its rule's format.
fn named(rule: &LintRule, world: &MemoryWorld) -> Vec<Finding> {
    findings_as(world, format_of(rule))
}

/// The format of a code; `None` for codes that all formats share.
pub(crate) fn format_of(rule: &LintRule) -> Option<Format> {
    match rule.code.as_bytes().get(2) {
        Some(b'1') => Some(Format::AgentMd),
        Some(b'2') => Some(Format::AgentToml),
        Some(b'3') => Some(Format::Manifest),
        Some(b'4') => Some(Format::AgentFs),
        Some(b'5') => Some(Format::AgentDir),
        _ => None,
    }
}

#[test]
fn the_bad_example_breaks_its_rule() {
    let wrong: Vec<String> = registry()
        .iter()
        .filter_map(|rule| {
            let found = named(rule, &MemoryWorld::new(rule.bad.files()));
            let hit = found.iter().any(|finding| finding.code == rule.code);
            let lines: Vec<_> = found.into_iter().map(|finding| finding.line).collect();
            (!hit).then(|| format!("{} {}: {lines:#?}", rule.code, rule.name))
        })
        .collect();
    assert!(wrong.is_empty(), "bad examples that do not break their rule:\n{}", wrong.join("\n"));
}

#[test]
fn the_bad_example_breaks_no_other_rule() {
    let wrong: Vec<String> = registry()
        .iter()
        .filter_map(|rule| {
            let found = named(rule, &MemoryWorld::new(rule.bad.files()));
            let other = |finding: &Finding| finding.code != rule.code;
            let lines: Vec<_> =
                found.into_iter().filter(other).map(|finding| finding.line).collect();
            (!lines.is_empty()).then(|| format!("{} {}: {lines:#?}", rule.code, rule.name))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "bad examples that break more than their rule:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_good_example_is_clean() {
    let wrong: Vec<String> = registry()
        .iter()
        .filter_map(|rule| {
            let world = MemoryWorld::new(rule.good.files());
            let found = named(rule, &world);
            let none = crate::world::is_empty(&world, format_of(rule));
            let lines: Vec<_> = found.into_iter().map(|finding| finding.line).collect();
            (none || !lines.is_empty()).then(|| format!("{} {}: {lines:#?}", rule.code, rule.name))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "good examples with findings, or that are no agents:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn codes_and_names_are_unique_and_well_formed() {
    let mut codes = BTreeSet::new();
    let mut names = BTreeSet::new();
    for LintRule { code, name, why, .. } in registry() {
        assert!(codes.insert(code), "{code} twice");
        assert!(names.insert(name), "{name} twice");
        assert!(code.len() == 6 && code.starts_with("AG"), "{code}");
        assert!(name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-')), "{name}");
        assert!(
            why.ends_with('.') && why.starts_with(|c: char| c.is_uppercase() || c == '`'),
            "{code}: {why}"
        );
    }
    assert!(codes.len() >= 60, "only {} rules", codes.len());
}

#[test]
fn messages_are_lower_case_without_a_full_stop() {
    for rule in registry() {
        for finding in named(rule, &MemoryWorld::new(rule.bad.files())) {
            let message = &finding.message;
            let first = message.chars().next().unwrap_or(' ');
            // Such as `U+202E` and `YAML`.
            let name = message.chars().nth(1).is_some_and(|second| !second.is_lowercase());
            assert!(!first.is_uppercase() || name, "{}: {message}", finding.code);
            assert!(!message.ends_with('.'), "{}: {message}", finding.code);
        }
    }
}
