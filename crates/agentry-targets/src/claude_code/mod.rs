//! Claude Code: one Markdown file an agent with its tools, and rules in settings that hold for all
//! agents of a project, of which the strictest wins. `fields.rs` says where each field of the model goes.
//!
//! The user's own `~/.claude/settings.json` changes nothing that is written: what it allows beyond the
//! source is a gap of that user.
//!
//! With the guard each call is put to `agentry guard` by a hook in the metadata and one in the
//! settings, which hold only those denials that are denials in every agent.

mod agent_file;
mod blind_spots;
mod encode;
mod fields;
mod grants;
mod guard;
mod hook;
mod import;
mod import_hooks;
mod import_plugins;
mod losses;
mod memo;
mod paths;
mod patterns;
mod rule;
mod ruleset;
mod settings;
mod share;
mod tools;
mod write;

pub(crate) use memo::ClaudeMemo;

use crate::{HarnessPlace, Target};

/// What the user calls it.
const NAME: &str = "claude-code";

/// Where an imported agent keeps the names of skills that are not there: they may come with a plugin, or lie
/// in the home of the user who starts it.
const OTHER_SKILLS: &str = "skills";

/// Where an imported agent keeps the names of servers that are set up elsewhere.
const OTHER_SERVERS: &str = "mcpServers";

/// Claude Code.
pub static TARGET: Target = Target {
    name: NAME,
    title: "Claude Code",
    built_in: &["explore", "plan", "general-purpose", "claude", "statusline-setup"],
    places: &[
        HarnessPlace::rendered(".claude/"),
        HarnessPlace::settings(".claude.json"),
        HarnessPlace::settings(".mcp.json"),
    ],
    fields: fields::FIELDS,
    one_primary: false,
    render: write::render,
    model: ruleset::model,
    personal: Some(ruleset::PERSONAL),
    blind: blind_spots::BLIND,
    guard: Some(guard::GUARD),
    import: Some(import::IMPORT),
};
