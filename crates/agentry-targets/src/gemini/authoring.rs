//! What Gemini CLI does with the agent files that people write (version 0.61.0, November 2026).

use agentry_policy::Section;

use super::fields::named;
use super::tools::{OTHERS, TOOLS};
use crate::authoring::{
    AuthoringFacts, FieldValue, MetadataSyntax, ModelFacts, NameRule, ToolFacts,
    UnknownFieldEffect, ValueKind, needs,
};

const REJECTED: &str = "Gemini CLI rejects the agent";

pub(super) static AUTHORING: AuthoringFacts = AuthoringFacts {
    syntax: MetadataSyntax::Yaml,
    broken: REJECTED,
    repeated_key: None,
    without_metadata: None,
    required: &["name", "description"],
    without_required: REJECTED,
    unknown_field: UnknownFieldEffect::Refused,
    values: VALUES,
    named_by_file: false,
    name: Some(NameRule {
        fits: |name| {
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
            !name.is_empty() && name.chars().all(fits)
        },
        form: "lower-case letters, digits, `-` and `_`",
        otherwise: REJECTED,
    }),
    tools: Some(ToolFacts {
        names,
        is_foreign: |name| name == "*" || name.starts_with("mcp_"),
        is_complete: true,
        ignores_case: false,
        unknown: "Gemini CLI rejects an agent with a tool that it does not have",
        refuses: true,
        empty: "the agent has no tools; without `tools` it has all of them",
        pattern: None,
        removed: None,
    }),
    models: Some(ModelFacts {
        aliases: &["inherit", "auto", "pro", "flash", "flash-lite"],
        fits: |model| named(model).is_some() || model.contains("gemini") || model.contains("gemma"),
        form: "`inherit` or a model of Google such as `gemini-2.5-pro`",
    }),
    longest_prompt: None,
    rules: None,
};

const VALUES: &[FieldValue] = &[
    needs("kind", ValueKind::Words(&["local", "remote"]), REJECTED),
    needs("name", ValueKind::Text, REJECTED),
    needs("description", ValueKind::Text, REJECTED),
    needs("display_name", ValueKind::Text, REJECTED),
    needs("model", ValueKind::Text, REJECTED),
    needs("temperature", ValueKind::Number, REJECTED),
    needs("max_turns", ValueKind::Count, REJECTED),
    needs("timeout_mins", ValueKind::Count, REJECTED),
    needs("tools", ValueKind::List, REJECTED),
    needs("mcp_servers", ValueKind::Map, REJECTED),
];

/// Tools that no rule of a policy decides about.
const UNRULED: &[&str] = &[
    "save_memory",
    "get_internal_docs",
    "enter_plan_mode",
    "exit_plan_mode",
    "update_topic",
    "complete_task",
    "list_background_processes",
    "read_background_output",
];

fn names() -> Vec<(&'static str, Option<Section>)> {
    let own = TOOLS.iter().chain(OTHERS).map(|tool| (tool.name, Some(tool.section)));
    own.chain(UNRULED.iter().map(|tool| (*tool, None))).collect()
}
