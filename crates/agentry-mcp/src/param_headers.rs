//! Arguments that a server wants in headers too, so that what lies before it can route by them: a property of
//! the schema with `x-mcp-header: Name` is sent as `Mcp-Param-Name`.

use serde_json::{Map, Value};

use crate::header_text::header_text;

/// What a schema says about a property.
const MARK: &str = "x-mcp-header";
/// The start of every such header.
const PREFIX: &str = "mcp-param-";

/// Checks what a schema says about headers. A tool with a mark that is not valid must not be used.
pub(crate) fn check(schema: &Value) -> Result<(), String> {
    let mut names: Vec<String> = Vec::new();
    for (property, rules) in properties(schema) {
        let Some(mark) = rules.get(MARK) else { continue };
        let unfit = |why: &str| format!("`{MARK}` of `{property}` {why}");
        let name = mark.as_str().filter(|name| is_token(name)).ok_or(unfit("is no header name"))?;
        let kind = rules.get("type").and_then(Value::as_str).unwrap_or_default();
        if !matches!(kind, "string" | "integer" | "boolean") {
            return Err(unfit("is on no text, integer or boolean"));
        }
        let name = name.to_ascii_lowercase();
        if names.contains(&name) {
            return Err(unfit("is used twice"));
        }
        names.push(name);
    }
    Ok(())
}

/// The headers for these arguments.
pub(crate) fn headers(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let marked = properties(schema).filter_map(|(property, rules)| {
        let name = rules.get(MARK)?.as_str()?;
        let value = match arguments.get(property)? {
            Value::String(text) => header_text(text),
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((format!("{PREFIX}{}", name.to_ascii_lowercase()), value))
    });
    marked.collect()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Map<String, Value>)> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.filter_map(|(name, rules)| Some((name, rules.as_object()?)))
}

/// Whether a text can be part of the name of a header.
fn is_token(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invalid_header_marks_are_refused() {
        let one =
            |mark: Value, kind: &str| json!({"properties": {"p": {"type": kind, MARK: mark}}});
        let cases = [
            (one(json!("Region"), "string"), true),
            (one(json!("N"), "integer"), true),
            (one(json!("B"), "boolean"), true),
            (one(json!(""), "string"), false),
            (one(json!("a b"), "string"), false),
            (one(json!("a:b"), "string"), false),
            (one(json!("a\r\nhost"), "string"), false),
            (one(json!("é"), "string"), false),
            (one(json!(1), "string"), false),
            (one(json!("N"), "number"), false),
            (one(json!("N"), "object"), false),
            (one(json!("N"), "array"), false),
            (one(json!("N"), "null"), false),
            (
                json!({"properties": {
                    "a": {"type": "string", MARK: "X"}, "b": {"type": "string", MARK: "x"},
                }}),
                false,
            ),
            (json!({"properties": {"a": {"type": "number"}, "b": true}}), true),
            (json!(true), true),
        ];
        for (schema, expected) in cases {
            assert_eq!(check(&schema).is_ok(), expected, "{schema}");
        }
    }

    #[test]
    fn header_values_cannot_inject_headers() {
        let schema = json!({"properties": {
            "text": {"type": "string", MARK: "Text"}, "count": {"type": "integer", MARK: "Count"},
            "on": {"type": "boolean", MARK: "On"}, "none": {"type": "string", MARK: "None"},
            "list": {"type": "string", MARK: "List"}, "plain": {"type": "string"},
        }});
        let arguments = json!({
            "text": "a\r\nhost: evil", "count": 42, "on": false, "none": null, "list": ["a"],
            "plain": "p", "unknown": "u",
        });
        let mut found = headers(&schema, &arguments);
        found.sort();
        let pair = |name: &str, value: &str| (format!("{PREFIX}{name}"), value.to_owned());
        let text = "=?base64?YQ0KaG9zdDogZXZpbA==?=";
        assert_eq!(found, [pair("count", "42"), pair("on", "false"), pair("text", text)]);
    }
}
