//! AG7081 to AG7092: the settings of Claude Code.

use agentry_policy::{Action, Section};
use agentry_targets::{MatchOrder, claude_code};
use agentry_text::json::JsonDialect;
use agentry_text::suggestion::nearest;
use agentry_text::{Findings, LintRule, RuleExample, Severity, TreeEntry, TreeMap, TreeNode, TreeValue};

use super::document::read_json;
use super::rules_overlap::{self, WrittenRule};
use super::{HarnessSubject, hooks, tools};

pub(super) const RULES: &[&LintRule] = &[
    &SETTINGS_NOT_JSON,
    &SETTINGS_SHAPE,
    &UNCONSULTED_RULE,
    &UNKNOWN_RULE_TOOL,
    &COLON_STAR,
    &ROOT_PATH,
    &WEB_ADDRESS,
    &NO_SPECIFIER,
    &COMMAND_PARAMETER,
    &UNBALANCED_RULE,
    &HOOKS_DISABLED,
    &UNKNOWN_MODE,
];

pub(super) static SETTINGS_NOT_JSON: LintRule = LintRule {
    code: "AG7081",
    name: "settings-not-json",
    severity: Severity::Error,
    why: "Claude Code drops the whole settings file if it is not JSON, the deny rules included, and reports \
          nothing in a headless run.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Read(.env)\"],}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Read(.env)\"]}}\n",
    ),
};

pub(super) static SETTINGS_SHAPE: LintRule = LintRule {
    code: "AG7082",
    name: "settings-shape",
    severity: Severity::Error,
    why: "A value of the wrong kind makes Claude Code drop the whole settings file, the deny rules included.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": \"Read(.env)\"}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Read(.env)\"]}}\n",
    ),
};

pub(super) static UNCONSULTED_RULE: LintRule = LintRule {
    code: "AG7083",
    name: "settings-unconsulted-rule",
    severity: Severity::Warning,
    why: "Claude Code accepts `Write(path)`, `NotebookEdit(path)`, `MultiEdit(path)` and `Glob(path)` and \
          never consults them. Rules for `Edit` and `Read` cover all tools that write and read files.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Write(secrets/**)\"]}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Edit(secrets/**)\"]}}\n",
    ),
};

pub(super) static UNKNOWN_RULE_TOOL: LintRule = LintRule {
    code: "AG7084",
    name: "settings-unknown-tool",
    severity: Severity::Warning,
    why: "A rule for a tool that does not exist matches nothing. Names are compared letter by letter: \
          `bash` is not `Bash`.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"bash(rm *)\"]}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Bash(rm *)\"]}}\n",
    ),
};

pub(super) static COLON_STAR: LintRule = LintRule {
    code: "AG7085",
    name: "settings-colon-star",
    severity: Severity::Warning,
    why: "`:*` stands for any arguments only at the end of a pattern. In the middle it is a colon and a \
          wildcard, and the rule matches no usual command.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"allow\": [\"Bash(git:* status)\"]}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"allow\": [\"Bash(git status:*)\"]}}\n",
    ),
};

pub(super) static ROOT_PATH: LintRule = LintRule {
    code: "AG7086",
    name: "settings-root-path",
    severity: Severity::Warning,
    why: "In project settings `/etc` is the directory `etc` of the project. A path from the root of the file \
          system starts with two slashes.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Read(/etc/passwd)\"]}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Read(//etc/passwd)\"]}}\n",
    ),
};

pub(super) static WEB_ADDRESS: LintRule = LintRule {
    code: "AG7087",
    name: "settings-web-address",
    severity: Severity::Warning,
    why: "A rule for `WebFetch` names a host, as in `WebFetch(domain:example.org)`. Schemes and paths are not \
          part of it.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"allow\": [\"WebFetch(https://example.org/docs)\"]}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"allow\": [\"WebFetch(domain:example.org)\"]}}\n",
    ),
};

pub(super) static NO_SPECIFIER: LintRule = LintRule {
    code: "AG7088",
    name: "settings-no-specifier",
    severity: Severity::Warning,
    why: "`WebSearch` takes no specifier: a rule allows or denies every search.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"allow\": [\"WebSearch(rust *)\"]}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"allow\": [\"WebSearch\"]}}\n",
    ),
};

pub(super) static COMMAND_PARAMETER: LintRule = LintRule {
    code: "AG7089",
    name: "settings-command-parameter",
    severity: Severity::Warning,
    why: "Claude Code ignores a rule of the form `Bash(command:…)`. The pattern itself is the command.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Bash(command:rm *)\"]}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Bash(rm *)\"]}}\n",
    ),
};

pub(super) static UNBALANCED_RULE: LintRule = LintRule {
    code: "AG7090",
    name: "settings-unbalanced-rule",
    severity: Severity::Warning,
    why: "Claude Code drops a rule that it cannot parse and keeps the others, without a message.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Bash(rm *\"]}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"deny\": [\"Bash(rm *)\"]}}\n",
    ),
};

pub(super) static HOOKS_DISABLED: LintRule = LintRule {
    code: "AG7091",
    name: "settings-hooks-disabled",
    severity: Severity::Warning,
    why: "`disableAllHooks` switches off the hooks of the settings and of every agent. A hook that guards \
          calls no longer runs.",
    bad: RuleExample::File(".claude/settings.json", "{\"disableAllHooks\": true}\n"),
    good: RuleExample::File(".claude/settings.json", "{\"disableAllHooks\": false}\n"),
};

pub(super) static UNKNOWN_MODE: LintRule = LintRule {
    code: "AG7092",
    name: "settings-unknown-mode",
    severity: Severity::Warning,
    why: "`permissions.defaultMode` names one of the permission modes of Claude Code.",
    bad: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"defaultMode\": \"planning\"}}\n",
    ),
    good: RuleExample::File(
        ".claude/settings.json",
        "{\"permissions\": {\"defaultMode\": \"plan\"}}\n",
    ),
};

/// What a broken settings file means.
const DROPPED: &str = "Claude Code drops the whole file, the deny rules included";

/// The lists of rules, with their actions.
const LISTS: &[(&str, Action)] =
    &[("deny", Action::Deny), ("ask", Action::Ask), ("allow", Action::Allow)];

/// Tools whose rules with a path are never consulted, with the tool whose rules are.
const UNCONSULTED: &[(&str, &str)] =
    &[("Write", "Edit"), ("NotebookEdit", "Edit"), ("MultiEdit", "Edit"), ("Glob", "Read")];

/// Directories at the root of a file system.
const ROOTS: &[&str] = &[
    "/etc/", "/home/", "/Users/", "/var/", "/usr/", "/opt/", "/tmp/", "/proc/", "/sys/",
];

pub(super) fn check(subject: &HarnessSubject<'_>, findings: &mut Findings) {
    let rule = (&SETTINGS_NOT_JSON, DROPPED);
    let Some(map) = read_json(subject.source, JsonDialect::Strict, rule, findings) else { return };
    shapes(&map, findings);
    if let Some(permissions) = map.get("permissions").and_then(TreeNode::as_map) {
        mode(permissions, findings);
        lists(subject, permissions, findings);
    }
    if let Some(hooks) = map.get("hooks") {
        hooks::check(subject, hooks, super::HookDialect::Claude, findings);
    }
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
    let hint = nearest(word, modes)
        .map_or_else(|| format!("use one of {}", modes.join(", ")), |near| format!("did you mean `{near}`?"));
    findings
        .add(&UNKNOWN_MODE, node.span, format!("`{word}` is not a mode of Claude Code"))
        .hint(hint);
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

fn specifier(tool: &str, only: &str, item: &TreeNode, findings: &mut Findings) -> bool {
    let span = item.span;
    if let Some((_, instead)) = UNCONSULTED.iter().find(|(name, _)| *name == tool) {
        findings
            .add(&UNCONSULTED_RULE, span, format!("`{tool}({only})` is never consulted"))
            .hint(format!("write `{instead}({only})`"));
        return false;
    }
    match tool {
        "WebSearch" => {
            findings
                .add(&NO_SPECIFIER, span, "`WebSearch` takes no specifier")
                .hint("write `WebSearch`");
            false
        }
        "WebFetch" if !only.starts_with("domain:") => {
            let host = only.split("://").last().and_then(|rest| rest.split('/').next());
            findings
                .add(&WEB_ADDRESS, span, format!("`{only}` is not a host"))
                .hint(format!("write `WebFetch(domain:{})`", host.unwrap_or("HOST")));
            false
        }
        "Bash" if only.starts_with("command:") => {
            findings
                .add(&COMMAND_PARAMETER, span, "a rule with `command:` is ignored")
                .hint(format!("write `Bash({})`", only.trim_start_matches("command:").trim()));
            false
        }
        "Bash" if only.trim_end_matches(":*").contains(":*") => {
            findings
                .add(&COLON_STAR, span, "`:*` is a wildcard for arguments only at the end")
                .hint("write a space and `*`");
            false
        }
        "Read" | "Edit" if ROOTS.iter().any(|root| only.starts_with(root)) => {
            findings
                .add(&ROOT_PATH, span, format!("`{only}` is a path below the project"))
                .hint(format!("write `{tool}(/{only})` for the root of the file system"));
            true
        }
        _ => true,
    }
}

/// Whether a name in a matcher is a tool of Claude Code, or may be one.
pub(super) fn unknown_tool(name: &str) -> Option<Option<&'static str>> {
    let facts = claude_code::TARGET.authoring?.tools?;
    let names = (facts.names)();
    let is_foreign = (facts.is_foreign)(name) || tools::is_server_name(name);
    if is_foreign || names.iter().any(|(known, _)| *known == name) {
        return None;
    }
    Some(nearest(name, names.iter().map(|(known, _)| *known)))
}
