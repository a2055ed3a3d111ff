//! The MCP servers of an agent, and the command line that starts each of them.

use agentry_model::{Agent, McpServer};
use agentry_text::Spanned;

/// Returns the MCP servers that are enabled.
pub(crate) fn servers(agent: &Agent) -> impl Iterator<Item = &McpServer> {
    let servers = agent.tools.mcp.iter().flatten().map(|server| &server.value);
    servers.filter(|server| server.enabled.is_none_or(|enabled| enabled.value))
}

/// Returns the words that start a server. Its command may already hold some of the arguments.
pub(crate) fn words(server: &McpServer) -> Vec<(&str, &Spanned<String>)> {
    let command = server
        .command
        .iter()
        .flat_map(|command| command.split_whitespace().map(move |word| (word, command)));
    let args = server.args.iter().flatten().map(|arg| (arg.value.as_str(), arg));
    command.chain(args).collect()
}

/// Returns the name of a program without directory and extension.
pub(crate) fn base_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name)
}
