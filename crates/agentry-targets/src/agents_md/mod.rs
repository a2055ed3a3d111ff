//! AGENTS.md, the open standard: the instructions for everyone who works in a project, in one file. `fields.rs`
//! says what becomes of each field of the model.
//!
//! The section of a single agent speaks to every reader; before those of several a sentence says that
//! each is for one agent only.
//!
//! The file belongs to the project: only what stands between the two marks is ever changed.

mod fields;
mod write;

use crate::{HarnessFiles, HarnessModel, HarnessPlace, Target, marks};

/// AGENTS.md.
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
fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    let text = files.text(PATH)?;
    let part = marks::part(&text, NAME).ok().flatten()?;
    part.lines().any(|line| line == heading(name)).then(HarnessModel::default)
}
