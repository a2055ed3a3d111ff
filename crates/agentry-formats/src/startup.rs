//! The start-up tool, which must exist in every format that can name one.

use agentry_model::Agent;
use agentry_text::Findings;
use agentry_text::suggestion::did_you_mean;

use crate::agent_md::STARTUP_MISSING;
use crate::{FormatInfo, ReaderReport};

/// Reports a start-up tool that the agent, merged with its bases, does not have. Tools of MCP servers are not
/// known before the servers run, so a name of such a tool is accepted.
pub fn check(agent: &Agent, format: &FormatInfo, findings: &mut Findings) {
    let Some(startup) = &agent.requirements.startup else { return };
    let tools = &agent.tools;
    let functions = tools.functions.iter().map(|function| function.name.as_str());
    let scripts = tools.scripts.iter().filter_map(|script| Some(script.name.as_ref()?.as_str()));
    let names: Vec<_> = functions.chain(scripts).collect();
    let is_named = |name: &&str| name.trim().eq_ignore_ascii_case(startup.trim());
    let of_server = |server: &str| {
        startup.strip_prefix(server).is_some_and(|rest| rest.starts_with(['/', '_']))
    };
    let mut servers = tools.mcp.iter().flatten();
    // The reader knows whether its list of functions is complete.
    let is_reported = format.reports(ReaderReport::StartupTool) || !tools.source.is_empty();
    if is_reported || names.iter().any(is_named) || servers.any(|server| of_server(&server.name)) {
        return;
    }
    let hint = did_you_mean(&startup.value, names.iter().copied());
    let message = format!("the start-up tool `{}` does not exist", startup.value);
    findings
        .add(&STARTUP_MISSING, startup.span, message)
        .hint(hint.unwrap_or_else(|| "name a tool of the agent, or remove it".to_owned()));
}
