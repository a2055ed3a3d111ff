//! `agentry acp`: an agent for editors, by the Agent Client Protocol on the standard streams.

mod change_view;
mod command_terminal;
mod event_view;
mod history;
mod open_files;
mod sessions;
mod turn;
mod view;

use std::sync::Arc;

use agentry_acp::EditorService;

use super::run::prepared_agent::PreparedAgent;
use super::run::workers::workers;
use super::served_agent::ServedAgent;
use super::stdio_service;
use crate::args::AcpArguments;
use crate::output::CliOutcome;
pub(crate) use command_terminal::show_output;
use sessions::EditorSessions;

pub(crate) fn run(args: &AcpArguments) -> CliOutcome {
    let ground = PreparedAgent::read(&args.agent, args.offer.format_override)?;
    let agent = ServedAgent::of(&ground, &args.agent, args.offer.to_words());
    drop(ground);
    let service = Arc::new(EditorService::new(Arc::new(EditorSessions::new(agent))));
    stdio_service::serve(workers()?, &service)
}
