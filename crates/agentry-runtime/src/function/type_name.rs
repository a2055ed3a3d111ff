//! The types of a function's input and output, as JSON Schema. A manifest writes them as names: `str`,
//! `list[int]`, `Report`.

use serde_json::{Value, json};

/// How deep types may be nested; what is deeper may be anything.
const MOST_DEPTH: usize = 8;

/// Returns the schema of a type. A name that is not known stands for any value.
pub(super) fn schema(name: &str) -> Value {
    nested(name, MOST_DEPTH)
}

/// Returns whether an argument of this type may be left out: `str?`.
pub(super) fn is_optional(name: &str) -> bool {
    let name = name.trim();
    let folded = name.to_lowercase();
    name.ends_with('?') || (folded.starts_with("optional[") && folded.ends_with(']'))
}

fn nested(name: &str, depth: usize) -> Value {
    let name = name.trim();
    let Some(depth) = depth.checked_sub(1) else { return json!({}) };
    if let Some(inner) = name.strip_suffix('?') {
        return json!({ "anyOf": [nested(inner, depth), { "type": "null" }] });
    }
    let parts = split(name, '|');
    if parts.len() > 1 {
        let parts: Vec<Value> = parts.iter().map(|part| nested(part, depth)).collect();
        return json!({ "anyOf": parts });
    }
    if let Some(inner) = name.strip_suffix("[]") {
        return json!({ "type": "array", "items": nested(inner, depth) });
    }
    if let Some(literal) = literal(name) {
        return json!({ "const": literal });
    }
    match inside(name) {
        Some((of, inner)) => generic(name, &of, inner, depth),
        None => plain(name),
    }
}

/// A type with arguments: `list[str]`, `dict[str, int]`.
fn generic(name: &str, of: &str, inner: &str, depth: usize) -> Value {
    match of {
        "list" | "array" | "set" | "sequence" | "tuple" => {
            json!({ "type": "array", "items": nested(inner, depth) })
        }
        "optional" => json!({ "anyOf": [nested(inner, depth), { "type": "null" }] }),
        "dict" | "map" | "record" => {
            let values = split(inner, ',');
            let values = values.get(1).map_or(json!({}), |value| nested(value, depth));
            json!({ "type": "object", "additionalProperties": values })
        }
        "union" => {
            let parts = split(inner, ',');
            json!({ "anyOf": parts.iter().map(|it| nested(it, depth)).collect::<Vec<_>>() })
        }
        _ => any(name),
    }
}

fn plain(name: &str) -> Value {
    match name.to_lowercase().as_str() {
        "str" | "string" | "text" => json!({ "type": "string" }),
        "int" | "integer" => json!({ "type": "integer" }),
        "float" | "number" | "double" => json!({ "type": "number" }),
        "bool" | "boolean" => json!({ "type": "boolean" }),
        "list" | "array" | "set" | "tuple" => json!({ "type": "array" }),
        "dict" | "map" | "object" | "record" => json!({ "type": "object" }),
        "none" | "null" => json!({ "type": "null" }),
        "" | "any" | "json" => json!({}),
        _ => any(name),
    }
}

/// A name that only the author knows.
fn any(name: &str) -> Value {
    json!({ "description": format!("a `{name}`") })
}

/// The text in quotes, if the type is one literal.
fn literal(name: &str) -> Option<&str> {
    let quote = name.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = name.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(quote)).then_some(inner)
}

/// The name and the arguments of a generic type.
fn inside(name: &str) -> Option<(String, &str)> {
    let pair = [('[', ']'), ('<', '>')]
        .into_iter()
        .find_map(|(open, close)| name.strip_suffix(close)?.split_once(open))?;
    Some((pair.0.trim().to_lowercase(), pair.1))
}

/// Splits a type where the character is in no brackets and no quotes.
fn split(name: &str, at: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_usize, None);
    for (index, c) in name.char_indices() {
        match c {
            _ if quote == Some(c) => quote = None,
            _ if quote.is_some() => {}
            '"' | '\'' => quote = Some(c),
            '[' | '<' => depth += 1,
            ']' | '>' => depth = depth.saturating_sub(1),
            _ if c == at && depth == 0 => {
                parts.push(name.get(start..index).unwrap_or_default());
                start = index + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(name.get(start..).unwrap_or_default());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_schemas() {
        let cases = [
            ("str", json!({"type": "string"})),
            (" Integer ", json!({"type": "integer"})),
            ("bool?", json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]})),
            ("list[str]", json!({"type": "array", "items": {"type": "string"}})),
            ("int[]", json!({"type": "array", "items": {"type": "integer"}})),
            (
                "dict[str, list[int]]",
                json!({"type": "object", "additionalProperties":
                    {"type": "array", "items": {"type": "integer"}}}),
            ),
            ("'a' | \"b|c\"", json!({"anyOf": [{"const": "a"}, {"const": "b|c"}]})),
            ("Report", json!({"description": "a `Report`"})),
            ("Page<Row>", json!({"description": "a `Page<Row>`"})),
            ("any", json!({})),
            ("", json!({})),
        ];
        for (name, expected) in cases {
            assert_eq!(schema(name), expected, "{name}");
        }
        // Hostile names are bounded.
        let deep = "list[".repeat(10_000) + &"]".repeat(10_000);
        assert!(schema(&deep).to_string().len() < 1_000);
        for name in ["[", "]", "list[", "'", "|", "||", "?", "[]", "<>", "é|ü[]"] {
            let _ = schema(name);
        }
    }
}
