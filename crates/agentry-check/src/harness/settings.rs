//! AG7081 to AG7092: the settings of Claude Code.

use agentry_policy::{Action, Section};
use agentry_targets::{MatchOrder, claude_code};
use agentry_text::json::JsonDialect;
use agentry_text::suggestion::nearest;
use agentry_text::{Findings, LintRule, TreeEntry, TreeMap, TreeNode, TreeValue, rules};

use super::document::read_json;
use super::rules_overlap::{self, WrittenRule};
use super::{HarnessSubject, SettingsFile, config_fields, hooks, tools};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        SETTINGS_NOT_JSON: "AG7081",
        SETTINGS_SHAPE: "AG7082",
        UNCONSULTED_RULE: "AG7083",
        UNKNOWN_RULE_TOOL: "AG7084",
        COLON_STAR: "AG7085",
        ROOT_PATH: "AG7086",
        WEB_ADDRESS: "AG7087",
        NO_SPECIFIER: "AG7088",
        COMMAND_PARAMETER: "AG7089",
        UNBALANCED_RULE: "AG7090",
        HOOKS_DISABLED: "AG7091",
        UNKNOWN_MODE: "AG7092",
        EXACT_DENIAL: "AG7099",
    ]
}

/// What a broken settings file means.
const DROPPED: &str = "Claude Code drops the whole file, the deny rules included";

/// The lists of rules, with their actions.
const LISTS: &[(&str, Action)] =
    &[("deny", Action::Deny), ("ask", Action::Ask), ("allow", Action::Allow)];

/// Tools whose rules with a path are never consulted, with the tool whose rules are.
const UNCONSULTED: &[(&str, &str)] =
    &[("Write", "Edit"), ("NotebookEdit", "Edit"), ("MultiEdit", "Edit"), ("Glob", "Read")];

/// Directories at the root of a file system.
const ROOTS: &[&str] =
    &["/etc/", "/home/", "/Users/", "/var/", "/usr/", "/opt/", "/tmp/", "/proc/", "/sys/"];

pub(super) fn check(subject: &HarnessSubject<'_>, findings: &mut Findings) {
    let rule = (&SETTINGS_NOT_JSON, DROPPED);
    let Some(map) = read_json(subject.source, JsonDialect::Strict, rule, findings) else { return };
    shapes(&map, findings);
    if let Some(permissions) = map.get("permissions").and_then(TreeNode::as_map) {
        mode(permissions, findings);
        exact_denials(permissions, findings);
        lists(subject, permissions, findings);
    }
    if let Some(hooks) = map.get("hooks") {
        hooks::check(subject, hooks, super::HookDialect::Claude, findings);
    }
    config_fields::check(subject, SettingsFile::Claude, &map, findings);
    let disabled = map.entry("disableAllHooks");
    if let Some(entry) = disabled.filter(|entry| entry.value.value == TreeValue::Bool(true)) {
        findings
            .add(&HOOKS_DISABLED, entry.key.span, "this switches off every hook")
            .hint("remove it, or set it in your own settings");
    }
}

/// Reports values of a kind that the schema does not allow.
fn shapes(map: &TreeMap, findings: &mut Findings) {
    let mut wrong = |entry: &TreeEntry, wanted: &str| {
        let message =
            format!("`{}` is {} and not {wanted}", entry.key.text, entry.value.value.describe());
        findings.add(&SETTINGS_SHAPE, entry.value.span, message).hint(DROPPED);
    };
    let is_map = |entry: &TreeEntry| entry.value.as_map().is_some();
    for name in ["permissions", "hooks", "env"] {
        map.entry(name).filter(|it| !is_map(it)).into_iter().for_each(|it| wrong(it, "a map"));
    }
    let model = map.entry("model").filter(|entry| entry.value.as_str().is_none());
    model.into_iter().for_each(|entry| wrong(entry, "a text"));
    let Some(permissions) = map.get("permissions").and_then(TreeNode::as_map) else { return };
    for (name, _) in LISTS {
        let Some(entry) = permissions.entry(name) else { continue };
        match entry.value.as_list() {
            None => wrong(entry, "a list"),
            Some(items) if items.iter().any(|item| item.as_str().is_none()) => {
                wrong(entry, "a list of texts");
            }
            Some(_) => {}
        }
    }
}

fn mode(permissions: &TreeMap, findings: &mut Findings) {
    let Some(node) = permissions.get("defaultMode") else { return };
    let modes =
        ["default", "manual", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan"];
    let Some(word) = node.as_str().filter(|word| !modes.contains(word)) else { return };
    let hint = nearest(word, modes).map_or_else(
        || format!("use one of {}", modes.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    findings
        .add(&UNKNOWN_MODE, node.span, format!("`{word}` is not a mode of Claude Code"))
        .hint(hint);
}

/// Reports denials of one command line where the same command with another argument is not denied.
fn exact_denials(permissions: &TreeMap, findings: &mut Findings) {
    let items = permissions.get("deny").and_then(TreeNode::as_list).unwrap_or_default();
    let line = |item: &'_ TreeNode| {
        let inner = item.as_str()?.trim().strip_prefix("Bash(")?.strip_suffix(')')?;
        Some(inner.trim().to_owned())
    };
    let is_all = items.iter().any(|item| item.as_str().is_some_and(|text| text.trim() == "Bash"));
    let lines: Vec<String> = items.iter().filter_map(line).collect();
    for item in items.iter().filter(|_| !is_all) {
        let Some(exact) = line(item).filter(|it| !it.is_empty() && !it.contains(['*', '$'])) else {
            continue;
        };
        // A path at the end is complete without further arguments.
        let is_target =
            exact.split(' ').next_back().is_some_and(|word| word.contains(['/', '~', '.']));
        let is_wider = |other: &String| {
            let open = other.strip_suffix('*').map(|it| it.trim_end_matches([':', ' ']));
            open.is_some_and(|open| exact.starts_with(open))
        };
        if exact.starts_with("command:") || is_target || lines.iter().any(is_wider) {
            continue;
        }
        let message = format!("this denies only the line `{exact}` without further arguments");
        findings
            .add(&EXACT_DENIAL, item.span, message)
            .hint(format!("write `Bash({exact}:*)`, which denies it with arguments too"));
    }
}

fn lists(subject: &HarnessSubject<'_>, permissions: &TreeMap, findings: &mut Findings) {
    let reading = claude_code::TARGET.authoring.and_then(|facts| facts.rules);
    let mut rules = Vec::new();
    for (name, action) in LISTS {
        let items = permissions.get(name).and_then(TreeNode::as_list).unwrap_or_default();
        for item in items {
            let Some(text) = item.as_str() else { continue };
            if !one(text, item, findings) {
                continue;
            }
            let sections = Section::ALL.iter().copied();
            let encoded = sections.filter_map(|section| {
                let encoded = (reading?.entry)(section, text, *action)?;
                Some(WrittenRule { section, encoded, span: item.span })
            });
            rules.extend(encoded);
        }
    }
    rules_overlap::too_wide(&rules, findings);
    rules_overlap::check(subject, MatchOrder::Strictest, &rules, findings);
}

/// Checks one rule by itself. Returns whether it means something.
fn one(text: &str, item: &TreeNode, findings: &mut Findings) -> bool {
    let (tool, only) = match text.split_once('(') {
        None => (text, None),
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(only) => (tool, Some(only)),
            None => {
                findings
                    .add(&UNBALANCED_RULE, item.span, format!("`{text}` has no closing bracket"))
                    .hint("add `)`");
                return false;
            }
        },
    };
    let span = item.span;
    let names = claude_code::TARGET.authoring.and_then(|facts| facts.tools);
    let known = names.map(|facts| (facts.names)()).unwrap_or_default();
    let is_known = known.iter().any(|(name, _)| *name == tool);
    // Names of plugins and new tools are not known here, so only near misses are reported.
    if !is_known && !tool.contains(['*', '_', ':']) {
        let near = nearest(tool, known.iter().map(|(name, _)| *name));
        if let Some(near) = near {
            findings
                .add(&UNKNOWN_RULE_TOOL, span, format!("`{tool}` is not a tool of Claude Code"))
                .hint(format!("did you mean `{near}`?"));
            return false;
        }
    }
    let Some(only) = only.filter(|only| !matches!(*only, "" | "*")) else { return true };
    specifier(tool, only, item, findings)
}

/// Reports a specifier that does not mean what it seems to. Returns whether the rule means something.
fn specifier(tool: &str, only: &str, item: &TreeNode, findings: &mut Findings) -> bool {
    let unconsulted = UNCONSULTED.iter().find(|(name, _)| *name == tool);
    let (rule, message, hint): (&'static LintRule, String, String) = match (tool, unconsulted) {
        (_, Some((_, instead))) => {
            let message = format!("`{tool}({only})` is never consulted");
            (&UNCONSULTED_RULE, message, format!("write `{instead}({only})`"))
        }
        ("WebSearch", _) => {
            let message = "`WebSearch` takes no specifier".to_owned();
            (&NO_SPECIFIER, message, "write `WebSearch`".to_owned())
        }
        ("WebFetch", _) if !only.starts_with("domain:") => {
            let host = only.split("://").last().and_then(|rest| rest.split('/').next());
            let hint = format!("write `WebFetch(domain:{})`", host.unwrap_or("HOST"));
            (&WEB_ADDRESS, format!("`{only}` is not a host"), hint)
        }
        ("Bash", _) if only.starts_with("command:") => {
            let command = only.trim_start_matches("command:").trim();
            let message = "a rule with `command:` is ignored".to_owned();
            (&COMMAND_PARAMETER, message, format!("write `Bash({command})`"))
        }
        ("Bash", _) if only.trim_end_matches(":*").contains(":*") => {
            let message = "`:*` is a wildcard for arguments only at the end".to_owned();
            (&COLON_STAR, message, "write a space and `*`".to_owned())
        }
        ("Read" | "Edit", _) if ROOTS.iter().any(|root| only.starts_with(root)) => {
            let message = format!("`{only}` is a path below the project");
            let hint = format!("write `{tool}(/{only})` for the root of the file system");
            (&ROOT_PATH, message, hint)
        }
        _ => return true,
    };
    findings.add(rule, item.span, message).hint(hint);
    // The rule about a path of the project still decides.
    *rule == ROOT_PATH
}

/// Suggests a tool of Claude Code for an unknown tool name.
pub(super) fn nearest_tool(name: &str) -> Option<&'static str> {
    let facts = claude_code::TARGET.authoring?.tools?;
    let names = (facts.names)();
    let is_foreign = (facts.is_foreign)(name) || tools::is_server_name(name);
    let is_known = is_foreign || names.iter().any(|(known, _)| *known == name);
    if is_known { None } else { nearest(name, names.iter().map(|(known, _)| *known)) }
}
