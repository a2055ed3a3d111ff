//! MCP servers in the words that most harnesses share: a command with arguments, or an address.

use agentry_model::{McpServer, Transport};
use agentry_text::data::MapBuilder;
use agentry_text::{Data, Spanned};

use crate::imported::at;
use crate::rendering::{LossKind, Rendered};

/// A server as a map. `url` is what the harness calls the address.
pub(crate) fn write(server: &McpServer, url: &str) -> Data {
    let text = |field: &Option<Spanned<String>>| field.as_ref().map(|it| Data::str(&it.value));
    let pairs = |pairs: &[(String, Spanned<String>)]| {
        Data::Map(pairs.iter().map(|(key, it)| (key.clone(), Data::str(&it.value))).collect())
    };
    let args = server.args.iter().flatten().map(|arg| arg.value.as_str());
    let mut map = MapBuilder::new();
    map.set_opt("command", text(&server.command));
    map.set_full("args", Data::strings(args));
    map.set_full("env", pairs(&server.env));
    map.set_opt(url, text(&server.url));
    map.set_full("headers", pairs(&server.headers));
    map.build()
}

/// Tells that a value names a variable in our own way, which no harness knows.
pub(crate) fn references(server: &McpServer, out: &mut Rendered) {
    let mut values = server.env.iter().chain(&server.headers).map(|(_, value)| &value.value);
    if values.any(|value| value.contains("${env:")) {
        let name = &server.name;
        let detail =
            format!("the server `{name}` gets `${{env:…}}` as it is written: set it by hand");
        out.lose("tools.mcp", LossKind::Dropped, detail);
    }
}

/// A server from a map.
pub(crate) fn read(name: &str, data: &Data) -> McpServer {
    let text = |key: &str| data.get(key).and_then(Data::as_str).map(|text| at(text.to_owned()));
    let pairs = |key: &str| match data.get(key) {
        Some(Data::Map(entries)) => entries
            .iter()
            .filter_map(|(key, data)| Some((key.clone(), at(data.as_str()?.to_owned()))))
            .collect(),
        _ => Vec::new(),
    };
    let args = match data.get("args") {
        Some(Data::List(items)) => {
            Some(items.iter().filter_map(|item| Some(at(item.as_str()?.to_owned()))).collect())
        }
        _ => None,
    };
    let url = text("url").or_else(|| text("http_url"));
    let transport = if url.is_some() { Transport::StreamableHttp } else { Transport::Stdio };
    McpServer {
        name: name.to_owned(),
        transport: Some(at(transport)),
        command: text("command"),
        args,
        url,
        headers: pairs("headers"),
        env: pairs("env"),
        ..McpServer::default()
    }
}
