//! What can be typed about the agents that live in the home.

use clap::Args as ClapArgs;

use agentry_compile::model::Format;

use super::{ResultFormat, format};

#[derive(Debug, ClapArgs)]
pub(crate) struct InstallArguments {
    /// The agent: its file, its directory, or `name@version` of the store
    pub(crate) source: String,
    /// The id to install it under; by default made from its name
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Give it a memory, also if its format has none
    #[arg(long)]
    pub(crate) memory: bool,
    /// Read it as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AgentsArguments {
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct UninstallArguments {
    /// The id of the agent
    pub(crate) id: String,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExportArguments {
    /// The id of the agent
    pub(crate) id: String,
    /// The directory to write to
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: String,
    /// Replace files that are there already
    #[arg(long)]
    pub(crate) force: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct HistoryArguments {
    /// The id of the agent
    pub(crate) id: String,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArguments {
    /// The id of the agent
    pub(crate) id: String,
    /// Two commits as `A..B`, or one that is compared with the last; by default the last change
    pub(crate) range: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RollbackArguments {
    /// The id of the agent
    pub(crate) id: String,
    /// The commit to return to: its first digits, at least four
    pub(crate) commit: String,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}
