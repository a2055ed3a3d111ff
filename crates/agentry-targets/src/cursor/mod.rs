//! Cursor: its agents are read, none are written. `fields.rs` says what is read; rules stand in
//! `.cursor/cli.json`, where a deny wins.
//!
//! What no rule is about, Cursor asks about. Its documentation says little of how patterns are matched;
//! an allow is therefore read as narrowly, a deny as widely as it can be meant.

mod fields;
mod import;
mod model;

use crate::import::HarnessImport;
use crate::original::GrantReading;
use crate::{HarnessPlace, ProjectRendering, Target, front_matter};

/// Cursor.
pub static TARGET: Target = Target {
    name: "cursor",
    title: "Cursor",
    built_in: &[],
    places: &[HarnessPlace::settings(".cursor/")],
    fields: fields::FIELDS,
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
