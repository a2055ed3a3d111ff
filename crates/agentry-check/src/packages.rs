//! The programs that MCP servers start, word by word.

use agentry_model::{Agent, McpServer};
use agentry_text::Spanned;

/// The MCP servers that are used.
pub(crate) fn servers(agent: &Agent) -> impl Iterator<Item = &McpServer> {
    let servers = agent.tools.mcp.iter().flatten().map(|server| &server.value);
    servers.filter(|server| server.enabled.is_none_or(|enabled| enabled.value))
}

/// The words that start a server: its command, which may hold some arguments, and its arguments.
pub(crate) fn words(server: &McpServer) -> Vec<(&str, &Spanned<String>)> {
    let command = server
        .command
        .iter()
        .flat_map(|command| command.split_whitespace().map(move |word| (word, command)));
    let args = server.args.iter().flatten().map(|arg| (arg.value.as_str(), arg));
    command.chain(args).collect()
}

/// The bare name of a program.
pub(crate) fn base_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name)
}
