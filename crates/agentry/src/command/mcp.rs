//! `agentry mcp`: agents and the functions that they expose, as tools for MCP clients on the standard streams.

mod agent_call;
pub(super) mod agent_tools;
mod approval_form;
pub(super) mod run_places;

use std::sync::Arc;

use agentry_mcp::serving::ServerService;

use super::run::workers::workers;
use super::stdio_service;
use crate::args::McpArguments;
use crate::output::CliOutcome;
use agent_tools::OfferedAgents;

/// What the model of a client gets to know.
pub(super) const INSTRUCTIONS: &str = "Each tool runs an agent, or a function of one, in the user's workspace, within \
    what its definition allows. A result has the id of its run; give it as `run` to go on with that run. An \
    agent may ask the user for an approval while it works.";

pub(crate) fn run(args: &McpArguments) -> CliOutcome {
    let offered = OfferedAgents::read(args)?;
    let service = Arc::new(ServerService::new(Arc::new(offered), INSTRUCTIONS.to_owned()));
    stdio_service::serve(workers()?, &service)
}
