//! Whether what a delegate declares could be made ready: asked before the first request to a model, long before the
//! delegate starts. Its code is read and its servers are looked for, and nothing of it stays running.

use super::declared_tools::{DeclaredTools, MissingTool, javascript};
use super::home_tools::home_tools;
use super::prepared_agent::PreparedAgent;
use super::script_tools::scripts;
use super::{mcp_servers, memory, skills};
use crate::output::CliFailure;

/// What a survey needs to know of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SurveyTerms {
    /// Whether programs are started in the sandbox.
    pub(crate) is_confined: bool,
    /// Whether a user is there to approve an address.
    pub(crate) can_ask: bool,
}

/// Why an agent could not start, as far as that is known without starting its servers.
pub(crate) fn obstacle(
    ground: &PreparedAgent,
    terms: SurveyTerms,
) -> Result<Option<String>, CliFailure> {
    let mut found = javascript(ground)?;
    found.join(scripts(ground)?);
    found.join(home_tools(ground));
    found.join(memory::gather(ground, &found, &[]));
    let (missing, servers) = mcp_servers::survey(ground, terms);
    found.missing.extend(missing);
    // Which tools a server has is known only when it runs.
    let of_servers = servers.into_iter().map(|name| format!("{name}__"));
    let names = found.names().into_iter().chain(of_servers);
    found.join(skills::gather(ground, names, &[]));
    let DeclaredTools { missing, .. } = found;
    let needed = missing.into_iter().find(|it| !it.is_optional);
    Ok(needed.map(|MissingTool { name, kind, reason, .. }| {
        let reason = format!("its {} `{name}` is not ready: {reason}", kind.as_str());
        ground.redactor.text(&reason)
    }))
}
