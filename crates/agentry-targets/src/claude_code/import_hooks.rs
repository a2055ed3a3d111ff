//! Which sections hooks of Claude Code decide about. Nobody knows what a hook answers: it may deny
//! whatever rules allow.

use std::collections::BTreeSet;

use agentry_policy::Section;
use serde_json::Value;

use super::front::Front;
use super::settings::{LOCAL, PERSONAL, SHARED};
use super::tools::section_of;
use crate::Files;
use crate::jsonc::{Dialect, Document};

/// The sections in which a hook may deny a call: one of the agent, of the project or of the user.
pub(super) fn hooked(files: &Files<'_>, front: &Front) -> Vec<Section> {
    let settings = settings(files);
    let says = |word: bool| {
        settings.iter().any(|it| it.get("disableAllHooks") == Some(&Value::Bool(word)))
    };
    // Which of two that say otherwise counts is not looked at.
    if says(true) && !says(false) {
        return Vec::new();
    }
    let own = front.metadata.get("hooks").map(agentry_text::Data::to_json);
    // What was read line by line has lost what is inside.
    let own = own.filter(|hooks| !hooks.is_null() || front.lenient);
    let all = own.iter().chain(settings.iter().filter_map(|it| it.get("hooks")));
    let mut sections: Vec<Section> = all.flat_map(before_calls).collect();
    sections.sort();
    sections.dedup();
    sections
}

/// The plugins that are switched on: one may bring hooks, which nobody looks at.
pub(super) fn plugins(files: &Files<'_>) -> BTreeSet<String> {
    let all = settings(files);
    let enabled = all.iter().filter_map(|it| it.get("enabledPlugins")?.as_object());
    let on = enabled.flatten().filter(|(_, on)| **on != Value::Bool(false));
    on.map(|(name, _)| name.clone()).collect()
}

fn settings(files: &Files<'_>) -> Vec<Value> {
    let read = |path: &&str| {
        Document::read(&files(path)?, Dialect::Relaxed).ok().map(|document| document.value())
    };
    [SHARED, LOCAL, PERSONAL].iter().filter_map(read).collect()
}

/// The sections that these hooks are asked about before a call.
fn before_calls(hooks: &Value) -> Vec<Section> {
    let Value::Object(events) = hooks else { return Section::ALL.to_vec() };
    match events.get("PreToolUse") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(entries)) => entries.iter().flat_map(matched).collect(),
        Some(_) => Section::ALL.to_vec(),
    }
}

/// The sections of the tools that one entry is about: names with `|` between them, else an expression,
/// which may match any but where it starts as the names of tools of servers do.
fn matched(entry: &Value) -> Vec<Section> {
    let all = || Section::ALL.to_vec();
    let matcher = match entry.get("matcher") {
        Some(Value::String(matcher)) if !matcher.is_empty() => matcher,
        _ => return all(),
    };
    let section = |name: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let of_server = name.starts_with("mcp__") && !name.contains(['(', ')', '?', '{']);
        let is_name = !name.is_empty() && name.chars().all(plain);
        (is_name || of_server).then(|| section_of(name).unwrap_or(Section::Tool))
    };
    matcher.split('|').map(section).collect::<Option<Vec<_>>>().unwrap_or_else(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_matcher_is_about() {
        let all = Section::ALL;
        let cases: &[(Value, &[Section])] = &[
            (json!("Bash"), &[Section::Bash]),
            (json!("Edit|Write"), &[Section::Edit, Section::Edit]),
            (json!("mcp__.*"), &[Section::Mcp]),
            (json!("mcp__a__x|TodoWrite"), &[Section::Mcp, Section::Tool]),
            (json!("*"), all),
            (json!(""), all),
            (json!("B.*"), all),
            (json!("mcp__(a|b)"), all),
            (json!("Bash|"), all),
            (json!(5), all),
        ];
        for (matcher, expected) in cases {
            assert_eq!(matched(&json!({"matcher": matcher})), *expected, "{matcher}");
        }
        assert_eq!(matched(&json!({})), all);
    }
}
