//! Cursor: its agents are imported, none are rendered. `fields.rs` has the field table; the rules are in
//! `.cursor/cli.json`, where a deny wins.
//!
//! Cursor asks about calls that no rule matches. Its documentation says little about pattern matching. So an
//! allow is read as narrowly, and a deny as widely, as it can be meant.

mod authoring;
mod fields;
mod import;
mod model;

use crate::import::HarnessImport;
use crate::original::GrantReading;
use crate::{HarnessPlace, ProjectRendering, Target, front_matter};

/// The target for Cursor.
pub static TARGET: Target = Target {
    name: "cursor",
    title: "Cursor",
    built_in: &[],
    places: &[HarnessPlace::settings(".cursor/")],
    fields: fields::FIELDS,
    shared: &[],
    authoring: Some(&authoring::AUTHORING),
    one_primary: false,
    render: |subjects, _| {
        let mut rendering = ProjectRendering::default();
        for _ in subjects {
            let mut rendered = crate::RenderedAgent::default();
            let hint = "agents of Cursor can be imported; choose another target";
            rendered.refuse("target", "nothing is rendered for Cursor", Some(hint));
            rendering.agents.push(rendered);
        }
        rendering
    },
    model: |_, _| None,
    personal: None,
    blind: &[],
    guard: None,
    import: Some(HarnessImport {
        places: &[(".cursor/agents", ".md")],
        is_one: |path, text| path.contains(".cursor/agents/") && front_matter::has_metadata(text),
        several: None,
        read: import::read,
        overrides: false,
        grants: GrantReading::PLAIN,
    }),
};
