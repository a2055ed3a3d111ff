//! Gemini CLI: one Markdown file an agent with a list of tools, and rules in a policy file. `fields.rs` says
//! where each field of the model goes.
//!
//! Rules have unique descending priorities and name the agent, so that the first match wins, as in the
//! model. They hold only where Gemini reads them: in the home directory of the user, or with
//! `--policy`. For a project they are written all the same, but the agent has only such tools as it
//! may use without them: the user who starts Gemini may leave `--policy` out.
//!
//! Other policy files of the user change nothing that is written: what they allow beyond the source is
//! a gap of that user.
//!
//! A regular expression stands behind `"command":"` in the arguments as JSON, which anchors its start;
//! its end is anchored by the closing quote. It has no group with a quantifier and at most 2,048
//! characters: Gemini drops a rule whose expression has, and goes on without it. A rule without an
//! expression would be subject to Gemini's own list of harmless commands, which are never asked about.

mod blind_spots;
mod encode;
mod fields;
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

/// What the user calls it.
const NAME: &str = "gemini";

/// Gemini CLI.
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
