//! The five definition formats: each a folder that reads its files into the model and writes them
//! from it. Folders never import each other; what two of them need stands beside them.
//!
//! | module | the format |
//! | --- | --- |
//! | [`agent_md`] | one Markdown file with YAML metadata and JavaScript tools |
//! | [`agent_toml`] | `agent.toml` with `system-prompt.md` |
//! | [`manifest`] | a `.agent` manifest, or a directory with `agent.yaml` |
//! | [`agentfs`] | `agent.json` with persona, principles, skills and memory |
//! | [`agent_dir`] | a directory with `instructions.md` |
#![warn(clippy::disallowed_methods, clippy::indexing_slicing)]

pub mod agent_dir;
pub mod agent_md;
pub mod agent_toml;
pub mod agentfs;
mod convert;
pub mod cron;
mod files;
pub mod front;
mod javascript;
pub mod manifest;
pub mod mcp;
pub mod own;
pub mod policy_tests;
mod references;
pub mod skill;
#[cfg(test)]
mod tests;
mod walk;
mod words;
mod written;

pub use convert::{Converted, convert};
pub use files::{Base, Files, Listed, MemoryFiles, Package, Presence};
pub use written::{Shape, Target, Written};

use agentry_model::{Agent, Format};
use agentry_text::{Findings, Rule, Table};

/// All that the rest of the house knows of a format.
#[derive(Debug)]
pub struct FormatInfo {
    /// Which it is.
    pub format: Format,
    /// What it is called in a sentence.
    pub title: &'static str,
    /// Its documents with their field tables: the name of the file, and what it may hold.
    pub documents: &'static [(&'static str, &'static Table)],
    /// The table of the fields that the model carries whole, as settings.
    pub settings: Option<&'static Table>,
    /// What can be wrong with it, in code order.
    pub rules: &'static [&'static Rule],
    /// The fields of the model (paths of [`agentry_model::tree`]) that it has words for.
    pub carries: &'static [&'static str],
    /// Reads an agent. Never fails: what cannot be read is reported and left out.
    pub read: fn(&mut Package<'_>, &mut Findings) -> Agent,
    /// Writes an agent, as far as the format has words for it.
    pub write: fn(&Agent, &Target) -> Written,
    /// Fills in what the format says of fields that were not written.
    pub defaults: fn(&mut Agent),
}

/// Every format, in the order of [`Format`].
pub const FORMATS: &[FormatInfo] =
    &[agent_md::INFO, agent_toml::INFO, manifest::INFO, agentfs::INFO, agent_dir::INFO];

/// Reads an agent of `format`. Never fails: what cannot be read is reported and left out.
pub fn read(format: Format, package: &mut Package<'_>, findings: &mut Findings) -> Agent {
    let mut agent = (info(format).read)(package, findings);
    own::adopt(&mut agent, findings);
    agent
}

/// What there is to know of `format`.
pub fn info(format: Format) -> &'static FormatInfo {
    match format {
        Format::AgentMd => &agent_md::INFO,
        Format::AgentToml => &agent_toml::INFO,
        Format::Manifest => &manifest::INFO,
        Format::AgentFs => &agentfs::INFO,
        Format::AgentDir => &agent_dir::INFO,
    }
}
