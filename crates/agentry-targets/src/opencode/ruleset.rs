//! How OpenCode applies its rules: one list over all layers, in which the last entry wins whose key and
//! pattern both match.

use agentry_policy::{Action, Section};
use agentry_text::Data;

use super::paths::{directory, seen_from_workspace, with_home};
use super::{layers, names};
use crate::HarnessFiles;
use crate::encoding::{EncodedRule, EncodingView, MatchBounds, MatchOrder, RuleEncoding};
use crate::model::{HarnessModel, outside};
use crate::wildcard::{ANYTHING, NOTHING, WildcardDialect};

pub(super) const WILDCARDS: WildcardDialect = WildcardDialect { question: true, sole: false };

/// One rule of the flattened list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct OpencodeRule {
    pub(super) key: String,
    pub(super) pattern: String,
    pub(super) action: Action,
}

/// The permissions for tools that read.
pub(super) const READING: &[&str] = &["read", "glob", "grep", "list", "lsp"];

/// Returns what OpenCode lets the agent `name` do.
pub(super) fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    let found = layers::find(files, name)?;
    let mut rules = found.rules(EncodingView::Mildest);
    // These come last, because the last match decides.
    rules.extend(found.of_subagents(&rules));
    let servers = found.servers;
    let answer = || of(&rules, &servers, EncodingView::Mildest);
    Some(match files.memo() {
        Some(memo) => memo.opencode.models.get((rules.clone(), servers.clone()), answer),
        None => answer(),
    })
}

/// The default rules of OpenCode. That truncated tool output may always be read is not among them; it is
/// reported as a gap.
pub(super) fn defaults() -> Vec<OpencodeRule> {
    let rule = |key: &str, pattern: &str, action| OpencodeRule {
        key: key.to_owned(),
        pattern: pattern.to_owned(),
        action,
    };
    vec![
        rule("*", "*", Action::Allow),
        rule("doom_loop", "*", Action::Ask),
        rule("external_directory", "*", Action::Ask),
        rule("question", "*", Action::Deny),
        rule("plan_enter", "*", Action::Deny),
        rule("plan_exit", "*", Action::Deny),
        rule("read", "*", Action::Allow),
        rule("read", "*.env", Action::Ask),
        rule("read", "*.env.*", Action::Ask),
        rule("read", "*.env.example", Action::Allow),
    ]
}

/// Flattens a `permission` block to rules, in order. An invalid value gets the verdict of the view, since
/// OpenCode would refuse to start.
pub(super) fn flatten(block: &Data, view: EncodingView) -> Vec<OpencodeRule> {
    let unread = if view == EncodingView::Mildest { Action::Allow } else { Action::Deny };
    let action = |data: &Data| data.as_str().and_then(|word| word.parse().ok());
    let rule = |key: &str, pattern: &str, data: &Data| OpencodeRule {
        key: key.to_owned(),
        pattern: pattern.to_owned(),
        action: action(data).unwrap_or(unread),
    };
    match block {
        Data::Str(_) => vec![rule("*", "*", block)],
        Data::Map(entries) => in_order(entries)
            .into_iter()
            .flat_map(|(key, value)| match value {
                Data::Map(patterns) => in_order(patterns)
                    .into_iter()
                    .map(|(pattern, data)| rule(key, pattern, data))
                    .collect(),
                other => vec![rule(key, "*", other)],
            })
            .collect(),
        Data::Null => Vec::new(),
        other if view == EncodingView::Strictest => vec![rule("*", "*", other)],
        _ => Vec::new(),
    }
}

/// Returns the entries of a map in the order of JavaScript: keys that look like numbers come first.
fn in_order(entries: &[(String, Data)]) -> Vec<&(String, Data)> {
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_by_key(|(key, _)| {
        let number = is_number(key).then(|| key.parse::<u64>().ok()).flatten();
        (number.is_none(), number)
    });
    entries
}

/// Whether JavaScript puts a key before all others.
pub(super) fn is_number(key: &str) -> bool {
    let digits = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    digits && (key == "0" || !key.starts_with('0'))
}

/// Builds the model of the rules, with these MCP servers defined.
pub(super) fn of(rules: &[OpencodeRule], servers: &[String], view: EncodingView) -> HarnessModel {
    // Names that no tool has must not affect the comparison, so each view masks them its own way.
    let unreal = if view == EncodingView::Mildest { Action::Deny } else { Action::Allow };
    let mut model = HarnessModel::default();
    let list = |key: &str, section| encoding(rules, key, section).seen(view);
    for section in [Section::Bash, Section::Webfetch, Section::Websearch, Section::Question] {
        model.add_readings(section.as_str(), &list(section.as_str(), section), &[], None);
    }
    let beyond = list("external_directory", Section::ExternalDirectory);
    model.add_readings("external_directory", &beyond, &[], None);
    let reading = READING.iter().map(|tool| (Section::Read, *tool));
    for (section, tool) in reading.chain([(Section::Edit, "edit")]) {
        for beyond in beyond.readings() {
            model.add_readings(tool, &list(tool, section), &[outside(section, &beyond)], None);
        }
    }
    let skill = names::masked(list("skill", Section::Skill), &[], unreal);
    model.add_readings("skill", &skill, &[], None);
    model.add_readings("task", &list("task", Section::Delegate), &[], None);
    let others: Vec<&OpencodeRule> =
        rules.iter().filter(|rule| !OWN.contains(&rule.key.as_str())).collect();
    for (section, tools) in [(Section::Mcp, "MCP tools"), (Section::Tool, "other tools")] {
        let whole = others.iter().filter(|rule| is_about_tool(rule, view));
        let entries = whole.map(|rule| names::entry(section, &rule.key, rule.action)).collect();
        let encoding =
            RuleEncoding { section, order: MatchOrder::Last, entries, default: Action::Ask };
        model.add_readings(tools, &names::masked(encoding, servers, unreal), &[], None);
    }
    model
}

/// Whether a rule counts for a whole tool, since a pattern may match only some of its calls.
pub(super) fn is_about_tool(rule: &OpencodeRule, view: EncodingView) -> bool {
    rule.pattern == "*" || (rule.action == Action::Allow) == (view == EncodingView::Mildest)
}

/// Encodes the rules of one permission.
fn encoding(rules: &[OpencodeRule], permission: &str, section: Section) -> RuleEncoding {
    let about = rules.iter().filter(|rule| takes(&rule.key, permission));
    let entries = about.map(|rule| entry(section, &rule.pattern, rule.action)).collect();
    RuleEncoding { section, order: MatchOrder::Last, entries, default: Action::Ask }
}

/// The permissions with their own rules: no other tool has one of these names.
pub(super) const OWN: &[&str] = &[
    "bash",
    "edit",
    "write",
    "patch",
    "apply_patch",
    "multiedit",
    "read",
    "glob",
    "grep",
    "list",
    "lsp",
    "task",
    "skill",
    "question",
    "webfetch",
    "websearch",
    "external_directory",
    "doom_loop",
    "plan_enter",
    "plan_exit",
];

/// Whether a key matches a permission. A trailing ` *` may match nothing.
pub(super) fn takes(key: &str, permission: &str) -> bool {
    let bare = key.strip_suffix(" *").is_some_and(|bare| WILDCARDS.takes(bare, permission));
    bare || WILDCARDS.takes(key, permission)
}

/// Encodes a pattern of a section as OpenCode reads it.
pub(super) fn entry(section: Section, pattern: &str, action: Action) -> EncodedRule {
    let matches = match section {
        Section::Bash => WILDCARDS.command(&with_home(pattern)),
        Section::Edit | Section::Read => seen_from_workspace(pattern),
        Section::ExternalDirectory => directory(pattern),
        _ if pattern == "*" => MatchBounds::exactly(ANYTHING),
        Section::Webfetch => MatchBounds { most: ANYTHING.to_owned(), least: NOTHING.to_owned() },
        _ => MatchBounds::exactly(WILDCARDS.whole(pattern)),
    };
    EncodedRule { text: pattern.to_owned(), action, matches }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_keys_match_with_wildcards() {
        let cases = [
            ("*", "bash", true),
            ("bash", "bash", true),
            ("b*h", "bash", true),
            ("b?sh", "bash", true),
            ("external_*", "external_directory", true),
            ("web*", "websearch", true),
            ("bash*x", "bash", false),
            ("bash *", "bash", true),
            ("b* *", "bash", true),
            (" *", "bash", false),
            ("bash  *", "bash", false),
            ("", "bash", false),
        ];
        for (key, permission, expected) in cases {
            assert_eq!(takes(key, permission), expected, "{key}");
        }
    }

    #[test]
    fn numeric_keys_are_recognised() {
        let cases = [("0", true), ("10", true), ("010", false), ("1x", false), ("", false)];
        for (key, expected) in cases {
            assert_eq!(is_number(key), expected, "{key}");
        }
    }
}
