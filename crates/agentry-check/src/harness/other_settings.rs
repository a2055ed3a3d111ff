//! AG7093 to AG7096: settings files of OpenCode, Gemini CLI and Codex. Agents in them are checked as in files.

use agentry_formats::PathPresence;
use agentry_targets::opencode;
use agentry_text::json::JsonDialect;
use agentry_text::{
    Findings, Severity, Span, TreeEntry, TreeMap, TreeNode, TreeValue, rules, toml,
};

use super::agent::{AgentOrigin, AuthoredAgent};
use super::document::read_json;
use super::names::AgentSummary;
use super::{
    HarnessSubject, HookDialect, SettingsFile, check_agent, config_fields, hooks, rules_overlap,
    servers, summary,
};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        GEMINI_POLICY: "AG7093",
        MISSING_AGENT_FILE: "AG7094",
        MISSING_INSTRUCTIONS: "AG7095",
        CONFIG_SYNTAX: "AG7096",
    ]
}

/// Checks `opencode.json` and the agents in it.
pub(super) fn opencode(subject: &HarnessSubject<'_>, findings: &mut Findings) -> Vec<AgentSummary> {
    let rule = (&CONFIG_SYNTAX, "OpenCode does not start with such a file");
    let map = read_json(subject.source, JsonDialect::Relaxed, rule, findings);
    let Some(map) = map else { return Vec::new() };
    config_fields::check(subject, SettingsFile::Opencode, &map, findings);
    permission(subject, &map, findings);
    instructions(subject, &map, findings);
    if let Some(node) = map.get("mcp") {
        opencode_servers(node, findings);
    }
    let Some(facts) = opencode::TARGET.authoring else { return Vec::new() };
    let mut out = Vec::new();
    for section in ["agent", "mode"] {
        let Some(agents) = map.get(section).and_then(TreeNode::as_map) else { continue };
        for TreeEntry { key, value } in &agents.entries {
            let Some(fields) = value.as_map() else { continue };
            let agent = AuthoredAgent {
                target: &opencode::TARGET,
                facts,
                origin: AgentOrigin::Settings,
                source: subject.source,
                id: key.text.clone(),
                fields,
                prompt: fields.get("prompt").and_then(TreeNode::to_spanned),
                start: key.span,
            };
            check_agent(&agent, findings);
            permission(subject, fields, findings);
            let scope = subject.source.path.to_string();
            out.push(summary(&agent, scope));
        }
    }
    out
}

/// Checks the rules of a `permission` block.
pub(super) fn permission(subject: &HarnessSubject<'_>, fields: &TreeMap, findings: &mut Findings) {
    let Some(node) = fields.get("permission") else { return };
    super::opencode::check(node, findings);
    if let Some(reading) = opencode::TARGET.authoring.and_then(|facts| facts.rules) {
        rules_overlap::opencode(subject, reading, node, findings);
    }
}

fn instructions(subject: &HarnessSubject<'_>, map: &TreeMap, findings: &mut Findings) {
    for item in map.get("instructions").and_then(TreeNode::as_list).unwrap_or_default() {
        let Some(text) = item.as_str() else { continue };
        let is_plain = !text.contains(['*', '?', '{', '$', ':']) && !text.starts_with(['~', '/']);
        if is_plain && (subject.probe)(text) == PathPresence::Missing {
            findings
                .add(&MISSING_INSTRUCTIONS, item.span, format!("there is no `{text}`"))
                .hint("paths are relative to this file");
        }
    }
}

/// Reports servers of `opencode.json` whose command is not a list.
fn opencode_servers(node: &TreeNode, findings: &mut Findings) {
    let Some(map) = node.as_map() else { return };
    for TreeEntry { value, .. } in &map.entries {
        let Some(command) = value.as_map().and_then(|server| server.get("command")) else {
            continue;
        };
        if matches!(command.value, TreeValue::Str(_)) {
            findings.add(&CONFIG_SYNTAX, command.span, "`command` is a text and not a list").hint(
                "write `[\"program\", \"argument\"]`; OpenCode does not start with a text here",
            );
        }
    }
}

/// Checks `.gemini/settings.json`.
pub(super) fn gemini(subject: &HarnessSubject<'_>, findings: &mut Findings) {
    let rule = (&CONFIG_SYNTAX, "Gemini CLI cannot use such a file");
    let map = read_json(subject.source, JsonDialect::Relaxed, rule, findings);
    let Some(map) = map else { return };
    if let Some(node) = map.get("mcpServers") {
        servers::check(subject, node, findings);
    }
    if let Some(node) = map.get("hooks") {
        hooks::check(subject, node, HookDialect::Gemini, findings);
    }
    config_fields::check(subject, SettingsFile::Gemini, &map, findings);
}

/// Reports policies that Gemini does not read.
pub(super) fn gemini_policy(subject: &HarnessSubject<'_>, findings: &mut Findings) {
    // The same directory below a home is read.
    if !subject.is_personal {
        let start = Span::start_of(subject.source.id);
        findings
            .add(&GEMINI_POLICY, start, "this file is not read by Gemini CLI")
            .hint("start it with `--policy`, or copy the file to `~/.gemini/policies`");
    }
}

/// Checks `.codex/config.toml`.
pub(super) fn codex(subject: &HarnessSubject<'_>, findings: &mut Findings) {
    let mut found = Findings::default();
    let node = toml::parse(subject.source, &mut found);
    if let Some(first) = found.iter().find(|it| it.severity == Severity::Error) {
        let message = format!("this is not TOML: {}", first.message);
        findings.add(&CONFIG_SYNTAX, first.span, message).hint("Codex cannot use such a file");
        return;
    }
    let Some(map) = node.as_map() else { return };
    if let Some(node) = map.get("mcp_servers") {
        servers::check(subject, node, findings);
    }
    config_fields::check(subject, SettingsFile::Codex, map, findings);
    let Some(agents) = map.get("agents").and_then(TreeNode::as_map) else { return };
    for TreeEntry { value, .. } in &agents.entries {
        let file = value.as_map().and_then(|agent| agent.get("config_file"));
        let Some((node, path)) = file.and_then(|node| Some((node, node.as_str()?))) else {
            continue;
        };
        if !path.starts_with(['~', '/', '$']) && (subject.probe)(path) == PathPresence::Missing {
            findings
                .add(&MISSING_AGENT_FILE, node.span, format!("there is no `{path}`"))
                .hint("paths are relative to the directory of this file");
        }
    }
}
