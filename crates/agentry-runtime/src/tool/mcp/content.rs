//! The result of a call: text for the model, and everything else by reference.

use std::fmt::Write as _;

use agentry_mcp::clean;
use serde_json::Value;

use super::super::output_cap::{MOST, keep_bytes, start};
use super::super::{CallFailure, ToolHost};

/// The most parts of a result.
const MOST_PARTS: usize = 200;

/// Reads the result of `tools/call`: its text, or a failure if the tool says that it failed.
pub(super) fn read(result: &Value, host: &dyn ToolHost) -> Result<Value, CallFailure> {
    let parts = result.get("content").and_then(Value::as_array);
    let parts = parts.map(Vec::as_slice).unwrap_or_default();
    let mut texts: Vec<String> =
        parts.iter().take(MOST_PARTS).map(|part| described(part, host)).collect();
    if parts.len() > MOST_PARTS {
        texts.push(format!("[{} more parts are left out]", parts.len() - MOST_PARTS));
    }
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    if let (Some(value), true) = (structured, texts.iter().all(String::is_empty)) {
        texts = vec![value.to_string()];
    }
    let cleaned = clean(&texts.join("\n"));
    let mut text = cleaned.text;
    if cleaned.removed > 0 {
        let _ = write!(text, "\n[{} hidden characters were removed]", cleaned.removed);
    }
    match result.get("isError") {
        Some(Value::Bool(true)) => Err(CallFailure::new(start(&text, MOST))),
        _ => Ok(Value::String(text)),
    }
}

/// One part as text.
fn described(part: &Value, host: &dyn ToolHost) -> String {
    let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text" => text("text").to_owned(),
        kind @ ("image" | "audio") => kept(kind, text("mimeType"), text("data"), host),
        "resource_link" => format!("[resource `{}`: {}]", text("uri"), text("name")),
        "resource" => {
            let resource = part.get("resource").unwrap_or(&Value::Null);
            resource_reference(resource, host)
        }
        other => format!("[a part of the kind `{}` is left out]", start(other, 40)),
    }
}

/// Reads the result of `resources/read`: the texts, and everything else by reference.
pub(super) fn resources(result: &Value, host: &dyn ToolHost) -> Value {
    let parts = result.get("contents").and_then(Value::as_array);
    let parts = parts.map(Vec::as_slice).unwrap_or_default();
    let texts = parts.iter().take(MOST_PARTS).map(|part| match part.get("text") {
        Some(Value::String(text)) => text.clone(),
        _ => resource_reference(part, host),
    });
    let cleaned = clean(&texts.collect::<Vec<_>>().join("\n"));
    let mut text = cleaned.text;
    if cleaned.removed > 0 {
        let _ = write!(text, "\n[{} hidden characters were removed]", cleaned.removed);
    }
    Value::String(text)
}

/// A resource by reference: its content is in a file of the run.
pub(super) fn resource_reference(resource: &Value, host: &dyn ToolHost) -> String {
    let text = |key: &str| resource.get(key).and_then(Value::as_str);
    let uri = text("uri").unwrap_or_default();
    let kind = text("mimeType").unwrap_or("text/plain");
    match (text("text"), text("blob")) {
        (Some(content), _) => {
            let content = clean(&host.redacted(content)).text;
            file(&format!("resource `{uri}`"), kind, content.as_bytes(), host)
        }
        (None, Some(blob)) => kept(&format!("resource `{uri}`"), kind, blob, host),
        (None, None) => format!("[resource `{uri}`]"),
    }
}

/// Content in Base64 by reference.
fn kept(what: &str, kind: &str, data: &str, host: &dyn ToolHost) -> String {
    match decoded(data) {
        Some(bytes) => file(what, kind, &bytes, host),
        None => format!("[{what}, {}: not valid Base64]", start(kind, 60)),
    }
}

fn file(what: &str, kind: &str, bytes: &[u8], host: &dyn ToolHost) -> String {
    let extension: String = kind.rsplit('/').next().unwrap_or_default().chars().collect();
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let known = !extension.is_empty() && extension.len() <= 8 && extension.chars().all(is_plain);
    let extension = match extension.as_str() {
        "plain" => "txt",
        other if known => other,
        _ => "bin",
    };
    let (kind, size) = (start(kind, 60), bytes.len());
    match keep_bytes(bytes, extension, &host.place().run) {
        Ok(path) => format!("[{what}, {kind}, {size} bytes, in `{path}`]"),
        Err(error) => format!("[{what}, {kind}, {size} bytes, could not be kept: {error}]"),
    }
}

/// Decodes Base64 in the usual alphabet; white space is ignored.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xFF_FFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from((bits >> count) & 0xFF).unwrap_or_default());
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::testing::TestWorkspace;
    use super::*;

    #[test]
    fn call_results_become_text() {
        let world = TestWorkspace::new();
        let host = world.host();
        let cases = [
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                "a\nb",
            ),
            (json!({"content": [], "structuredContent": {"x": 1}}), "{\"x\":1}"),
            (json!({}), ""),
            (
                json!({"content": [{"type": "text", "text": "x\u{1b}[2J\u{202E}"}]}),
                "x\n[5 hidden characters were removed]",
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "memo://a", "name": "A"}]}),
                "[resource `memo://a`: A]",
            ),
            (json!({"content": [{"type": "video"}]}), "[a part of the kind `video` is left out]"),
            (
                json!({"content": [{"type": "image", "mimeType": "image/png", "data": "!"}]}),
                "[image, image/png: not valid Base64]",
            ),
        ];
        for (result, expected) in cases {
            assert_eq!(read(&result, &host), Ok(json!(expected)), "{result}");
        }
        let failed = json!({"isError": true, "content": [{"type": "text", "text": "no"}]});
        assert_eq!(read(&failed, &host), Err(CallFailure::new("no")));
    }

    #[test]
    fn images_and_resources_are_stored_in_files() {
        let world = TestWorkspace::new();
        let host = world.host();
        let result = json!({"content": [
            {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="},
            {"type": "resource", "resource": {"uri": "memo://a", "text": "hush-secret \u{202E}text"}},
            {"type": "resource", "resource": {"uri": "b", "mimeType": "../../x", "blob": "AA=="}},
        ]});
        let Ok(Value::String(text)) = read(&result, &host) else { panic!("no text") };
        let outputs = host.place().run.join("outputs");
        let shown = outputs.display();
        let expected = format!(
            "[image, image/png, 5 bytes, in `{shown}/1.png`]\n\
             [resource `memo://a`, text/plain, 15 bytes, in `{shown}/2.txt`]\n\
             [resource `b`, ../../x, 1 bytes, in `{shown}/3.x`]"
        );
        assert_eq!(text, expected);
        assert_eq!(std::fs::read(outputs.join("1.png")).unwrap(), b"hello");
        assert_eq!(std::fs::read_to_string(outputs.join("2.txt")).unwrap(), "[redacted] text");
    }
}
