//! AG8101 to AG8110: files of MCP servers. The checks of servers in definitions run as well.

use agentry_formats::{PathPresence, mcp};
use agentry_model::{Agent, McpServer};
use agentry_text::json::JsonDialect;
use agentry_text::suggestion::nearest;
use agentry_text::{
    Findings, Fix, Severity, Spanned, TreeEntry, TreeMap, TreeNode, TreeValue, rules,
};

use super::document::read_json;
use super::{HarnessSubject, as_definition};
use crate::{credentials_in_url, mcp_through_shell, plain_http_mcp, unpinned_mcp_package};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        SERVERS_NOT_JSON: "AG8101",
        SERVERS_KEY: "AG8102",
        NO_ADDRESS: "AG8103",
        TWO_ADDRESSES: "AG8104",
        ARGS_NOT_LIST: "AG8105",
        ENV_NOT_TEXT: "AG8106",
        SERVER_SECRET: "AG8107",
        MISSPELT_SERVER_FIELD: "AG8108",
        SERVER_PROGRAM: "AG8109",
        UNKNOWN_TYPE: "AG8110",
    ]
}

/// The fields that programs know.
const FIELDS: &[&str] = &[
    "command",
    "args",
    "env",
    "envFile",
    "cwd",
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "type",
    "transport",
    "timeout",
    "disabled",
    "enabled",
    "description",
    "autoApprove",
    "alwaysAllow",
    "trust",
    "tools",
    "includeTools",
    "excludeTools",
    "oauth",
    "auth",
    "authProviderType",
    "headersHelper",
    "gallery",
    "version",
];

/// The ways to speak to a server.
const TYPES: &[&str] = &[
    "stdio",
    "http",
    "sse",
    "ws",
    "local",
    "remote",
    "sdk",
    "streamable-http",
    "streamable_http",
    "streamableHttp",
];

/// Checks a file of servers.
pub(super) fn check_file(subject: &HarnessSubject<'_>, key: &str, findings: &mut Findings) {
    let rule = (&SERVERS_NOT_JSON, "no server of the file is started");
    let is_editor = key == "servers";
    let dialect = if is_editor { JsonDialect::Relaxed } else { JsonDialect::Strict };
    let Some(map) = read_json(subject.source, dialect, rule, findings) else { return };
    let Some(servers) = map.get(key) else {
        // A plugin may list its servers without a key around them.
        let others = ["mcpServers", "servers", "mcp_servers", "mcp", "context_servers"];
        let other = map.entries.iter().find(|entry| others.contains(&entry.key.text.as_str()));
        if let Some(entry) = other {
            let message = format!("the servers are below `{}`", entry.key.text);
            findings
                .add(&SERVERS_KEY, entry.key.span, message)
                .hint(format!("this file is read for `{key}`"))
                .fix(Fix::word(format!("write `{key}`"), entry.key.span, key));
        }
        return;
    };
    check(subject, servers, findings);
}

/// Checks a map of servers by name.
pub(super) fn check(subject: &HarnessSubject<'_>, servers: &TreeNode, findings: &mut Findings) {
    let Some(map) = servers.as_map() else { return };
    let mut agent = Agent::default();
    for TreeEntry { key, value } in &map.entries {
        let Some(fields) = value.as_map() else { continue };
        address(&key.text, key.span, fields, findings);
        for entry in &fields.entries {
            field(entry, findings);
        }
        program(subject, fields, findings);
        let server = Spanned::new(of_map(&key.text, fields), key.span);
        agent.tools.mcp.get_or_insert_default().push(server);
    }
    general(subject, &agent, findings);
}

/// Runs the checks that servers of definitions have as well.
fn general(subject: &HarnessSubject<'_>, agent: &Agent, findings: &mut Findings) {
    let Some(checked) = as_definition(agent, subject) else { return };
    for check in [plain_http_mcp::CHECK, credentials_in_url::CHECK, mcp_through_shell::CHECK] {
        (check.check)(&checked, findings);
    }
    let mut unpinned = Findings::default();
    (unpinned_mcp_package::CHECK.check)(&checked, &mut unpinned);
    for mut found in unpinned.into_sorted() {
        // Nearly every file of servers does this, so it is no more than worth knowing.
        found.severity = Severity::Note;
        findings.push(found);
    }
}

fn address(name: &str, span: agentry_text::Span, fields: &TreeMap, findings: &mut Findings) {
    let urls = ["url", "httpUrl", "serverUrl"];
    let url = urls.iter().find_map(|key| fields.entry(key));
    let command = fields.entry("command");
    let is_off = fields.get("disabled").is_some_and(|node| node.value == TreeValue::Bool(true))
        || fields.get("enabled").is_some_and(|node| node.value == TreeValue::Bool(false));
    match (command, url) {
        (None, None) if !is_off => {
            let message = format!("the server `{name}` has neither `command` nor `url`");
            findings.add(&NO_ADDRESS, span, message).hint("add `command` or `url`");
        }
        (Some(_), Some(url)) => {
            let message = format!("the server `{name}` has both `command` and `url`");
            findings.add(&TWO_ADDRESSES, url.key.span, message).hint("keep one of them");
        }
        _ => {}
    }
}

fn field(entry: &TreeEntry, findings: &mut Findings) {
    let (name, value) = (entry.key.text.as_str(), &entry.value);
    match name {
        "args" if value.as_list().is_none() => {
            let message = format!("`args` is {} and not a list", value.value.describe());
            findings.add(&ARGS_NOT_LIST, value.span, message).hint("write one text per argument");
        }
        "env" | "headers" => variables(value, findings),
        "type" | "transport" => {
            let word = value.as_str().filter(|word| !TYPES.contains(word));
            if let Some(word) = word {
                let hint = nearest(word, TYPES.iter().copied())
                    .map_or("use `stdio` or `http`".to_owned(), |it| {
                        format!("did you mean `{it}`?")
                    });
                let message = format!("there is no type `{word}`");
                findings.add(&UNKNOWN_TYPE, value.span, message).hint(hint);
            }
        }
        _ if FIELDS.contains(&name) => {}
        _ => {
            let near = nearest(name, FIELDS.iter().copied()).filter(|_| name.len() > 2);
            if let Some(near) = near {
                findings
                    .add(
                        &MISSPELT_SERVER_FIELD,
                        entry.key.span,
                        format!("servers have no field `{name}`"),
                    )
                    .hint(format!("did you mean `{near}`?"))
                    .fix(Fix::word(format!("write `{near}`"), entry.key.span, near));
            }
        }
    }
}

fn variables(node: &TreeNode, findings: &mut Findings) {
    let Some(map) = node.as_map() else { return };
    for TreeEntry { key, value } in &map.entries {
        match value.as_str() {
            Some(text) if mcp::looks_secret(&key.text, text) && !is_placeholder(text) => {
                let message = format!("`{}` looks like a secret written out", key.text);
                findings
                    .add(&SERVER_SECRET, value.span, message)
                    .secret()
                    .hint("revoke it, and name an environment variable: `${NAME}`");
            }
            Some(_) => {}
            None => {
                let message =
                    format!("`{}` is {} and not a text", key.text, value.value.describe());
                findings.add(&ENV_NOT_TEXT, value.span, message).hint("write it in quotes");
            }
        }
    }
}

/// Whether a value asks to be replaced.
pub(super) fn is_placeholder(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words = [
        "your",
        "xxx",
        "placeholder",
        "changeme",
        "change-me",
        "example",
        "<",
        "todo",
        "insert",
        "...",
    ];
    words.iter().any(|word| lower.contains(word))
}

fn program(subject: &HarnessSubject<'_>, fields: &TreeMap, findings: &mut Findings) {
    let Some(node) = fields.get("command") else { return };
    // A server with a directory of its own starts there.
    if fields.entry("cwd").is_some() {
        return;
    }
    let Some(text) = node.as_str().filter(|text| text.starts_with("./")) else { return };
    let is_plain = !text.contains([' ', '$', '*', '{']);
    let is_rooted = subject.source.path.ends_with(".mcp.json");
    if is_plain && is_rooted && (subject.probe)(text) == PathPresence::Missing {
        findings
            .add(&SERVER_PROGRAM, node.span, format!("there is no `{text}`"))
            .hint("add the file, or name another command");
    }
}

/// The server as a definition would declare it.
fn of_map(name: &str, fields: &TreeMap) -> McpServer {
    let text = |key: &str| fields.get(key).and_then(TreeNode::to_spanned);
    let args = fields.get("args").and_then(TreeNode::as_list);
    McpServer {
        name: name.to_owned(),
        command: text("command"),
        args: args.map(|items| items.iter().filter_map(TreeNode::to_spanned).collect()),
        url: text("url").or_else(|| text("httpUrl")).or_else(|| text("serverUrl")),
        ..McpServer::default()
    }
}
