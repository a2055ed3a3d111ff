//! The headers of a message. Since 2026-07-28 method and name of a request are in headers, too.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::dispatch::WireMessage;
use crate::failure::McpFailure;
use crate::header_text::header_text;
use crate::protocol_era::ProtocolEra;

pub(super) const ACCEPT_BOTH: &str = "application/json, text/event-stream";
pub(super) const ACCEPT_EVENTS: &str = "text/event-stream";
pub(super) const SESSION: &str = "mcp-session-id";
pub(super) const VERSION: &str = "mcp-protocol-version";
pub(super) const LAST_EVENT: &str = "last-event-id";

/// Headers that a definition cannot set.
const RESERVED: &[&str] = &[
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The headers of the definition. Those of the protocol cannot be replaced.
pub(crate) fn own_headers(written: &[(String, String)]) -> Result<HeaderMap, McpFailure> {
    let mut out = HeaderMap::new();
    for (name, value) in written {
        let lower = name.to_ascii_lowercase();
        let unfit = |what: &str| McpFailure::Unstartable(format!("the header `{name}` {what}"));
        if RESERVED.contains(&lower.as_str()) || lower.starts_with("mcp-") {
            return Err(unfit("belongs to the protocol"));
        }
        let key: HeaderName = lower.parse().map_err(|_| unfit("has no valid name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| unfit("has no valid value"))?;
        value.set_sensitive(true);
        out.append(key, value);
    }
    Ok(out)
}

/// The headers that a message of the newer era needs.
pub(super) fn message_headers(message: &WireMessage) -> Result<HeaderMap, McpFailure> {
    let mut out = HeaderMap::new();
    let Some((method, params)) = message.message.method_and_params() else { return Ok(out) };
    let meta = params.get("_meta");
    let is_stateless = meta.is_some_and(|meta| {
        meta.get("io.modelcontextprotocol/protocolVersion").is_some_and(Value::is_string)
    });
    if !is_stateless {
        return Ok(out);
    }
    let mut set = |name: &'static str, value: &str| {
        let value = HeaderValue::from_str(&header_text(value));
        let value = value.map_err(|_| McpFailure::Protocol("a header is not valid".to_owned()))?;
        out.insert(name, value);
        Ok::<_, McpFailure>(())
    };
    set(VERSION, ProtocolEra::Stateless.version())?;
    set("mcp-method", method)?;
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(out),
    };
    if let Some(name) = params.get(key).and_then(Value::as_str) {
        set("mcp-name", name)?;
    }
    for (name, value) in &message.mirrored {
        let unfit = || McpFailure::Protocol(format!("the header `{name}` is not valid"));
        let key: HeaderName = name.parse().map_err(|_| unfit())?;
        out.insert(key, HeaderValue::from_str(value).map_err(|_| unfit())?);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use agentry_rpc::PeerMessage;
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn protocol_headers_cannot_be_overridden() {
        let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        for name in ["Host", "MCP-Session-Id", "content-LENGTH", "a b"] {
            assert!(own_headers(&pair(name, "x")).is_err(), "{name}");
        }
        assert!(own_headers(&pair("x", "a\nb")).is_err());
        assert_eq!(own_headers(&pair("Authorization", "Bearer t")).unwrap().len(), 1);
    }

    #[test]
    fn method_and_name_are_in_headers_of_the_newer_era() {
        let mut params = Map::new();
        params.insert("name".to_owned(), json!("tool é"));
        let old = PeerMessage::request(1, "tools/call", Value::Object(params.clone())).into();
        assert!(message_headers(&old).unwrap().is_empty());
        ProtocolEra::Stateless.complete(&mut params, false);
        let new = PeerMessage::request(1, "tools/call", Value::Object(params)).into();
        let headers = message_headers(&new).unwrap();
        let text = |name: &str| headers.get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!(text("mcp-method"), "tools/call");
        assert_eq!(text("mcp-name"), "=?base64?dG9vbCDDqQ==?=");
        assert_eq!(text("mcp-protocol-version"), "2026-07-28");
    }
}
