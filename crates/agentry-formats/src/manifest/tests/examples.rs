//! The examples of every rule behave as the reference page describes.

use agentry_text::RuleExample;

use super::super::rules::RULES;
use super::{Outcome, read};

fn run(example: &RuleExample) -> Outcome {
    let files = example.files();
    let texts: Vec<_> = files
        .iter()
        .map(|(path, bytes)| {
            let path = path.strip_prefix("helper/").unwrap_or(path);
            (path, std::str::from_utf8(bytes).expect("UTF-8"))
        })
        .collect();
    read(&texts)
}

#[test]
fn every_rule_matches_its_examples() {
    for rule in RULES {
        assert_eq!(run(&rule.bad).codes(), [rule.code], "{}: bad", rule.name);
        assert_eq!(run(&rule.good).report(), [""; 0], "{}: good", rule.name);
    }
}

#[test]
fn codes_are_in_order_and_in_range() {
    let codes: Vec<_> = RULES.iter().map(|rule| rule.code).collect();
    assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    assert!(codes.iter().all(|code| ("AG3001"..="AG3099").contains(code)), "{codes:?}");
}
