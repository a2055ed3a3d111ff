//! What can be typed about a whole repository: its audit and its set-up.

use clap::Args as ClapArgs;

use super::ResultFormat;

#[derive(Debug, ClapArgs)]
pub(crate) struct AuditArguments {
    /// Files and directories to audit
    #[arg(default_value = ".")]
    pub(crate) paths: Vec<String>,
    /// Fail on warnings too
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// List every rule of every agent
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArguments {
    /// Show what would be written, and write nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Write everything without a question
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// How to report; `json` never asks
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}
