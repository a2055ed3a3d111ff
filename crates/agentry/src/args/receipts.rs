//! What can be typed about receipts.

use clap::{Args as ClapArgs, Subcommand};

use super::ResultFormat;

#[derive(Debug, ClapArgs)]
pub(crate) struct ReceiptsArguments {
    #[command(subcommand)]
    pub(crate) command: ReceiptsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReceiptsCommand {
    /// List receipts, the oldest first
    List(ReceiptsAgentArguments),
    /// Print a receipt
    Show {
        /// The receipt: its id, or the end of it
        #[arg(value_name = "ID")]
        id: String,
        /// How to print it
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: ResultFormat,
    },
    /// Check that no receipt was altered, removed, added, reordered or signed by another key
    ///
    /// Needs no network and no secret key. A problem gives exit code 1.
    Verify {
        #[command(flatten)]
        meant: ReceiptsAgentArguments,
        /// Compare with an earlier output of `verify --format json`, stored where nobody else can write
        #[arg(long, value_name = "FILE")]
        heads: Option<String>,
    },
    /// Show statistics of runs: how many needed no person, what they cost
    Stats(ReceiptsAgentArguments),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReceiptsAgentArguments {
    /// The agent: its id, name or path [default: all]
    pub(crate) agent: Option<String>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}
