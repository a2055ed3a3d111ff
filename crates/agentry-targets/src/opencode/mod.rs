//! OpenCode: one Markdown file per agent, with rules of which the last match wins. `fields.rs` has the field
//! table. Rules of the model are written in reverse order after `"*"`.
//!
//! The block starts with `"*"` and names every section, so that no setting for all agents decides. Other
//! tools, such as `todowrite`, are matched by name. Reading is decided by path. `.env` files get explicit
//! asks, because the catch-all rule would remove OpenCode's own. Tools that search by pattern get the
//! strictest verdict of all reading, which is reported.
//!
//! With the guard, each allow becomes an ask, which one plugin for all agents answers. Nothing is denied then
//! that the source permits. Where no rule can separate the two, denied calls are asked about as well.

mod authoring;
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

/// The name on the command line.
const NAME: &str = "opencode";

/// The target for OpenCode.
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
    shared: &[],
    authoring: Some(&authoring::AUTHORING),
    one_primary: false,
    render: write::render,
    model: ruleset::model,
    personal: None,
    blind: blind_spots::BLIND,
    guard: Some(guard::GUARD),
    import: Some(import::IMPORT),
};
