//! OpenCode: one Markdown file an agent, with rules of which the last match wins. `fields.rs`
//! says where each field of the model goes. Rules of the model are written in reverse after `"*"`.
//!
//! The block starts with `"*"` and names every section, so that nothing that holds for all agents
//! decides; `todowrite` and the like are tools by name. Reading a file is asked about by its path,
//! `.env` files always: our catch-all would take away the question that OpenCode has by itself. The
//! tools that are told a pattern instead of a path get the strictest answer of all reading, which is reported.
//!
//! With the guard, what is allowed is asked and one plugin for all agents answers. Nothing is denied then
//! that the source permits; where no rule can tell the two apart, what is denied is asked about as well.

mod blind_spots;
mod encode;
mod fields;
mod files;
mod floor;
mod grants;
mod guard;
mod import;
mod import_patterns;
mod import_plugins;
mod import_reading;
mod layers;
mod memo;
mod names;
mod options;
mod paths;
mod ruleset;
mod write;

pub(crate) use memo::OpencodeMemo;

use crate::{HarnessPlace, Target};

/// What the user calls it.
const NAME: &str = "opencode";

/// OpenCode.
pub static TARGET: Target = Target {
    name: NAME,
    title: "OpenCode",
    built_in: &["build", "plan", "general", "explore", "compaction", "title", "summary"],
    places: &[
        HarnessPlace::rendered(".opencode/"),
        HarnessPlace::rendered(".config/opencode/"),
        HarnessPlace::settings("opencode.json"),
        HarnessPlace::settings("opencode.jsonc"),
    ],
    fields: fields::FIELDS,
    one_primary: false,
    render: write::render,
    model: ruleset::model,
    personal: None,
    blind: blind_spots::BLIND,
    guard: Some(guard::GUARD),
    import: Some(import::IMPORT),
};
