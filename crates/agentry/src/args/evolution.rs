//! What can be typed about the changes that agents propose to themselves.

use clap::{Args as ClapArgs, Subcommand};

use super::ResultFormat;

/// Why a proposal was rejected, unless the user says it.
pub(crate) const REJECTED: &str = "rejected by the user";

#[derive(Debug, ClapArgs)]
pub(crate) struct ProposalsArguments {
    #[command(subcommand)]
    pub(crate) command: ProposalsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProposalsCommand {
    /// List the proposals of an agent, or of all
    List(ProposalsListArguments),
    /// Show a proposal with its difference
    Show(ProposalArguments),
    /// Apply a proposal to the agent
    Accept(ProposalArguments),
    /// Reject a proposal
    Reject(ProposalsRejectArguments),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProposalsListArguments {
    /// The id of the agent
    pub(crate) id: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProposalArguments {
    /// The proposal: `p1`
    pub(crate) proposal: String,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProposalsRejectArguments {
    /// The proposal: `p1`
    pub(crate) proposal: String,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = REJECTED)]
    pub(crate) reason: String,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TeachArguments {
    /// The id of the agent
    pub(crate) id: String,
    /// What it should know from now on
    pub(crate) text: String,
    /// The model that turns the sentence into a change; without one, the agent's own
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Ask no model: keep the sentence as a memory of type rule
    #[arg(long, conflicts_with = "model")]
    pub(crate) no_model: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}
