//! What pi-subagents does with the agent files that people write (version 0.67.0, November 2026).

use agentry_policy::Section;

use super::tools::{NEVER, TOOLS};
use crate::authoring::{
    AuthoringFacts, FieldValue, MetadataSyntax, ToolFacts, UnknownFieldEffect, ValueKind, takes,
};

const SKIPPED: &str = "Pi does not load the file, without a message";

pub(super) static AUTHORING: AuthoringFacts = AuthoringFacts {
    syntax: MetadataSyntax::Lines,
    broken: "Pi reads the metadata line by line and not as YAML",
    repeated_key: None,
    without_metadata: Some(SKIPPED),
    required: &["name", "description"],
    without_required: SKIPPED,
    unknown_field: UnknownFieldEffect::Ignored,
    values: VALUES,
    named_by_file: false,
    name: None,
    tools: Some(ToolFacts {
        names,
        is_foreign: |name| name.contains([':', '/', '.', '_', '-']),
        is_complete: false,
        ignores_case: false,
        unknown: "Pi drops a tool that neither it nor an extension has",
        refuses: false,
        empty: "an empty list means no tools; without `tools` the agent has Pi's own tools",
        pattern: None,
        removed: None,
    }),
    models: None,
    longest_prompt: None,
    rules: None,
};

const VALUES: &[FieldValue] = &[
    takes(
        "thinking",
        ValueKind::Words(&["off", "minimal", "low", "medium", "high", "xhigh"]),
        "Pi does not start the agent with another level",
    ),
    takes("systemPromptMode", ValueKind::Words(&["replace", "append"]), ""),
    takes("package", ValueKind::Any, ""),
    takes("extensions", ValueKind::Any, ""),
    takes("subagentOnlyExtensions", ValueKind::Any, ""),
    takes("skillPath", ValueKind::Any, ""),
    takes("acceptance", ValueKind::Any, ""),
    takes("memory", ValueKind::Any, ""),
    takes("runner", ValueKind::Any, ""),
];

fn names() -> Vec<(&'static str, Option<Section>)> {
    let own = TOOLS.iter().map(|tool| (tool.name, tool.reaches.first().copied()));
    let never = NEVER.iter().map(|tool| (tool.name, None));
    own.chain(never).collect()
}
