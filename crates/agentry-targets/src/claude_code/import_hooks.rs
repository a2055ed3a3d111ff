//! The sections that hooks of Claude Code decide about. The answer of a hook is unknown: it may deny anything
//! that the rules allow.

use agentry_policy::Section;
use serde_json::Value;

use super::agent_file::ClaudeFrontMatter;
use super::settings::{LOCAL, PERSONAL, SHARED, managed};
use super::tools::section_of;
use crate::HarnessFiles;
use crate::jsonc::{JsonDialect, JsoncDocument};

/// Returns the sections in which a hook of the agent, the project, the user or the machine may deny a call.
pub(super) fn hooked(files: &dyn HarnessFiles, front: &ClaudeFrontMatter) -> Vec<Section> {
    let own = front.metadata.get("hooks").map(agentry_text::Data::to_json);
    // The line-by-line parser loses nested values, so a lenient `hooks` may contain anything.
    let own = own.filter(|hooks| !hooks.is_null() || front.lenient.is_some());
    let settings = if are_off(files) { of_machine(files) } else { settings(files) };
    let own = own.filter(|_| !are_off(files));
    let all = own.iter().chain(settings.iter().filter_map(|it| it.get("hooks")));
    let mut sections: Vec<Section> = all.flat_map(before_calls).collect();
    sections.sort();
    sections.dedup();
    sections
}

/// Whether only the hooks of the machine run. If two files disagree, hooks count as on.
pub(super) fn are_off(files: &dyn HarnessFiles) -> bool {
    let own = of_project(files);
    let answers =
        |word: bool| own.iter().any(|it| it.get("disableAllHooks") == Some(&Value::Bool(word)));
    answers(true) && !answers(false)
}

/// Returns the settings of the project, of the user and of the machine.
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

/// Returns the sections that these hooks are asked about before a call.
pub(super) fn before_calls(hooks: &Value) -> Vec<Section> {
    // Hooks of an unknown shape may decide about anything.
    let Value::Object(events) = hooks else { return Section::ALL.to_vec() };
    match events.get("PreToolUse") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(entries)) => entries.iter().flat_map(matched).collect(),
        Some(_) => Section::ALL.to_vec(),
    }
}

/// Returns the sections of the tools that one entry matches. The matcher is a list of names with `|`, or a
/// regular expression. An expression may match any tool, unless it starts like an MCP tool.
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
    fn hook_matchers_map_to_sections() {
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
