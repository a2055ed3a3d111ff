//! Codex: one TOML file per agent, and command rules that apply to all agents. `fields.rs` has the field
//! table.
//!
//! Of several setups for an agent, the first one is chosen that permits no more than the source; the last one
//! permits nothing. `danger-full-access` is never among them.
//!
//! A command rule is a prefix of words; the strictest matching rule decides. Rules apply to every session and
//! every agent of a project. So only rules that all rendered agents need are written, and never an allow.
//!
//! A command without a rule runs in the sandbox at once, in every approval policy that Codex still has. So an
//! agent whose commands are asked about gets no shell, unless that is accepted.
//!
//! A command that a rule allows leaves the sandbox. Allows in other files of `.codex/rules` in the project
//! count; their denials are not relied on. What the user's `~/.codex/rules` allow is reported as a gap.
//!
//! Codex 0.166 takes only the instructions, the model and disabled features (`features.shell_tool`,
//! `skills.include_instructions`) from an agent file. Sandbox, approvals, search and servers are those of the
//! session that starts it. This was observed in runs; the documentation differs. These fields are still
//! written, for other versions, and reported as a gap with the command that starts an equally strict session.

mod agent_entries;
mod authoring;
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

/// The name on the command line.
const NAME: &str = "codex";

/// The target for Codex.
pub static TARGET: Target = Target {
    name: NAME,
    title: "Codex",
    built_in: &["default", "explorer", "worker", "awaiter", "monitor"],
    places: &[HarnessPlace::rendered(".codex/"), HarnessPlace::rendered(".agents/skills/")],
    fields: fields::FIELDS,
    shared: &[role::RULES],
    authoring: Some(&authoring::AUTHORING),
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
