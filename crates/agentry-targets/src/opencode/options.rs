//! Fields that OpenCode does not know, and passes on to the model provider. An imported agent keeps them, and
//! they are restored; never a field that might permit something.

use agentry_text::Data;

use super::NAME;
use super::fields::FIELDS;
use super::ruleset::is_number;
use crate::draft::ImportDraft;
use crate::fields::is_known;
use crate::original::{self, OriginalFrontMatter};
use crate::subject::RenderSubject;

/// The key under which an agent keeps them.
const PASSED_ON: &str = "fields";

/// Parts of keys that may concern permissions in some version.
const SENSITIVE_WORDS: &[&str] = &[
    "permission",
    "permit",
    "tool",
    "allow",
    "deny",
    "approv",
    "sandbox",
    "mcp",
    "skill",
    "plugin",
    "hook",
    "command",
    "bash",
    "shell",
    "agent",
    "task",
    "trust",
    "yolo",
    "auto",
    "bypass",
    "prompt",
    "search",
    "proto",
    "constructor",
    "native",
    "hidden",
    "written",
];

/// The deepest nesting and the greatest length of a value that is kept.
const DEEPEST: usize = 4;
const LONGEST: usize = 4_000;

/// Keeps the fields that are passed on, and reports other fields without a row.
pub(super) fn keep(metadata: &Data, draft: &mut ImportDraft) {
    let Data::Map(entries) = metadata else { return };
    let fields = entries.iter().filter(|(key, value)| is_option(key, value));
    let fields: Vec<(String, Data)> = fields.cloned().collect();
    let is_kept = |key: &str| fields.iter().any(|(known, _)| known == key);
    draft.report_unknown(metadata, |key| is_known(FIELDS, key) || is_kept(key));
    if !fields.is_empty() {
        original::set(&mut draft.agent, NAME, PASSED_ON, Data::Map(fields));
    }
}

/// Returns the kept fields of an agent, checked again.
pub(super) fn fields(subject: &RenderSubject) -> impl Iterator<Item = (&str, &Data)> {
    let entries = match OriginalFrontMatter::of(&subject.agent, NAME).get(PASSED_ON) {
        Some(Data::Map(entries)) => entries.as_slice(),
        _ => &[],
    };
    let fields = entries.iter().filter(|(key, value)| is_option(key, value));
    fields.map(|(key, value)| (key.as_str(), value))
}

/// Whether OpenCode only passes a value on.
fn is_option(key: &str, value: &Data) -> bool {
    let short = || value.to_json().to_string().len() <= LONGEST;
    !is_known(FIELDS, key) && is_key(key) && is_plain(value, DEEPEST) && short()
}

fn is_key(key: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let lower = key.to_ascii_lowercase();
    let is_sensitive = SENSITIVE_WORDS.iter().any(|part| lower.contains(part));
    let fits = !key.is_empty() && key.len() <= 64 && key.chars().all(is_plain);
    // JavaScript would move a key that looks like a number.
    fits && !is_sensitive && !is_number(key)
}

fn is_plain(value: &Data, deepest: usize) -> bool {
    match value {
        Data::Bool(_) | Data::Int(_) | Data::Float(_) | Data::Str(_) => true,
        Data::List(items) => deepest > 0 && items.iter().all(|it| is_plain(it, deepest - 1)),
        Data::Map(entries) => {
            let fits = |(key, it): &(String, Data)| is_key(key) && is_plain(it, deepest - 1);
            deepest > 0 && entries.iter().all(fits)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_options_are_recognised() {
        let word = Data::str("high");
        let map = |key: &str| Data::Map(vec![(key.to_owned(), Data::Int(1))]);
        let mut deep = map("x");
        for _ in 0..5 {
            deep = Data::List(vec![deep]);
        }
        let cases = [
            ("reasoningEffort", word.clone(), true),
            ("fallback_models", Data::strings(["a/b", "c/d"]), true),
            ("thinking", map("budgetTokens"), true),
            ("options", map("textVerbosity"), true),
            ("options", map("permission"), false),
            ("permission", word.clone(), false),
            ("permissions", word.clone(), false),
            ("tools", map("bash"), false),
            ("allowed-tools", word.clone(), false),
            ("mode", word.clone(), false),
            ("disable", Data::Bool(false), false),
            ("hidden", Data::Bool(true), false),
            ("prompt", word.clone(), false),
            ("__proto__", word.clone(), false),
            ("7", word.clone(), false),
            ("a b", word, false),
            ("effort", Data::Null, false),
            ("effort", deep, false),
            ("effort", Data::str("x".repeat(5_000)), false),
        ];
        for (key, value, expected) in cases {
            assert_eq!(is_option(key, &value), expected, "{key}");
        }
    }
}
