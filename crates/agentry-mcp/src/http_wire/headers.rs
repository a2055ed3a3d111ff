//! The headers of a message. Since 2026-07-28 method and name of a request are in headers, too.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::failure::McpFailure;
use crate::message::OutgoingMessage;
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
pub(super) fn message_headers(message: &OutgoingMessage) -> Result<HeaderMap, McpFailure> {
    let mut out = HeaderMap::new();
    let params = message.body.get("params");
    let meta = params.and_then(|params| params.get("_meta"));
    let is_stateless = meta.is_some_and(|meta| {
        meta.get("io.modelcontextprotocol/protocolVersion").is_some_and(Value::is_string)
    });
    let Some(method) = message.method().filter(|_| is_stateless) else { return Ok(out) };
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
    if let Some(name) = params.and_then(|params| params.get(key)?.as_str()) {
        set("mcp-name", name)?;
    }
    Ok(out)
}

/// A text as the value of a header: Base64 in a frame where it could not be sent as it is.
pub(crate) fn header_text(text: &str) -> String {
    let is_framed = text.starts_with("=?base64?") && text.ends_with("?=");
    let is_plain = text.chars().all(|c| matches!(c, ' '..='~'))
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && !is_framed;
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", base64(text.as_bytes())) }
}

/// Encodes bytes in the usual alphabet, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let number = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4_usize {
            let index = (number >> (18 - 6 * at)) & 63;
            let letter = LETTERS.get(index as usize).copied().unwrap_or(b'=');
            out.push(if at > three.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn texts_as_headers() {
        let cases = [
            ("plain name", "plain name"),
            ("é", "=?base64?w6k=?="),
            (" a", "=?base64?IGE=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ];
        for (text, expected) in cases {
            assert_eq!(header_text(text), expected, "{text:?}");
        }
    }

    #[test]
    fn headers_of_the_protocol_stay() {
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
        let old = OutgoingMessage::request(1, "tools/call", &Value::Object(params.clone()));
        assert!(message_headers(&old).unwrap().is_empty());
        ProtocolEra::Stateless.complete(&mut params, false);
        let new = OutgoingMessage::request(1, "tools/call", &Value::Object(params));
        let headers = message_headers(&new).unwrap();
        let text = |name: &str| headers.get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!(text("mcp-method"), "tools/call");
        assert_eq!(text("mcp-name"), "=?base64?dG9vbCDDqQ==?=");
        assert_eq!(text("mcp-protocol-version"), "2026-07-28");
    }
}
