//! Cursor: agents in `.cursor/agents`, rules in `.cursor/rules`. `fields.rs` has the field table; permissions are
//! in `.cursor/cli.json`, where a deny wins.
//!
//! Cursor asks about calls that no rule matches. Its documentation says little about pattern matching. So an
//! allow is read as narrowly, and a deny as widely, as it can be meant. The permissions hold for all agents,
//! and only for the command line tool, so nothing is rendered to them.

mod authoring;
mod fields;
mod import;
mod model;
mod write;

use crate::import::HarnessImport;
use crate::original::GrantReading;
use crate::{HarnessPlace, Target, front_matter};

/// The name on the command line.
const NAME: &str = "cursor";

/// The target for Cursor.
pub static TARGET: Target = Target {
    name: NAME,
    title: "Cursor",
    built_in: &["explore", "bash", "browser"],
    places: &[
        HarnessPlace::rendered(".cursor/agents/"),
        HarnessPlace::rendered(".cursor/rules/"),
        HarnessPlace::rendered(".cursor/skills/"),
        HarnessPlace::settings(".cursor/"),
    ],
    fields: fields::FIELDS,
    shared: &[],
    authoring: Some(&authoring::AUTHORING),
    one_primary: false,
    render: write::render,
    model: model::found,
    personal: None,
    blind: model::BLIND,
    guard: None,
    import: Some(HarnessImport {
        places: &[(".cursor/agents", ".md")],
        // A rule is imported if it is named; a project's rules are no agents.
        is_one: |path, text| {
            let is_agent = path.contains(".cursor/agents/") && front_matter::has_metadata(text);
            is_agent || path.strip_suffix(".mdc").is_some()
        },
        several: None,
        read: import::read,
        overrides: false,
        grants: GrantReading::PLAIN,
    }),
};
