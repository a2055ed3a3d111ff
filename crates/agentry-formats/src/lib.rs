//! The five definition formats. Each has a folder that reads its files into the model and writes them
//! from it. Folders never import each other; code that two of them share is in a module beside them.
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
pub mod agentry_block;
mod convert;
pub mod cron;
mod detect;
mod files;
pub mod front_matter;
mod info;
mod javascript;
pub mod manifest;
pub mod mcp;
pub mod policy_tests;
mod references;
pub mod script;
pub mod skill;
mod spoken_identity;
pub mod startup;
#[cfg(test)]
mod tests;
mod text_checks;
mod walk;
mod writer_output;

pub use convert::{ConvertedAgent, convert, declared, gain};
pub use detect::DetectedFile;
pub use files::{AgentPackage, ListedName, MemoryFiles, PackageFiles, PathBase, PathPresence};
pub use info::{FormatFiles, FormatInfo, FormatPrompt, ReaderReport, ServerPlace};
pub use spoken_identity::{role_sentence, trait_lines};
pub use writer_output::{OutputShape, WriteTarget, WrittenFiles};

use agentry_model::{Agent, Format};
use agentry_text::Findings;

/// Every format, in the order of the variants of [`Format`].
pub const FORMATS: &[FormatInfo] =
    &[agent_md::INFO, agent_toml::INFO, manifest::INFO, agentfs::INFO, agent_dir::INFO];

/// Reads an agent of `format`. Never fails: a part that cannot be read is reported and left out.
pub fn read(format: Format, package: &mut AgentPackage<'_>, findings: &mut Findings) -> Agent {
    let agent = (info(format).read)(package, findings);
    mcp::check_names(&agent, findings);
    agent
}

/// Returns the row of `format` in [`FORMATS`].
#[expect(clippy::indexing_slicing, reason = "a test compares the table with the variants")]
pub fn info(format: Format) -> &'static FormatInfo {
    &FORMATS[format as usize]
}
