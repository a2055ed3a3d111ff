//! MCP servers in the form that most harnesses share: a command with arguments, or an address.

use agentry_model::{McpServer, McpTransport};
use agentry_text::data::MapBuilder;
use agentry_text::{Data, Spanned};

use crate::draft::at;
use crate::render_result::{LossKind, RenderedAgent};

/// How a harness writes a reference to an environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableStyle {
    /// Values stay unchanged.
    Untouched,
    /// `${X}` replaces Agentry's `${env:X}`.
    Bare,
}

impl VariableStyle {
    fn write(self, text: &str) -> String {
        match self {
            Self::Untouched => text.to_owned(),
            Self::Bare => text.replace("${env:", "${"),
        }
    }

    fn read(self, text: &str) -> String {
        match self {
            Self::Untouched => text.to_owned(),
            Self::Bare => text.replace("${", "${env:"),
        }
    }
}

/// Writes a server as a map; `url` is the harness' key for the address.
pub(crate) fn write(server: &McpServer, url: &str, variables: VariableStyle) -> Data {
    let data = |text: &Spanned<String>| Data::str(variables.write(&text.value));
    let pairs = |pairs: &[(String, Spanned<String>)]| {
        Data::Map(pairs.iter().map(|(key, it)| (key.clone(), data(it))).collect())
    };
    let args = server.args.iter().flatten().map(data).collect();
    let mut map = MapBuilder::new();
    map.set_opt("command", server.command.as_ref().map(|it| Data::str(&it.value)));
    map.set_full("args", Data::List(args));
    map.set_full("env", pairs(&server.env));
    map.set_opt(url, server.url.as_ref().map(data));
    map.set_full("headers", pairs(&server.headers));
    map.build()
}

/// Reports a reference in Agentry's syntax, which the harness would not expand.
pub(crate) fn references(server: &McpServer, out: &mut RenderedAgent) {
    let mut values = server.env.iter().chain(&server.headers).map(|(_, value)| &value.value);
    if values.any(|value| value.contains("${env:")) {
        let name = &server.name;
        let detail =
            format!("the server `{name}` gets `${{env:…}}` as it is written: set it by hand");
        out.lose("tools.mcp", LossKind::Dropped, detail);
    }
}

/// Reads a server from a map.
pub(crate) fn read(name: &str, data: &Data, variables: VariableStyle) -> McpServer {
    let inner = |text: &str| at(variables.read(text));
    let text = |key: &str| data.get(key).and_then(Data::as_str);
    let pairs = |key: &str| match data.get(key) {
        Some(Data::Map(entries)) => entries
            .iter()
            .filter_map(|(key, data)| Some((key.clone(), inner(data.as_str()?))))
            .collect(),
        _ => Vec::new(),
    };
    let args = match data.get("args") {
        Some(Data::List(items)) => {
            Some(items.iter().filter_map(|it| it.as_str().map(inner)).collect())
        }
        _ => None,
    };
    // Gemini CLI names the address `http_url`.
    let url = text("url").or_else(|| text("http_url"));
    let transport = match text("type") {
        // Server-sent events are the older transport over HTTP.
        Some("sse") => McpTransport::Http,
        _ if url.is_some() => McpTransport::StreamableHttp,
        _ => McpTransport::Stdio,
    };
    McpServer {
        name: name.to_owned(),
        transport: Some(at(transport)),
        command: text("command").map(|it| at(it.to_owned())),
        args,
        url: url.map(inner),
        headers: pairs("headers"),
        env: pairs("env"),
        ..McpServer::default()
    }
}
