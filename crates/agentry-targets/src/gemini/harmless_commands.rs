//! Commands that Gemini CLI considers harmless and runs without asking, unless a rule matches.

use agentry_policy::Action;

use crate::encoding::{EncodedRule, MatchBounds};
use crate::model::starting_with;

/// The names of all harmless commands, sorted. Options that make Gemini ask are ignored here.
const HARMLESS: &[&str] = &[
    "base64", "cat", "cd", "cut", "echo", "expr", "false", "find", "git", "grep", "head", "id",
    "ls", "nl", "numfmt", "paste", "pwd", "rev", "rg", "sed", "seq", "stat", "tac", "tail", "tr",
    "true", "uname", "uniq", "wc", "which", "whoami",
];

/// Returns the rules that allow the harmless commands with any arguments.
pub(super) fn entries() -> impl Iterator<Item = EncodedRule> {
    HARMLESS.iter().map(|name| EncodedRule {
        text: (*name).to_owned(),
        action: Action::Allow,
        matches: MatchBounds::exactly(starting_with(&[name])),
    })
}
