//! What GitHub Copilot does with the agent files that people write (documentation of August 2026).

use agentry_policy::Section;

use super::tools::{ALIASES, NAMED, TOOLS, is_known};
use crate::authoring::{
    AuthoringFacts, FieldValue, MetadataSyntax, ToolFacts, UnknownFieldEffect, ValueKind, takes,
};

pub(super) static AUTHORING: AuthoringFacts = AuthoringFacts {
    syntax: MetadataSyntax::Yaml,
    broken: "the metadata is YAML, and a program that cannot parse it does not get its fields",
    repeated_key: None,
    without_metadata: None,
    required: &["description"],
    without_required: "GitHub Copilot requires a description",
    unknown_field: UnknownFieldEffect::Ignored,
    values: VALUES,
    named_by_file: true,
    name: None,
    tools: Some(ToolFacts {
        names,
        is_foreign: |name| name.contains(['/', '.', '-', '_']) || is_known(name),
        is_complete: false,
        ignores_case: true,
        unknown: "GitHub Copilot ignores a name that it does not know",
        refuses: false,
        empty: "the agent has no tools; without `tools` it has all of them",
        pattern: None,
        removed: None,
    }),
    models: None,
    longest_prompt: Some(30_000),
    rules: None,
};

const VALUES: &[FieldValue] = &[
    takes("name", ValueKind::Text, ""),
    takes("description", ValueKind::Text, ""),
    takes("tools", ValueKind::Names, ""),
    takes("target", ValueKind::Words(&["vscode", "github-copilot"]), ""),
    takes("user-invocable", ValueKind::Switch, ""),
    takes("disable-model-invocation", ValueKind::Switch, ""),
    takes("mcp-servers", ValueKind::Map, ""),
    takes("hidden", ValueKind::Any, ""),
    takes("agent", ValueKind::Any, ""),
    takes("hooks", ValueKind::Any, ""),
];

fn names() -> Vec<(&'static str, Option<Section>)> {
    let own = TOOLS.iter().map(|(tool, sections)| (*tool, sections.first().copied()));
    let section = |tool: &str| {
        TOOLS.iter().find(|(name, _)| *name == tool).and_then(|(_, sections)| sections.first())
    };
    let aliases = ALIASES
        .iter()
        .flat_map(|(tool, others)| others.iter().map(move |it| (*it, section(tool).copied())));
    own.chain(aliases).chain(NAMED.iter().map(|tool| (*tool, None))).collect()
}
