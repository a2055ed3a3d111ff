//! What can be typed about the tools of an agent.

use agentry_compile::model::Format;
use clap::{Args as ClapArgs, Subcommand};

use super::{ResultFormat, format};

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ToolsArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    #[arg(required = true)]
    pub(crate) agent: Option<String>,
    /// Consent to everything that the agent may do, without a question
    #[arg(long)]
    pub(crate) yes: bool,
    /// Use servers and tools that changed since you agreed to them
    #[arg(long)]
    pub(crate) accept_changes: bool,
    /// Read the agent as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Call one tool as in a run: under the policy, with consent, in the sandbox
    Call(ToolsCallArguments),
    /// Log in to an MCP server of an agent, in your browser
    Login(ToolsLoginArguments),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ToolsLoginArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    /// The name of the server
    pub(crate) server: String,
    /// Consent to everything that the agent may do, without a question
    #[arg(long)]
    pub(crate) yes: bool,
    /// Read the agent as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ToolsCallArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    /// The name of the tool
    pub(crate) name: String,
    /// The arguments of the tool, as JSON
    #[arg(default_value = "{}")]
    pub(crate) json: String,
    /// Consent to everything that the agent may do, without a question
    #[arg(long)]
    pub(crate) yes: bool,
    /// Use servers and tools that changed since you agreed to them
    #[arg(long)]
    pub(crate) accept_changes: bool,
    /// Read the agent as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}
