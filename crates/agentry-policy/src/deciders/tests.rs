//! Tables of sets with the rules that decide, and a test that no member is missed.

use proptest::prelude::*;

use super::*;
use crate::automata::tests::{any_pattern, pieces};
use crate::compare::tests::rules;
use crate::{PathAnchors, Pattern, PolicyRule, Section};

/// Parses a set: `*` is a segment, `?` any text; a word after `+` or `@` may be repeated.
fn set(line: &str) -> Vec<ShellArg> {
    let word = |text: &str| {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['*', '?']) {
            pieces.push(WordPiece::Text(rest[..at].to_owned()));
            let any = rest[at..].starts_with('?');
            pieces.push(if any { WordPiece::Any } else { WordPiece::Segment });
            rest = &rest[at + 1..];
        }
        pieces.push(WordPiece::Text(rest.to_owned()));
        pieces.retain(|piece| *piece != WordPiece::Text(String::new()));
        ShellWord { pieces }
    };
    let arg = |text: &str| match (text.strip_prefix('+'), text.strip_prefix('@')) {
        (Some(text), _) => ShellArg::Some(word(text)),
        (_, Some(text)) => ShellArg::Many(word(text)),
        _ => ShellArg::One(word(text)),
    };
    line.split(' ').map(arg).collect()
}

#[test]
fn sets_list_their_deciding_rules() {
    let cases = [
        ("ls *:allow, ask", "ls +*.md", "0: ls .md"),
        ("git log*:allow, ask", "git log +*", "0: git log ''; 1: git log --ext"),
        ("git log*:allow, ask", "git log -- +*", "0: git log -- ''"),
        ("git log*:allow, ask", "git log +./*", "0: git log ./"),
        ("git log*:allow, ask", "git log +*.rs", "0: git log .rs; 1: git log --ext=.rs"),
        ("sort *:allow, ask", "sort ?", "0: sort ''; 1: sort -o"),
        ("rm *:deny, ask", "rm @?", "0: rm"),
        ("rm x:deny, rm *:allow, ask", "rm @?", "0: rm x; 1: rm"),
        ("rm x:deny, rm *:allow, ask", "rm x +*", "1: rm x ''"),
        ("rm -rf *:deny, rm *:allow, ask", "rm ?", "0: rm -rf; 1: rm ''"),
        (
            "git push*:deny, git *:allow, ask",
            "git ? push",
            "0: git - push; 1: git '' push; 2: git p4 push",
        ),
        ("cat src/*:allow, ask", "cat src/*", "0: cat src/; 1: cat src/.."),
        ("cat src/*:allow, ask", "cat +src/*.rs", "0: cat src/.rs; 1: cat src/.rs src/.rs"),
        ("*:ask, ls *:allow, deny", "ls ?", "0: ls x"),
        ("a:allow, ask", "ls ?", "1: ls x"),
        ("a:allow, ask", "ls @?", "1: ls"),
        ("a x:allow, ask", "a x", "0: a x"),
        ("*:allow, ask", "?", "unknown"),
        ("*:allow, ask", "* x", "unknown"),
    ];
    for (text, line, expected) in cases {
        let found = match deciders(&rules(Section::Bash, text), &set(line)) {
            DeciderSet::Unknown => "unknown".to_owned(),
            DeciderSet::Known(list) => {
                let shown = list.iter().map(|d| format!("{}: {}", d.rule, d.example));
                shown.collect::<Vec<_>>().join("; ")
            }
        };
        assert_eq!(found, expected, "{text} on {line}");
    }
}

/// Returns one member of a set.
fn member(set: &[ShellArg], fills: &[&str]) -> Vec<String> {
    let many = fills.len() % 3;
    let mut fills = fills.iter().cycle();
    let mut words = Vec::new();
    for (at, arg) in set.iter().enumerate() {
        let (word, times) = match arg {
            ShellArg::One(word) => (word, 1),
            ShellArg::Some(word) => (word, 1 + at % 2),
            ShellArg::Many(word) => (word, many),
        };
        for _ in 0..times {
            let text = word.pieces.iter().map(|piece| match piece {
                WordPiece::Text(text) => text.clone(),
                WordPiece::Segment => fills.next().unwrap_or(&"").replace('/', ""),
                _ => (*fills.next().unwrap_or(&"")).to_owned(),
            });
            words.push(text.collect());
        }
    }
    words
}

fn layers() -> impl Strategy<Value = RuleList> {
    let action = || proptest::sample::select(Action::ALL);
    let rules = proptest::collection::vec((any_pattern(PatternKind::Command), action()), 1..5);
    (rules, action()).prop_map(|(list, intent)| {
        let rule = |(text, action): &(String, Action)| PolicyRule {
            pattern: Pattern::new(PatternKind::Command, text, *action, &PathAnchors::default()),
            action: *action,
            text: text.clone(),
            span: None,
        };
        let intent = rule(&("*".to_owned(), intent));
        RuleList { section: Section::Bash, rules: list.iter().map(rule).collect(), intent }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_member_has_a_listed_deciding_rule(
        rules in layers(),
        line in any_pattern(PatternKind::Command),
        marks in proptest::collection::vec(proptest::sample::select(vec!["", "+", "@", "?"]), 8),
        fills in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(pieces(PatternKind::Command)), 1..5), 12),
    ) {
        // A line similar to the first rule, so that both overlap.
        let like = rules.rules[0].pattern.text.clone();
        for line in [line, like] {
            let words = line.split(' ').filter(|word| !word.is_empty()).zip(marks.iter().cycle());
            let line: Vec<String> = words.enumerate().map(|(at, (word, mark))| match at {
                0 => word.replace('*', "git"),
                _ => format!("{mark}{word}"),
            }).collect();
            let set = set(&line.join(" "));
            let DeciderSet::Known(found) = deciders(&rules, &set) else { continue };
            for fill in &fills {
                let words = member(&set, fill);
                let argv: Vec<&str> = words.iter().map(String::as_str).collect();
                let (rule, _) = decider(&rules, PatternSubject::Command(&argv), HazardProtection::On);
                prop_assert!(found.iter().any(|decider| decider.rule == rule), "{:?} by {}", argv, rule);
            }
            for Decider { rule, example } in found {
                let (decides, _) = example.with(|argv| decider(&rules, argv, HazardProtection::On));
                prop_assert_eq!(decides, rule, "{}", example);
            }
        }
    }
}
