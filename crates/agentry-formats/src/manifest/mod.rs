//! Manifests: one YAML file `NAME.agent`, or a directory with `agent.yaml`, `SOUL.md` and `RULES.md`.
//! They are read as YAML 1.1 with lax scalars, like the reference implementation, on whose reading the
//! `ag1:` hash depends ([`ag1`]).
//!
//! ```text
//! apiVersion                        settings.apiVersion, unless agent/v1
//! name, version, author, license    name, version, author, license
//! description, tags                 description, tags
//! base, merge                       base, merge
//! model                             model
//! auth.strategy                     auth.strategy
//! auth.providers.X.from             auth.providers.X
//! skills[]                          skills[]: a name, or {name, optional, …options}
//! tools.mcp[]                       tools.mcp[]: a name, {name, command, …}, or {name: {…options}}
//! tools.mcp[].transport             http is streamable-http, sse is http
//! tools.mcp[].env, headers, url …   env.NAME is ${env:NAME}
//! tools.native                      tools.native
//! memory                            memory
//! behavior.persona                  role
//! behavior.traits                   traits
//! behavior.temperature, on_error    temperature, on_error
//! behavior.max_steps                max_turns
//! behavior.system_override          system_override
//! expose, agents, pipeline          expose, agents, pipeline
//! trust (with hosts)                trust
//! observability                     budget
//! extensions, x-…                   extensions
//! soul, SOUL.md                     system
//! rules, RULES.md                   rules
//! skills/, memory/                  skill_packs, memories
//! ```

mod ambiguity;
mod canonical;
mod check;
mod defaults;
mod detect;
pub mod fields;
pub mod function_type;
mod hash;
mod keys;
mod load;
mod packs;
mod read;
pub mod reference;
pub mod rules;
mod schema;
#[cfg(test)]
mod tests;
mod texts;
mod tools;
mod unknown_fields;
mod variables;
mod write;
mod write_parts;

pub use hash::{ManifestHash, ag1, try_ag1};
pub use schema::HashRefusal;

use agentry_model::{Format, TextMerge};
use agentry_policy::LayerSource;
use agentry_text::Findings;

use crate::{AgentPackage, FormatFiles, FormatInfo, FormatPrompt, ReaderReport, ServerPlace};

/// The only version of the format so far; a manifest without a version has it.
const API_VERSION: &str = "agent/v1";

/// The ending of a manifest in one file.
const ENDING: &str = ".agent";

/// The facts about the format.
pub const INFO: FormatInfo = FormatInfo {
    format: Format::Manifest,
    title: "agent manifest",
    documents: &[("NAME.agent or agent.yaml", &fields::MANIFEST)],
    settings: None,
    rules: rules::RULES,
    servers: ServerPlace::OwnField,
    carries: &[
        "name",
        "description",
        "version",
        "author",
        "license",
        "tags",
        "role",
        "base",
        "merge",
        "system",
        "rules",
        "system_override",
        "traits",
        "model.capability",
        "model.preferred",
        "model.fallback",
        "model.context",
        "auth",
        "temperature",
        "max_turns",
        "on_error",
        "budget",
        "trust",
        "skills",
        "tools.native",
        "tools.mcp",
        "memory",
        "expose",
        "agents",
        "pipeline",
        "extensions",
        "policy_tests",
    ],
    notation: LayerSource::Trust,
    read: read::read,
    write: write::write,
    defaults: defaults::defaults,
    files: FormatFiles {
        mains: &["agent.yaml", "agent.yml"],
        ending: Some(ENDING),
        shares_ending: false,
        parts: &["SOUL.md", "RULES.md", "memory/", "skills/"],
        signs: &[],
        needs_sign: false,
        owns_directory: false,
        names_agent: false,
        is_agent: detect::is_agent,
        template: &[("{name}.agent", include_str!("new/agent.agent"))],
        reserved_names: &[],
    },
    reports: &[ReaderReport::RepeatedSkill],
    prompt: FormatPrompt {
        rules_heading: Some("## Hard Rules"),
        system_is_persona: true,
        fixed_parts: &[],
    },
    behaviour_merge: TextMerge::Override,
    has_step_limit: true,
    denies_without_policy: Some("a manifest without `trust` has none"),
    needs_unique_names: false,
    takes_harness_skills: false,
    models: None,
    short_digest: Some(short_digest),
    check_receipt: None,
    remembers: false,
    heartbeat: None,
};

/// Returns the `ag1:` hash, unless the reference implementation rejects the manifest.
fn short_digest(package: &mut AgentPackage<'_>) -> Option<String> {
    ag1(package, &mut Findings::default()).map(|hash| hash.hash)
}
