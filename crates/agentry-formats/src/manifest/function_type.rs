//! The types of a function's input and output, as JSON Schema. A manifest writes them as names: `str`,
//! `list[int]`, `Report`. A name that is not known stands for any value; what is no type at all is an error.

use serde_json::{Value, json};

/// How deep types may be nested.
const MOST_DEPTH: usize = 8;
/// The most characters of a type.
const MOST_CHARACTERS: usize = 1_000;

/// Returns the schema of a type, or what is wrong with it.
pub fn schema(name: &str) -> Result<Value, String> {
    if name.chars().count() > MOST_CHARACTERS {
        return Err(format!("it has more than {MOST_CHARACTERS} characters"));
    }
    check_brackets(name)?;
    nested(name, MOST_DEPTH)
}

/// Returns whether an argument of this type may be left out: `str?`.
pub fn is_optional(name: &str) -> bool {
    let name = name.trim();
    let folded = name.to_lowercase();
    name.ends_with('?') || (folded.starts_with("optional[") && folded.ends_with(']'))
}

fn nested(name: &str, depth: usize) -> Result<Value, String> {
    let name = name.trim();
    let Some(depth) = depth.checked_sub(1) else {
        return Err(format!("it is nested more than {MOST_DEPTH} levels deep"));
    };
    let parts = split(name, '|');
    if parts.len() > 1 {
        return any_of(&parts, depth);
    }
    if let Some(inner) = name.strip_suffix('?') {
        return or_null(inner, depth);
    }
    if let Some(inner) = name.strip_suffix("[]") {
        return Ok(json!({ "type": "array", "items": nested(inner, depth)? }));
    }
    if let Some(literal) = literal(name) {
        return Ok(json!({ "const": literal }));
    }
    match inside(name) {
        Some((of, inner)) => generic(name, &of, inner, depth),
        None => plain(name),
    }
}

fn any_of(parts: &[&str], depth: usize) -> Result<Value, String> {
    let parts: Result<Vec<Value>, String> = parts.iter().map(|it| nested(it, depth)).collect();
    Ok(json!({ "anyOf": parts? }))
}

fn or_null(name: &str, depth: usize) -> Result<Value, String> {
    Ok(json!({ "anyOf": [nested(name, depth)?, { "type": "null" }] }))
}

/// A type with arguments: `list[str]`, `dict[str, int]`.
fn generic(name: &str, of: &str, inner: &str, depth: usize) -> Result<Value, String> {
    let parts = split(inner, ',');
    let arguments = |count: usize| match parts.len() {
        found if found == count => Ok(()),
        found => Err(format!("`{of}` takes {count} in brackets, and `{name}` has {found}")),
    };
    match of {
        "tuple" if parts.len() > 1 => {
            Ok(json!({ "type": "array", "items": any_of(&parts, depth)? }))
        }
        "list" | "array" | "set" | "sequence" | "tuple" => {
            arguments(1)?;
            Ok(json!({ "type": "array", "items": nested(inner, depth)? }))
        }
        "optional" => {
            arguments(1)?;
            or_null(inner, depth)
        }
        "dict" | "map" | "record" => {
            arguments(2)?;
            let [key, value] = [parts.first(), parts.last()].map(|it| it.copied().unwrap_or(""));
            nested(key, depth)?;
            Ok(json!({ "type": "object", "additionalProperties": nested(value, depth)? }))
        }
        "union" => any_of(&parts, depth),
        _ => {
            named(of)?;
            parts.iter().try_for_each(|part| nested(part, depth).map(drop))?;
            Ok(any(name))
        }
    }
}

fn plain(name: &str) -> Result<Value, String> {
    Ok(match name.to_lowercase().as_str() {
        "str" | "string" | "text" => json!({ "type": "string" }),
        "int" | "integer" => json!({ "type": "integer" }),
        "float" | "number" | "double" => json!({ "type": "number" }),
        "bool" | "boolean" => json!({ "type": "boolean" }),
        "list" | "array" | "set" | "tuple" => json!({ "type": "array" }),
        "dict" | "map" | "object" | "record" => json!({ "type": "object" }),
        "none" | "null" => json!({ "type": "null" }),
        "any" | "json" => json!({}),
        _ => {
            named(name)?;
            any(name)
        }
    })
}

/// Fails for what is no name.
fn named(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a type is missing".to_owned());
    }
    let is_start = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    match name.chars().find(|c| !is_part(*c)) {
        Some(odd) => Err(format!("`{odd}` is no part of a type")),
        None if !is_start => Err(format!("`{name}` is no name of a type")),
        None => Ok(()),
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

/// Fails if a bracket or a quote has no other half.
fn check_brackets(name: &str) -> Result<(), String> {
    let (mut open, mut quote) = (Vec::new(), None);
    for c in name.chars() {
        match c {
            _ if quote == Some(c) => quote = None,
            _ if quote.is_some() => {}
            '"' | '\'' => quote = Some(c),
            '[' => open.push(']'),
            '<' => open.push('>'),
            ']' | '>' if open.pop() != Some(c) => return Err(format!("a `{c}` closes nothing")),
            _ => {}
        }
    }
    match quote.or(open.pop()) {
        Some(missing) => Err(format!("a `{missing}` is missing")),
        None => Ok(()),
    }
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
    fn type_names_become_json_schemas() {
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
        ];
        for (name, expected) in cases {
            assert_eq!(schema(name), Ok(expected), "{name}");
        }
    }

    #[test]
    fn malformed_types_are_errors() {
        let cases = [
            ("", "a type is missing"),
            ("list[", "a `]` is missing"),
            ("list[str", "a `]` is missing"),
            ("list]", "a `]` closes nothing"),
            ("list[str>", "a `>` closes nothing"),
            ("'a", "a `'` is missing"),
            ("[]", "a type is missing"),
            ("?", "a type is missing"),
            ("str |", "a type is missing"),
            ("list[]x", "`[` is no part of a type"),
            ("dict[str]", "`dict` takes 2 in brackets, and `dict[str]` has 1"),
            ("list[int, str]", "`list` takes 1 in brackets, and `list[int, str]` has 2"),
            ("Page<Row|>", "a type is missing"),
            ("{a: str}", "`{` is no part of a type"),
            ("str; drop", "`;` is no part of a type"),
            ("5", "`5` is no name of a type"),
            ("é|ü[", "a `]` is missing"),
        ];
        for (name, expected) in cases {
            assert_eq!(schema(name), Err(expected.to_owned()), "{name}");
        }
        let deep = "list[".repeat(9) + "str" + &"]".repeat(9);
        assert_eq!(schema(&deep), Err("it is nested more than 8 levels deep".to_owned()));
        let long = "list[".repeat(10_000) + &"]".repeat(10_000);
        assert_eq!(schema(&long), Err("it has more than 1000 characters".to_owned()));
    }
}
