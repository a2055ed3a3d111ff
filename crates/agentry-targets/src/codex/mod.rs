//! Codex: one TOML file an agent, rules about commands for everybody at once. `fields.rs` says where
//! each field of the model goes.
//!
//! Of several ways to set an agent up, the first is chosen that permits no more than the source; the
//! last one permits nothing. `danger-full-access` is never among them.
//!
//! Rules about commands are prefixes of words; the strictest of all that match decides. They hold for
//! every session and every agent of a project, so that only such are written as all rendered agents
//! want, and never one that allows something.
//!
//! What other files in `.codex/rules` of the project allow counts; what they forbid is not relied on.
//! What the user's own `~/.codex/rules` allow is a gap of that user.
//!
//! Codex 0.166 takes only the instructions, the model and what is switched off (`features.shell_tool`,
//! `skills.include_instructions`) from the file of an agent. Sandbox, approvals, search and servers are
//! those of the session that starts it (seen by running it; the documentation says otherwise). So they
//! are written for what they say and for other versions, and reported as a gap, with the command that
//! starts a session that is as strict.

mod agent_entries;
mod blind_spots;
mod fields;
mod import;
mod prefix;
mod rivals;
mod role;
mod rule_calls;
mod servers;
mod setup;
mod write;

use crate::HarnessPlace;
use crate::Target;
use crate::import::HarnessImport;
use crate::original::GrantReading;

/// What the user calls it.
const NAME: &str = "codex";

/// Codex.
pub static TARGET: Target = Target {
    name: NAME,
    title: "Codex",
    built_in: &["default", "explorer", "worker", "awaiter", "monitor"],
    places: &[HarnessPlace::rendered(".codex/"), HarnessPlace::rendered(".agents/skills/")],
    fields: fields::FIELDS,
    one_primary: false,
    render: write::render,
    model: role::model,
    personal: Some(role::PERSONAL),
    blind: blind_spots::BLIND,
    guard: None,
    import: Some(HarnessImport {
        places: &[(".codex/agents", ".toml")],
        is_one: |path, _| path.contains(".codex/agents/"),
        several: Some(import::SEVERAL),
        read: import::read,
        overrides: true,
        grants: GrantReading::PLAIN,
    }),
};
