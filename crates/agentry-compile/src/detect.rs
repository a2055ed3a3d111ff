//! Which format a file or a directory is: by content first, then by name.

use agentry_model::Format;
use agentry_text::yaml::{self, Version};
use agentry_text::{Findings, Map, Source, json, markdown, path, toml};

/// The main files that make a directory an agent, with their formats.
pub(crate) const MAIN_FILES: &[(&str, Format)] = &[
    ("instructions.md", Format::AgentDir),
    ("agent.toml", Format::AgentToml),
    ("agent.yaml", Format::Manifest),
    ("agent.yml", Format::Manifest),
    ("agent.json", Format::AgentFs),
];

/// What stands beside an `instructions.md` that is an agent's.
pub(crate) const AGENT_DIR_SIGNS: &[&str] = &["agent.acl", "tools", "schedules", "skills"];

/// Keys of a GitHub Copilot agent, which shares the suffix `.agent.md`.
const COPILOT_KEYS: &[&str] = &[
    "name",
    "tools",
    "model",
    "target",
    "handoffs",
    "mcp-servers",
    "argument-hint",
    "user-invocable",
    "disable-model-invocation",
    "agents",
    "infer",
];

/// Keys that only agent-md has.
const AGENT_MD_KEYS: &[&str] = &["title", "icon", "status", "required", "recommended", "abilities"];

/// The format of a file by its name alone.
pub(crate) fn by_name(path: &str) -> Option<Format> {
    let name = path::name(path);
    if let Some((_, format)) = MAIN_FILES.iter().find(|(main, _)| *main == name) {
        return Some(*format);
    }
    if name.ends_with(".agent.md") && name.len() > ".agent.md".len() {
        return Some(Format::AgentMd);
    }
    (is_manifest_file(name) && name.len() > ".agent".len()).then_some(Format::Manifest)
}

/// Whether a path is that of a manifest in one file. Upper case is another ending.
#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "the format says `.agent`")]
pub(crate) fn is_manifest_file(path: &str) -> bool {
    path.ends_with(".agent")
}

/// Whether a file that is an agent by its name is one by its content too.
pub(crate) fn by_content(path: &str, format: Format, source: &Source, beside: Beside) -> bool {
    match format {
        Format::AgentMd => !is_copilot(path, source),
        Format::AgentToml => beside.prompt || is_agent_toml(source),
        Format::Manifest => is_manifest_file(path) || is_manifest(source),
        Format::AgentFs => is_agentfs(source, beside.persona),
        Format::AgentDir => beside.agent_dir,
    }
}

/// What stands beside a main file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside {
    /// `system-prompt.md`.
    pub(crate) prompt: bool,
    /// `persona.md` or `principles.md`.
    pub(crate) persona: bool,
    /// One of [`AGENT_DIR_SIGNS`].
    pub(crate) agent_dir: bool,
}

fn is_copilot(path: &str, source: &Source) -> bool {
    if path.contains(".github/agents/") {
        return true;
    }
    let Some(range) = markdown::parts(source).metadata else { return false };
    if !may_have_key(source.text.get(range.clone()).unwrap_or(""), COPILOT_KEYS) {
        return false;
    }
    let node = yaml::parse(source, range, Version::V1_2, &mut Findings::default());
    let Some(map) = node.as_map() else { return false };
    has_any(map, COPILOT_KEYS) && !has_any(map, AGENT_MD_KEYS)
}

/// Whether metadata may have one of `keys`, judged by how its lines start; spares most files a
/// second reading as YAML.
fn may_have_key(metadata: &str, keys: &[&str]) -> bool {
    let starts = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '-', '"', '\'']);
        let begins =
            |key: &&str| line.get(..key.len()).is_some_and(|start| start.eq_ignore_ascii_case(key));
        line.starts_with(['{', '?', '&', '!', '<', '*', '[']) || keys.iter().any(begins)
    };
    metadata.contains('\\') || metadata.split(['\n', '\r']).any(starts)
}

fn is_agent_toml(source: &Source) -> bool {
    let node = toml::parse(source, &mut Findings::default());
    let Some(map) = node.as_map() else { return true };
    map.is_empty()
        || has_any(map, &["permissions"])
        || (has_any(map, &["name"]) && has_any(map, &["description"]))
}

/// Keys of other things that are called `agent.yaml`: cluster objects, agents of other frameworks.
const OTHER_MANIFESTS: &[&str] = &[
    "kind",
    "metadata",
    "spec",
    "spec_version",
    "agent_class",
    "instruction",
    "instructions",
    "prompt",
    "system_prompt",
    "goal",
    "backstory",
    "root_agent",
    "sub_agents",
    "image",
];

/// A manifest has a name, and nothing that only others have.
fn is_manifest(source: &Source) -> bool {
    let node = yaml::parse(source, 0..source.text.len(), Version::V1_1, &mut Findings::default());
    let Some(map) = node.as_map() else { return !source.text.contains("{{") };
    let template = source.text.trim_start().starts_with("{{");
    !template
        && !has_any(map, OTHER_MANIFESTS)
        && (map.is_empty() || has_any(map, &["name", "apiVersion", "trust", "behavior", "base"]))
}

/// AgentFS has a name, and what a market's listing of the same file name lacks.
fn is_agentfs(source: &Source, persona: bool) -> bool {
    const OWN: &[&str] = &[
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
    const OTHERS: &[&str] = &["model", "instructions", "instruction", "prompt", "system_prompt"];
    const SURE: &[&str] = &["risk_level", "access_control", "llm", "tool_permissions", "heartbeat"];
    // With a persona beside it, only a market's listing (`i18n`, in any case) is something else.
    if persona && !source.text.contains('\\') && !source.text.contains("18") {
        return true;
    }
    let node = json::parse(source, &mut Findings::default());
    let Some(map) = node.as_map() else { return persona };
    if has_any(map, OTHERS) && !has_any(map, SURE) && !persona {
        return false;
    }
    let listing = has_any(map, &["i18n"]) && has_any(map, &["changelog", "category"]);
    !listing && (persona || (has_any(map, &["name"]) && has_any(map, OWN)))
}

fn has_any(map: &Map, keys: &[&str]) -> bool {
    map.entries.iter().any(|entry| keys.iter().any(|key| entry.key.text.eq_ignore_ascii_case(key)))
}
