//! Cursor: its agents are read, none are written.
//!
//! | Cursor | model |
//! | --- | --- |
//! | `name`, `description` | the same; without a name that of the file |
//! | `model` | `model.preferred`, unless it is `inherit` |
//! | `readonly: true` | nothing is edited; commands are asked about at best |
//! | `is_background` | dropped |
//! | the body | the prompt |
//! | `permissions.allow`, `.deny` of `.cursor/cli.json` | rules; a deny wins |
//!
//! What no rule is about, Cursor asks about. Its documentation says little of how patterns are matched;
//! an allow is therefore read as narrowly, a deny as widely as it can be meant.

mod import;
mod model;

use crate::import::Import;
use crate::{HarnessPlace, Rendering, Target, lenient};

/// Cursor.
pub static TARGET: Target = Target {
    name: "cursor",
    title: "Cursor",
    built_in: &[],
    places: &[HarnessPlace::settings(".cursor/")],
    supports: &[],
    one_primary: false,
    render: |subjects, _| {
        let mut rendering = Rendering::default();
        for _ in subjects {
            let mut rendered = crate::Rendered::default();
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
    import: Some(Import {
        places: &[(".cursor/agents", ".md")],
        is_one: |path, text| path.contains(".cursor/agents/") && lenient::is_meant(text),
        several: None,
        read: import::read,
        overrides: false,
        words: None,
    }),
};
