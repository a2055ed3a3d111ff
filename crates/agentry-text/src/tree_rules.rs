//! The rules that YAML, TOML, JSON and ACL share, because they are about the tree and not the syntax.

use crate::diagnostic::Severity::Error;
use crate::limits;
use crate::rule::{LintRule, RuleExample};

/// Every rule about the shape of a tree, in code order.
pub const RULES: &[&LintRule] = &[&DUPLICATE_KEY, &TOO_DEEP, &TOO_MANY_VALUES];

/// A key that a map has twice.
pub static DUPLICATE_KEY: LintRule = LintRule {
    code: "AG0053",
    name: "duplicate-key",
    severity: Error,
    why: "Readers differ in which of two equal keys they take, so the file means different things \
          to different tools. Reading goes on with the last one, in TOML with the first.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nlicense: MIT\nlicense: Apache-2.0\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nlicense: Apache-2.0\n",
    ),
};

/// A value that is nested too deep.
pub static TOO_DEEP: LintRule = LintRule {
    code: "AG0055",
    name: "too-deep",
    severity: Error,
    why: "Lists and maps may be nested 64 deep. No agent needs more, and a file that goes deeper \
          is usually made to bring a reader down.",
    bad: RuleExample::Made("a list in a list, and so on, 65 deep", nested_lists),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nextensions: {x-grid: [[1, 2], [3, 4]]}\n",
    ),
};

/// More values than a document may have.
pub static TOO_MANY_VALUES: LintRule = LintRule {
    code: "AG0056",
    name: "too-many-values",
    severity: Error,
    why: "A document may hold 20,000 values, each use of an alias counted in full. A small file \
          that grows beyond this is made to use up memory.",
    bad: RuleExample::Made("a list of 20,001 numbers", long_list),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nextensions: {x-primes: [2, 3, 5, 7]}\n",
    ),
};

fn nested_lists() -> Vec<(String, Vec<u8>)> {
    let depth = limits::DEPTH + 1;
    made(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)))
}

fn long_list() -> Vec<(String, Vec<u8>)> {
    made(&format!("[{}0]", "0, ".repeat(limits::NODES)))
}

fn made(list: &str) -> Vec<(String, Vec<u8>)> {
    let text =
        format!("name: helper\ndescription: Answers questions\nextensions: {{x-list: {list}}}\n");
    vec![("helper.agent".to_owned(), text.into_bytes())]
}
