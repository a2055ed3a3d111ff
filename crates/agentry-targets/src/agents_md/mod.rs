//! AGENTS.md, the open standard: one file with instructions for every agent in a project. `fields.rs` has the
//! field table.
//!
//! The section of a single agent applies to every reader. Before several sections, a sentence says that each
//! is for one agent only. The file belongs to the project: only the text between the two marks is changed.

mod fields;
mod write;

use crate::{HarnessFiles, HarnessModel, HarnessPlace, Target, marks};

/// The target for AGENTS.md.
pub static TARGET: Target = Target {
    name: "agents-md",
    title: "AGENTS.md",
    built_in: &[],
    places: &[
        HarnessPlace::context("AGENTS.md"),
        HarnessPlace::rendered(".codex/AGENTS.md"),
        HarnessPlace::rendered(".config/opencode/AGENTS.md"),
        HarnessPlace::rendered(".pi/agent/AGENTS.md"),
    ],
    fields: fields::FIELDS,
    shared: &[],
    authoring: None,
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

/// The heading of an agent's section.
fn heading(name: &str) -> String {
    format!("## Agent `{name}`")
}

/// The file itself permits nothing, because its readers follow their own rules.
fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    let text = files.text(PATH)?;
    let part = marks::part(&text, NAME).ok().flatten()?;
    part.lines().any(|line| line == heading(name)).then(HarnessModel::default)
}
