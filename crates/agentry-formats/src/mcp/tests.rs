//! Tests of MCP servers, without a definition format around them.

use agentry_text::table::{Coercion, validate};
use agentry_text::{FileId, TreeNode};

use super::*;

fn place() -> Span {
    Span::start_of(FileId(0))
}

/// Reads a server from JSON.
fn read_json(json: &str) -> (McpServer, Vec<String>) {
    let node = TreeNode::from_data(&data(&serde_json::from_str(json).expect("json")), place());
    let mut findings = Findings::default();
    validate(&SERVER, &node, Coercion::Strict, &mut findings);
    let record = TableRecord::new(&SERVER, &node, Coercion::Strict);
    let server = read(record, &Spanned::new("search".to_owned(), place()), &mut findings);
    let shown = |found: &agentry_text::Diagnostic| format!("{} {}", found.rule.code, found.message);
    (server, findings.iter().map(shown).collect())
}

fn data(json: &serde_json::Value) -> Data {
    match json {
        serde_json::Value::Null => Data::Null,
        serde_json::Value::Bool(value) => Data::Bool(*value),
        serde_json::Value::Number(value) => Data::Int(value.as_i64().unwrap_or_default()),
        serde_json::Value::String(text) => Data::str(text),
        serde_json::Value::Array(items) => Data::List(items.iter().map(data).collect()),
        serde_json::Value::Object(entries) => {
            Data::Map(entries.iter().map(|(key, value)| (key.clone(), data(value))).collect())
        }
    }
}

#[test]
fn invalid_server_fields_are_reported() {
    let cases: &[(&str, &[&str])] = &[
        (r#"{"command": "x"}"#, &[]),
        (r#"{"url": "https://x.example/mcp", "type": "http"}"#, &[]),
        (r#"{"url": "${env:SEARCH_URL}"}"#, &[]),
        (r#"{"transport": {"type": "stdio", "command": "x", "args": ["-v"]}}"#, &[]),
        (r"{}", &["AG0151 the MCP server `search` has neither `command` nor `url`"]),
        (
            r#"{"command": " "}"#,
            &["AG0151 the MCP server `search` has neither `command` nor `url`"],
        ),
        (r#"{"transport": "stdio"}"#, &["AG0151 the MCP server `search` has no `command`"]),
        (r#"{"transport": "http"}"#, &["AG0151 the MCP server `search` has no `url`"]),
        (
            r#"{"command": "x", "url": "https://x.example"}"#,
            &["AG0152 the MCP server `search` has both `command` and `url`"],
        ),
        (
            r#"{"transport": "stdio", "url": "https://x.example"}"#,
            &[
                "AG0153 transport `stdio` does not fit a server with `url`, which is `streamable-http`",
            ],
        ),
        (
            r#"{"transport": "sse", "command": "x"}"#,
            &["AG0153 transport `http` does not fit a server with `command`, which is `stdio`"],
        ),
        (r#"{"transport": "STDIO", "command": "x"}"#, &["AG0104 `transport` cannot be `STDIO`"]),
        (r#"{"url": "ftp://x.example"}"#, &["AG0154 `ftp://x.example` is not a web address"]),
        (r#"{"url": "x.example"}"#, &["AG0154 `x.example` is not a web address"]),
        (
            r#"{"command": "x", "env": {"GITHUB_TOKEN": "abcdef123456"}}"#,
            &["AG0155 `GITHUB_TOKEN` looks like a secret written out"],
        ),
        (
            r#"{"url": "https://x.example", "headers": {"X-Auth": "Bearer sk-0123456789abcdef"}}"#,
            &["AG0155 `X-Auth` looks like a secret written out"],
        ),
        (
            r#"{"command": "x", "env": {"A": "${HOME}/x", "B": "${env:HOME}/x"}}"#,
            &["AG0156 `${HOME}` is not expanded"],
        ),
        (
            r#"{"command": "x", "headers": {"A": "b"}}"#,
            &["AG0157 `headers` has no effect on a stdio server"],
        ),
        (
            r#"{"command": "x", "transport": {"type": "stdio", "command": "y"}}"#,
            &["AG0111 `command` is written twice, here and in `transport`"],
        ),
        (
            r#"{"command": "x", "enabled": "no"}"#,
            &["AG0103 `enabled` is a string, expected `true` or `false`"],
        ),
        (
            r#"{"command": "x", "toolTimeoutSecs": 0}"#,
            &["AG0106 `tool_timeout_secs` is out of range"],
        ),
        (
            r#"{"command": "x", "disabled": true, "enabled": true}"#,
            &["AG0111 `disabled` says the same as `enabled`"],
        ),
        (
            r#"{"command": "x", "timeout": 3, "tool_timeout_secs": 3}"#,
            &["AG0111 `timeout` says the same as `tool_timeout_secs`"],
        ),
        (r#"{"command": "x", "timeout": 86400001}"#, &["AG0106 `timeout` is out of range"]),
        (
            r#"{"command": "x", "disabled": "true"}"#,
            &["AG0103 `disabled` is a string, expected `true` or `false`"],
        ),
    ];
    for (json, expected) in cases {
        assert_eq!(read_json(json).1, *expected, "{json}");
    }
}

#[test]
fn fields_of_other_clients_are_read() {
    let cases = [
        ("{}", None, None),
        (r#"{"disabled": true}"#, Some(false), None),
        (r#"{"disabled": false}"#, Some(true), None),
        // A server that one of them turns off is off.
        (r#"{"disabled": true, "enabled": true}"#, Some(false), None),
        (r#"{"disabled": false, "enabled": false}"#, Some(false), None),
        (r#"{"timeout": 30}"#, None, Some(30)),
        (r#"{"timeout": 999}"#, None, Some(999)),
        (r#"{"timeout": 1000}"#, None, Some(1)),
        (r#"{"timeout": 600000}"#, None, Some(600)),
        (r#"{"timeout": 86400000}"#, None, Some(86_400)),
        (r#"{"timeout": 86400001}"#, None, None),
        (r#"{"toolTimeoutSec": 5}"#, None, Some(5)),
        (r#"{"timeout": 600000, "tool_timeout_secs": 5}"#, None, Some(5)),
    ];
    for (json, enabled, timeout) in cases {
        let (server, _) = read_json(json);
        let found = (server.enabled.map(|it| it.value), server.timeout.map(|it| it.value));
        assert_eq!(found, (enabled, timeout), "{json}");
        assert_eq!(server.options, [], "{json}");
    }
}

#[test]
fn servers_round_trip() {
    let cases = [
        r#"{"transport":"stdio","command":"x","args":["-v"],"env":{"A":"b"},"enabled":false}"#,
        r#"{"url":"https://x.example","headers":{"A":"b"},"tool_timeout_secs":5,"oauth":{"client_id":"c"}}"#,
    ];
    for json in cases {
        let (server, findings) = read_json(json);
        assert_eq!(findings, Vec::<String>::new(), "{json}");
        assert_eq!(to_data(&server).build().to_json().to_string(), json);
    }
}

#[test]
fn secrets_are_recognised_by_key_and_by_shape() {
    let cases = [
        ("API_KEY", "0123456789", true),
        ("apiKey", "0123456789", true),
        ("Authorization", "Bearer 0123456789", true),
        ("ANY", "ghp_0123456789abcdef", true),
        ("KEYBOARD", "0123456789", false),
        ("API_KEY", "${env:API_KEY}", false),
        ("TOKEN_FILE", "/run/token", false),
        ("API_KEY", "<your key>", false),
        ("LANG", "en_US.UTF-8", false),
        ("Authorization", "none", false),
    ];
    for (key, value, expected) in cases {
        assert_eq!(looks_secret(key, value), expected, "{key}: {value}");
    }
}
