//! Reads the prompt of an editor as one text.

use std::fmt::Write as _;

use agentry_rpc::RpcError;
use serde_json::Value;

/// The most bytes of a prompt, with what it embeds.
const PROMPT_BYTES: usize = 1 << 20;

/// The text of a prompt. Files that the user embeds are quoted with their address; a link is only named: the
/// agent reads it if its policy lets it.
pub fn read_prompt(blocks: &Value) -> Result<String, RpcError> {
    let blocks = blocks.as_array().ok_or_else(|| RpcError::invalid("`prompt` is no list"))?;
    let mut text = String::new();
    for block in blocks {
        let part = |name: &str| block.get(name).and_then(Value::as_str);
        match part("type") {
            Some("text") => text.push_str(part("text").unwrap_or_default()),
            Some("resource_link") => {
                let (name, uri) = (part("name").unwrap_or("link"), part("uri").unwrap_or_default());
                let _ = write!(text, "[{name}]({uri})");
            }
            Some("resource") => embed(&mut text, block.get("resource").unwrap_or(&Value::Null))?,
            Some(kind @ ("image" | "audio")) => {
                return Err(RpcError::invalid(format!(
                    "a prompt with content of the type `{kind}` cannot be used: send text"
                )));
            }
            _ => return Err(RpcError::invalid("a part of the prompt has no known type")),
        }
        if text.len() > PROMPT_BYTES {
            let message =
                format!("the prompt has more than {PROMPT_BYTES} bytes: name files instead");
            return Err(RpcError::invalid(message));
        }
    }
    if text.trim().is_empty() {
        return Err(RpcError::invalid("the prompt is empty"));
    }
    Ok(text)
}

/// Quotes a file that the user put into the prompt.
fn embed(text: &mut String, resource: &Value) -> Result<(), RpcError> {
    let uri = resource.get("uri").and_then(Value::as_str).unwrap_or_default();
    let Some(content) = resource.get("text").and_then(Value::as_str) else {
        return Err(RpcError::invalid(format!(
            "`{uri}` is no text, and cannot be a part of a prompt"
        )));
    };
    let _ = write!(text, "\n{uri}\n{}", fenced(content, ""));
    Ok(())
}

/// A text as a block of code that cannot be closed from inside.
pub fn fenced(content: &str, language: &str) -> String {
    let longest = content.split(|it| it != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", content.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prompts_are_text_or_refused() {
        let cases = [
            (json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), Ok("ab")),
            (
                json!([{"type": "text", "text": "see "},
                    {"type": "resource_link", "name": "x.rs", "uri": "file:///w/x.rs"}]),
                Ok("see [x.rs](file:///w/x.rs)"),
            ),
            (
                json!([{"type": "resource", "resource": {"uri": "file:///w/x.md", "text": "```\na\n```\n"}}]),
                Ok("\nfile:///w/x.md\n````\n```\na\n```\n````\n"),
            ),
            (
                json!([{"type": "image", "data": "", "mimeType": "image/png"}]),
                Err("a prompt with content of the type `image` cannot be used: send text"),
            ),
            (
                json!([{"type": "resource", "resource": {"uri": "file:///w/x", "blob": "AA"}}]),
                Err("`file:///w/x` is no text, and cannot be a part of a prompt"),
            ),
            (json!([{"type": "other"}]), Err("a part of the prompt has no known type")),
            (json!([{"type": "text", "text": " \n"}]), Err("the prompt is empty")),
            (json!([]), Err("the prompt is empty")),
            (json!("text"), Err("`prompt` is no list")),
        ];
        for (blocks, expected) in cases {
            let found = read_prompt(&blocks).map_err(|error| error.message);
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{blocks}");
        }
        let long = json!([{"type": "text", "text": "a".repeat(PROMPT_BYTES + 1)}]);
        assert!(read_prompt(&long).is_err());
    }
}
