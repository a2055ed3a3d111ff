//! Claude Code: one Markdown file per agent with its tools, and rules in settings that apply to all agents of
//! a project; the strictest rule wins. `fields.rs` has the field table.
//!
//! The user's `~/.claude/settings.json` does not change the rendered files: what it allows beyond the source
//! is reported as a gap.
//!
//! With the guard, a hook in the metadata and one in the settings ask `agentry guard` about each call. The
//! settings then contain only denials that every agent shares.

mod agent_file;
mod authoring;
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

/// The name on the command line.
const NAME: &str = "claude-code";

/// The key for names of skills that were not found at import: a plugin may bring them, or the home directory
/// of another user.
const OTHER_SKILLS: &str = "skills";

/// The key for names of MCP servers that are defined elsewhere.
const OTHER_SERVERS: &str = "mcpServers";

/// The target for Claude Code.
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
    shared: &[settings::SHARED],
    authoring: Some(&authoring::AUTHORING),
    one_primary: false,
    render: write::render,
    model: ruleset::model,
    personal: Some(ruleset::PERSONAL),
    blind: blind_spots::BLIND,
    guard: Some(guard::GUARD),
    import: Some(import::IMPORT),
};
