//! The headers of a request over HTTP. In the newer era they repeat version, method and name, so that a proxy can
//! decide by them; a request whose body says otherwise is refused, or the proxy would have decided about another one.

use agentry_rpc::RpcError;
use reqwest::header::{self, HeaderMap};
use serde_json::Value;

use crate::header_text::{base64, header_text};
use crate::protocol_era::ProtocolEra;

/// The session that the request belongs to.
pub(super) const SESSION: &str = "mcp-session-id";
/// The version of the protocol.
pub(super) const VERSION: &str = "mcp-protocol-version";
/// The code for headers that do not fit the body.
pub(super) const HEADER_MISMATCH: i64 = -32020;

/// The one value of a header. Two values are none: another program could have read the other one.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Whether the client takes both forms of an answer: a document, and a stream of events.
pub(super) fn takes_both(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let kinds = values.flat_map(|value| value.split(','));
    let kinds: Vec<String> = kinds
        .map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        .collect();
    let has = |wanted: &[&str]| kinds.iter().any(|kind| wanted.contains(&&**kind));
    has(&["application/json", "application/*", "*/*"])
        && has(&["text/event-stream", "text/*", "*/*"])
}

/// Whether a message is of the newer era, by its body or by its headers.
pub(super) fn is_stateless(headers: &HeaderMap, params: &Value) -> bool {
    body_version(params).is_some()
        || single(headers, VERSION) == Some(ProtocolEra::Stateless.version())
}

fn body_version(params: &Value) -> Option<&str> {
    meta(params, "protocolVersion")?.as_str()
}

fn meta<'a>(params: &'a Value, name: &str) -> Option<&'a Value> {
    params.get("_meta")?.get(format!("io.modelcontextprotocol/{name}"))
}

/// Refuses a request of the newer era whose headers do not say what its body says.
pub(super) fn check(headers: &HeaderMap, method: &str, params: &Value) -> Result<(), RpcError> {
    let version = body_version(params);
    let (Some(version), Some(_)) = (version, meta(params, "clientCapabilities")) else {
        let message = "`_meta` must have `io.modelcontextprotocol/protocolVersion` and \
            `io.modelcontextprotocol/clientCapabilities`";
        return Err(RpcError::invalid(message));
    };
    let name = match method {
        "tools/call" | "prompts/get" => Some(params.get("name")),
        "resources/read" => Some(params.get("uri")),
        _ => None,
    };
    let name = name.map(|name| name.and_then(Value::as_str).unwrap_or_default());
    let expected = [(VERSION, Some(version)), ("mcp-method", Some(method)), ("mcp-name", name)];
    for (header, expected) in expected {
        let Some(expected) = expected else { continue };
        let framed = format!("=?base64?{}?=", base64(expected.as_bytes()));
        let given = single(headers, header);
        if !given.is_some_and(|given| given == header_text(expected) || given == framed) {
            let message = format!("the header `{header}` is missing, or it does not fit the body");
            return Err(RpcError::new(HEADER_MISMATCH, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in list {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn headers_must_repeat_the_body() {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        let params = json!({"name": "prüfer", "_meta": meta});
        let version = (VERSION, "2026-07-28");
        let method = ("mcp-method", "tools/call");
        let name = ("mcp-name", "=?base64?cHLDvGZlcg==?=");
        let cases = [
            ("all", vec![version, method, name], true),
            ("no version", vec![method, name], false),
            ("another version", vec![(VERSION, "2025-11-25"), method, name], false),
            ("no method", vec![version, name], false),
            ("another method", vec![version, ("mcp-method", "tools/list"), name], false),
            ("no name", vec![version, method], false),
            ("another name", vec![version, method, ("mcp-name", "writer")], false),
            ("two names", vec![version, method, name, ("mcp-name", "writer")], false),
        ];
        for (case, list, expected) in cases {
            assert_eq!(check(&headers(&list), "tools/call", &params).is_ok(), expected, "{case}");
        }
        assert!(
            check(&headers(&[version, ("mcp-method", "tools/list")]), "tools/list", &params)
                .is_ok()
        );
    }

    #[test]
    fn both_forms_must_be_accepted() {
        let cases = [
            (vec!["application/json, text/event-stream"], true),
            (vec!["application/json;q=1", "text/event-stream"], true),
            (vec!["*/*"], true),
            (vec!["application/json"], false),
            (vec!["text/event-stream"], false),
            (vec![], false),
        ];
        for (values, expected) in cases {
            let list: Vec<_> = values.iter().map(|value| ("accept", *value)).collect();
            assert_eq!(takes_both(&headers(&list)), expected, "{values:?}");
        }
    }
}
