//! AGENTS.md, the open standard: what whoever works in a project is told, in one file.
//!
//! | model | AGENTS.md |
//! | --- | --- |
//! | `name` | the heading of a section: one an agent, in the order of their names |
//! | `display_name`, `description` | the first paragraph of the section |
//! | prompt, `context`, `rules` | the section, in this order |
//! | `permissions` | a list in words at its end; nobody makes sure, which is reported |
//! | everything else | dropped |
//!
//! The section of a single agent speaks to every reader; before those of several a sentence says that
//! each is for one agent only.
//!
//! The file belongs to the project: only what stands between the two marks is ever changed.

mod write;

use crate::{HarnessFiles, Model, Support, Target, marked};

/// AGENTS.md.
pub static TARGET: Target = Target {
    name: "agents-md",
    title: "AGENTS.md",
    built_in: &[],
    places: &["AGENTS.md", ".codex/AGENTS.md", ".config/opencode/AGENTS.md", ".pi/agent/AGENTS.md"],
    supports: SUPPORTS,
    one_primary: false,
    render: write::render,
    model,
    personal: None,
    blind: &[],
    guard: None,
    import: None,
};

const PATH: &str = "AGENTS.md";
const NAME: &str = "agents";

/// The heading under which an agent stands.
fn heading(name: &str) -> String {
    format!("## Agent `{name}`")
}

/// The file lets nobody do anything: its readers have rules of their own.
fn model(files: &dyn HarnessFiles, name: &str) -> Option<Model> {
    let text = files.text(PATH)?;
    let part = marked::part(&text, NAME).ok().flatten()?;
    part.lines().any(|line| line == heading(name)).then(Model::default)
}

const SUPPORTS: &[(&str, Support)] = &[
    ("name", Support::Yes("heading")),
    ("description", Support::Yes("first paragraph")),
    ("display_name", Support::Yes("first paragraph")),
    ("mode", Support::No("no place")),
    ("tags", Support::No("no place")),
    ("max_turns", Support::No("no place")),
    ("temperature", Support::No("no place")),
    ("model", Support::No("no place")),
    ("skills", Support::No("no place")),
    ("context", Support::Prompt),
    ("rules", Support::Prompt),
    ("tools.mcp", Support::No("no place")),
    ("permissions.bash", Support::Prompt),
    ("permissions.edit", Support::Prompt),
    ("permissions.read", Support::Prompt),
    ("permissions.webfetch", Support::Prompt),
    ("permissions.websearch", Support::Prompt),
    ("permissions.question", Support::Prompt),
    ("permissions.external_directory", Support::Prompt),
    ("permissions.mcp", Support::Prompt),
    ("permissions.tool", Support::Prompt),
    ("permissions.skill", Support::Prompt),
    ("permissions.delegate", Support::Prompt),
    ("permissions.env", Support::Prompt),
];
