//! What can be typed about the sandbox.

use clap::{Args as ClapArgs, Subcommand};

use agentry_compile::model::Format;

use super::{ResultFormat, format};

#[derive(Debug, ClapArgs)]
pub(crate) struct SandboxArguments {
    #[command(subcommand)]
    pub(crate) command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Show what the commands of an agent are confined to on this machine, and what enforces it
    Explain(SandboxExplainArguments),
    /// Run one command, confined like those of an agent
    Exec(SandboxExecArguments),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SandboxExplainArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    /// Read the agent as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SandboxExecArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
    /// Refuse if the definition has another digest
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<String>,
    /// The project that the agent works in; the workspace of its definition if none is named
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<String>,
    /// Read the agent as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
}
