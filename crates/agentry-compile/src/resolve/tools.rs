//! The tools that an agent names, and where each comes from.

use agentry_model::{Agent, McpServer};
use agentry_policy::{Action, PathAnchors, PolicyLayer, RuleList, Section, layers};

/// Built-in tools, with other names that definitions use for them.
const NATIVE: &[(&str, &[&str])] = &[
    ("bash", &["shell", "terminal"]),
    ("read", &["read_file"]),
    ("write", &["write_file"]),
    ("edit", &["edit_file", "patch"]),
    ("list", &["ls"]),
    ("glob", &[]),
    ("grep", &["search"]),
    ("apply_patch", &[]),
    ("webfetch", &["web_fetch", "fetch"]),
    ("websearch", &["web_search"]),
    ("question", &["ask_user", "askuserquestion"]),
    ("todo", &["todowrite", "todo_write"]),
];

/// A tool that an agent names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTool {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ToolKind,
    /// Details: the command, the address or the path.
    pub detail: String,
    /// Why it is not available, if it is not.
    pub missing: Option<String>,
    /// The policy text that denies every call of it, if the agent's policy does.
    pub denied: Option<String>,
}

/// The kind of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Built in.
    Native,
    /// An MCP server.
    Mcp,
    /// A script of the agent.
    Script,
    /// A function of the agent's own JavaScript.
    Function,
}

impl ToolKind {
    /// The name in the output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Mcp => "mcp",
            Self::Script => "script",
            Self::Function => "function",
        }
    }
}

/// The built-in tool with this name or alias.
pub fn native(name: &str) -> Option<&'static str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_', ' '], "");
    let name = plain(name.trim());
    let row = NATIVE.iter().find(|(own, others)| {
        plain(own) == name || others.iter().any(|other| plain(other) == name)
    });
    row.map(|(own, _)| *own)
}

/// The agent's policy for whole tools.
pub(super) struct AllowedTools(Vec<PolicyLayer>);

impl AllowedTools {
    /// The policy of `agent`, whose directory in the workspace is `dir`.
    pub(super) fn new(agent: &Agent, dir: &str) -> Self {
        Self(layers(&agent.policy, &agent.policy_context(dir), &PathAnchors::default()))
    }

    /// The policy text that denies every call of a tool.
    pub(super) fn denied(&self, kind: ToolKind, name: &str) -> Option<String> {
        let section = match (kind, name) {
            (ToolKind::Mcp, _) => Section::Mcp,
            (ToolKind::Native, "bash") => Section::Bash,
            (ToolKind::Native, "write" | "edit" | "apply_patch") => Section::Edit,
            (ToolKind::Native, "read" | "list" | "glob" | "grep") => Section::Read,
            (ToolKind::Native, "webfetch") => Section::Webfetch,
            (ToolKind::Native, "websearch") => Section::Websearch,
            (ToolKind::Native, "question") => Section::Question,
            _ => Section::Tool,
        };
        // `all` includes the intent, so the tool is denied only if nothing allows or asks.
        let denies = |rules: &&RuleList| rules.all().all(|rule| rule.action == Action::Deny);
        let rules = self.0.iter().filter_map(|layer| layer.rules(section)).find(denies)?;
        Some(rules.intent.text.clone())
    }
}

/// The tools that `agent` names, in the order of the model. `servers` are those of the user.
pub(super) fn tools(
    agent: &Agent,
    allowed: &AllowedTools,
    servers: &[McpServer],
) -> Vec<PlannedTool> {
    let tools = &agent.tools;
    let built_in = tools.native.iter().flatten().map(|name| native_tool(name));
    let mcp = tools.mcp.iter().flatten().map(|server| mcp_tool(server, servers));
    let scripts = tools.scripts.iter().map(|script| {
        let path = script.path.as_ref().map(|path| path.value.clone());
        tool(script.name.as_ref().map_or("unnamed", |name| name), ToolKind::Script, path)
    });
    let functions =
        tools.functions.iter().map(|function| tool(&function.name, ToolKind::Function, None));
    let all = built_in.chain(mcp).chain(scripts).chain(functions);
    all.map(|tool| PlannedTool { denied: allowed.denied(tool.kind, &tool.name), ..tool }).collect()
}

fn tool(name: &str, kind: ToolKind, detail: Option<String>) -> PlannedTool {
    let (name, detail) = (name.to_owned(), detail.unwrap_or_default());
    PlannedTool { name, kind, detail, missing: None, denied: None }
}

fn native_tool(name: &str) -> PlannedTool {
    let own = native(name);
    let missing = own.is_none().then(|| "there is no built-in tool of this name".to_owned());
    PlannedTool { missing, ..tool(own.unwrap_or(name), ToolKind::Native, None) }
}

fn mcp_tool(server: &McpServer, servers: &[McpServer]) -> PlannedTool {
    let own = address(server);
    let users = servers.iter().find(|other| other.name == server.name).and_then(address);
    let missing = if server.enabled.is_some_and(|on| !on.value) {
        Some("it is switched off".to_owned())
    } else if own.is_none() && users.is_none() {
        Some(format!(
            "neither the agent nor `[mcp_servers.{}]` of your `config.toml` says how to reach it",
            server.name
        ))
    } else {
        None
    };
    PlannedTool { missing, ..tool(&server.name, ToolKind::Mcp, own.or(users)) }
}

/// The command line or address of a server.
fn address(server: &McpServer) -> Option<String> {
    let command = server.command.as_ref().map(|command| {
        let args = server.args.iter().flatten().map(|arg| arg.value.as_str());
        [command.value.as_str()].into_iter().chain(args).collect::<Vec<_>>().join(" ")
    });
    command.or_else(|| server.url.as_ref().map(|url| url.value.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_tool_aliases_resolve() {
        let cases = [
            ("bash", Some("bash")),
            ("Read", Some("read")),
            ("write_file", Some("write")),
            ("web-fetch", Some("webfetch")),
            ("Web Fetch", Some("webfetch")),
            ("browser", None),
            ("python-repl", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(native(name), expected, "{name}");
        }
    }
}
