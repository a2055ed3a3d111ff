//! Distinguishes an agent from other files called `agent.json`, such as an entry of a marketplace.

use agentry_text::{Findings, SourceFile, json};

use crate::detect::{DetectedFile, has_any_key};

/// Keys of an agent that a marketplace entry lacks.
const OWN_KEYS: &[&str] = &[
    "role",
    "risk_level",
    "access_control",
    "traits",
    "greeting",
    "llm",
    "tool_permissions",
    "mcp_servers",
    "heartbeat",
    "trigger_patterns",
    "accepts_handoff",
    "accepts_messages",
    "max_concurrent_sessions",
    "default_enabled",
    "requiredClientVersion",
];
/// Keys of agents of other frameworks.
const OTHER_KEYS: &[&str] = &["model", "instructions", "instruction", "prompt", "system_prompt"];
/// Keys that no other framework uses.
const SURE_KEYS: &[&str] =
    &["risk_level", "access_control", "llm", "tool_permissions", "heartbeat"];

pub(super) fn is_agent(file: &DetectedFile<'_>) -> bool {
    file.fits(|source| is_agentfs(source, file.has_sign))
}

fn is_agentfs(source: &SourceFile, has_persona: bool) -> bool {
    // Beside a persona, only a marketplace entry (`i18n`, in any case) is not an agent. Without `18` and
    // escapes in the text there is no such key, and parsing is saved.
    if has_persona && !source.text.contains('\\') && !source.text.contains("18") {
        return true;
    }
    let node = json::parse(source, &mut Findings::default());
    let Some(map) = node.as_map() else { return has_persona };
    if has_any_key(map, OTHER_KEYS) && !has_any_key(map, SURE_KEYS) && !has_persona {
        return false;
    }
    let is_listing = has_any_key(map, &["i18n"]) && has_any_key(map, &["changelog", "category"]);
    !is_listing && (has_persona || (has_any_key(map, &["name"]) && has_any_key(map, OWN_KEYS)))
}
