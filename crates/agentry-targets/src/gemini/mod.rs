//! Gemini CLI: one Markdown file per agent with a list of tools, and rules in a policy file. `fields.rs` has
//! the field table.
//!
//! Rules have unique descending priorities and name the agent, so that the first match wins, as in the model.
//! They apply only where Gemini reads them: in the home directory of the user, or with `--policy`. For a
//! project they are written too, but the agent gets only tools that it may use without them, because the user
//! may start Gemini without `--policy`.
//!
//! Other policy files of the user do not change the rendered files: what they allow beyond the source is
//! reported as a gap.
//!
//! A regular expression follows `"command":"` in the arguments as JSON, which anchors its start; the closing
//! quote anchors its end. It has no quantified group and at most 2,048 characters, because Gemini drops a
//! rule with any other expression and continues without it. A rule without an expression would be subject to
//! Gemini's own list of harmless commands, which are never asked about.

mod authoring;
mod blind_spots;
mod encode;
mod fields;
mod harmless_commands;
mod import;
mod import_extensions;
mod import_settings;
mod policy;
mod regex;
mod tools;
mod trust;
mod user_policy;
mod write;

use crate::import::HarnessImport;
use crate::original::GrantReading;
use crate::{HarnessPlace, Target, front_matter};

/// The name on the command line.
const NAME: &str = "gemini";

/// The target for Gemini CLI.
pub static TARGET: Target = Target {
    name: NAME,
    title: "Gemini CLI",
    built_in: &[
        "codebase_investigator",
        "cli_help",
        "generalist",
        "browser_agent",
        "memory_manager",
    ],
    places: &[HarnessPlace::rendered(".gemini/")],
    fields: fields::FIELDS,
    shared: &[],
    authoring: Some(&authoring::AUTHORING),
    one_primary: false,
    render: write::render,
    model: tools::model,
    personal: Some(user_policy::PERSONAL),
    blind: blind_spots::BLIND,
    guard: None,
    import: Some(HarnessImport {
        places: &[(".gemini/agents", ".md")],
        is_one: |path, text| path.contains(".gemini/agents/") && front_matter::has_metadata(text),
        several: None,
        read: import::read,
        overrides: false,
        grants: GrantReading::PLAIN,
    }),
};
