//! Which sections hooks of Claude Code decide about. Nobody knows what a hook answers: it may deny
//! whatever rules allow.

use agentry_policy::Section;
use serde_json::Value;

use super::agent_file::ClaudeFrontMatter;
use super::settings::{LOCAL, PERSONAL, SHARED, managed};
use super::tools::section_of;
use crate::HarnessFiles;
use crate::jsonc::{JsonDialect, JsoncDocument};

/// The sections in which a hook may deny a call: one of the agent, of the project, of the user or of the
/// machine.
pub(super) fn hooked(files: &dyn HarnessFiles, front: &ClaudeFrontMatter) -> Vec<Section> {
    let own = front.metadata.get("hooks").map(agentry_text::Data::to_json);
    // What was read line by line has lost what is inside.
    let own = own.filter(|hooks| !hooks.is_null() || front.lenient);
    let settings = if are_off(files) { of_machine(files) } else { settings(files) };
    let own = own.filter(|_| !are_off(files));
    let all = own.iter().chain(settings.iter().filter_map(|it| it.get("hooks")));
    let mut sections: Vec<Section> = all.flat_map(before_calls).collect();
    sections.sort();
    sections.dedup();
    sections
}

/// Whether no hook runs but those of the machine. Which of two files that say otherwise counts is not
/// looked at.
pub(super) fn are_off(files: &dyn HarnessFiles) -> bool {
    let own = of_project(files);
    let says =
        |word: bool| own.iter().any(|it| it.get("disableAllHooks") == Some(&Value::Bool(word)));
    says(true) && !says(false)
}

/// The settings of the project, of the user and of the machine.
pub(super) fn settings(files: &dyn HarnessFiles) -> Vec<Value> {
    [of_project(files), of_machine(files)].concat()
}

fn of_project(files: &dyn HarnessFiles) -> Vec<Value> {
    let texts = [SHARED, LOCAL, PERSONAL].into_iter().filter_map(|path| files.text(path));
    texts.filter_map(|text| value(&text)).collect()
}

fn of_machine(files: &dyn HarnessFiles) -> Vec<Value> {
    managed(files).iter().filter_map(|(_, text)| value(text)).collect()
}

fn value(text: &str) -> Option<Value> {
    JsoncDocument::read(text, JsonDialect::Relaxed).ok().map(|document| document.value())
}

/// The sections that these hooks are asked about before a call.
pub(super) fn before_calls(hooks: &Value) -> Vec<Section> {
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
