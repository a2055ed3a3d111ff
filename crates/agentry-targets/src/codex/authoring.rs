//! What Codex does with the agent files that people write (version 0.166.0, November 2026).

use crate::authoring::{
    AuthoringFacts, FieldValue, MetadataSyntax, UnknownFieldEffect, ValueKind, needs,
};

const IGNORED: &str = "Codex ignores the agent, with a warning at its start";

pub(super) static AUTHORING: AuthoringFacts = AuthoringFacts {
    syntax: MetadataSyntax::Toml,
    broken: IGNORED,
    repeated_key: Some(IGNORED),
    without_metadata: None,
    required: &["description", "developer_instructions"],
    without_required: IGNORED,
    // An agent may also set any key of `config.toml`.
    unknown_field: UnknownFieldEffect::RefusedIfUnknown,
    values: VALUES,
    named_by_file: false,
    name: None,
    tools: None,
    models: None,
    longest_prompt: None,
    rules: None,
};

const SANDBOXES: &[&str] = &["read-only", "workspace-write", "danger-full-access"];
const APPROVALS: &[&str] = &["untrusted", "on-failure", "on-request", "never"];
const SEARCHES: &[&str] = &["disabled", "cached", "live"];

const VALUES: &[FieldValue] = &[
    needs("name", ValueKind::Text, IGNORED),
    needs("description", ValueKind::Text, IGNORED),
    needs("developer_instructions", ValueKind::Text, IGNORED),
    needs("model", ValueKind::Text, IGNORED),
    needs("sandbox_mode", ValueKind::Words(SANDBOXES), IGNORED),
    needs("approval_policy", ValueKind::Words(APPROVALS), IGNORED),
    needs("web_search", ValueKind::Words(SEARCHES), IGNORED),
    needs("nickname_candidates", ValueKind::List, IGNORED),
    needs("tools", ValueKind::Map, IGNORED),
    needs("mcp_servers", ValueKind::Map, IGNORED),
];
