//! Settings files of others, in JSON with or without comments: changed in place, so that all that is
//! not ours stays as it was, its order, comments and indentation included.

use agentry_text::{FileId, Findings, Severity, Source};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// What a reader of the file takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// JSON and nothing else.
    Strict,
    /// With comments and commas after the last value.
    Relaxed,
}

/// Why a file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { message, line, column } = self;
        write!(f, "line {line}, column {column}: {message}")
    }
}

impl Malformed {
    /// For a person: where it is in the file `path`, and what.
    pub fn told(&self, path: &str) -> String {
        let Self { message, line, column } = self;
        format!("`{path}:{line}:{column}`: {message}")
    }
}

/// A settings file whose outermost value is an object.
pub struct Document {
    root: CstRootNode,
}

impl Document {
    /// Reads a file; one without a value is an empty object.
    pub fn read(text: &str, dialect: Dialect) -> Result<Self, Malformed> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if dialect == Dialect::Strict && !text.trim().is_empty() {
            strict(text)?;
        }
        let root = CstRootNode::parse(text, &options(dialect)).map_err(|error| {
            let kind = error.kind().to_string();
            malformed(text, error.range().start, lower(&kind))
        })?;
        match root.value() {
            None => drop(root.object_value_or_set()),
            Some(value) if value.as_object().is_none() => {
                return Err(malformed(text, 0, "the file holds no object".to_owned()));
            }
            Some(value) => {
                if let Some(key) = twice(&value) {
                    let at = text.rfind(&key).unwrap_or(0);
                    return Err(malformed(text, at, format!("the key {key} is written twice")));
                }
            }
        }
        Ok(Self { root })
    }

    /// What it says.
    pub fn value(&self) -> Value {
        self.root.to_serde_value().unwrap_or(Value::Null)
    }

    /// Adds a value at the end of the list at `path`, which is made if there is none.
    pub fn push(&self, path: &[&str], value: &Value) {
        if let Some(list) = self.list(path, true) {
            list.ensure_multiline();
            list.append(input(value));
        }
    }

    /// Takes values out of the list at `path`; a list or an object that this empties goes too.
    pub fn take(&self, path: &[&str], gone: impl Fn(&Value) -> bool) {
        let Some(list) = self.list(path, false) else { return };
        let is_gone = |node: &CstNode| node.to_serde_value().is_some_and(|value| gone(&value));
        let taken: Vec<CstNode> = list.elements().into_iter().filter(is_gone).collect();
        if taken.is_empty() {
            return;
        }
        taken.into_iter().for_each(CstNode::remove);
        let mut path = path;
        while self.value().pointer(&pointer(path)).is_some_and(is_empty) && !path.is_empty() {
            self.remove(path);
            path = path.split_last().map_or(&[], |(_, before)| before);
        }
    }

    /// Sets the value at `path`.
    pub fn set(&self, path: &[&str], value: &Value) {
        let Some((name, before)) = path.split_last() else { return };
        let Some(object) = self.object(before, true) else { return };
        match object.get(name) {
            Some(known) => known.set_value(input(value)),
            None => {
                object.ensure_multiline();
                object.append(name, input(value));
            }
        }
    }

    /// Takes the value at `path` away.
    pub fn remove(&self, path: &[&str]) {
        let Some((name, before)) = path.split_last() else { return };
        let object = self.object(before, false);
        if let Some(known) = object.and_then(|object| object.get(name)) {
            known.remove();
        }
    }

    /// The whole text, with a line end at the end.
    pub fn text(&self) -> String {
        let text = self.root.to_string();
        if text.ends_with('\n') { text } else { text + "\n" }
    }

    fn object(&self, path: &[&str], make: bool) -> Option<CstObject> {
        let mut object = self.root.object_value()?;
        for name in path {
            if make && object.get(name).is_none() {
                object.ensure_multiline();
            }
            object = if make {
                object.object_value_or_create(name)?
            } else {
                object.object_value(name)?
            };
        }
        Some(object)
    }

    fn list(&self, path: &[&str], make: bool) -> Option<CstArray> {
        let (name, before) = path.split_last()?;
        let object = self.object(before, make)?;
        if make && object.get(name).is_none() {
            object.ensure_multiline();
        }
        if make { object.array_value_or_create(name) } else { object.array_value(name) }
    }
}

/// Whether the text is JSON and nothing else.
fn strict(text: &str) -> Result<(), Malformed> {
    let source = Source::new(FileId::BUILT_IN, "", text);
    let mut findings = Findings::default();
    agentry_text::json::parse(&source, &mut findings);
    let first = findings.iter().find(|found| found.severity == Severity::Error);
    let wrong = first.map(|found| malformed(text, found.span.range().start, found.message.clone()));
    wrong.map_or(Ok(()), Err)
}

fn options(dialect: Dialect) -> ParseOptions {
    let relaxed = dialect == Dialect::Relaxed;
    ParseOptions {
        allow_comments: relaxed,
        allow_trailing_commas: relaxed,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn malformed(text: &str, at: usize, message: String) -> Malformed {
    let position = agentry_text::source::position(text, at);
    Malformed { message, line: position.line, column: position.column }
}

/// The message of a parser as half a sentence.
fn lower(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars.next().map(|c| c.to_lowercase().collect::<String>()).unwrap_or_default();
    first + chars.as_str()
}

/// A key that an object has twice, in quotes: readers disagree about which one counts.
fn twice(node: &CstNode) -> Option<String> {
    let mut open = vec![node.clone()];
    while let Some(node) = open.pop() {
        if let Some(object) = node.as_object() {
            let mut names: Vec<String> = Vec::new();
            for property in object.properties() {
                let name = property.decoded_name().unwrap_or_default();
                if names.contains(&name) {
                    return Some(format!("\"{name}\""));
                }
                names.push(name);
                open.extend(property.value());
            }
        }
        open.extend(node.as_array().into_iter().flat_map(|list| list.elements()));
    }
    None
}

fn pointer(path: &[&str]) -> String {
    path.iter()
        .flat_map(|name| ["/".to_owned(), name.replace('~', "~0").replace('/', "~1")])
        .collect()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(entries) => CstInputValue::Object(
            entries.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SETTINGS: &str =
        "{\n    // mine\n    \"b\": [\"x\", /* why */ \"y\"],\n    \"a\": 1,\n}\n";

    #[test]
    fn what_is_not_ours_stays() {
        let document = Document::read(SETTINGS, Dialect::Relaxed).expect("settings");
        document.push(&["permissions", "deny"], &json!("Bash(rm *)"));
        document.push(&["b"], &json!("z"));
        let text = document.text();
        assert!(text.starts_with("{\n    // mine\n    \"b\": ["), "{text}");
        assert!(text.contains("/* why */") && text.contains("\"a\": 1,"), "{text}");
        let again = Document::read(&text, Dialect::Relaxed).expect("settings");
        let expected =
            json!({"b": ["x", "y", "z"], "a": 1, "permissions": {"deny": ["Bash(rm *)"]}});
        assert_eq!(again.value(), expected, "{text}");
        again.take(&["permissions", "deny"], |value| value == "Bash(rm *)");
        again.take(&["b"], |value| value == "z");
        assert_eq!(again.value(), json!({"b": ["x", "y"], "a": 1}));
        assert!(again.text().contains("/* why */"), "{}", again.text());
    }

    #[test]
    fn a_new_file_is_written_over_lines() {
        let document = Document::read("", Dialect::Strict).expect("nothing");
        document.push(&["permissions", "ask"], &json!("Bash"));
        document.set(&["x"], &json!({"y": [1]}));
        insta::assert_snapshot!(document.text(), @r#"
        {
          "permissions": {
            "ask": [
              "Bash"
            ]
          },
          "x": {
            "y": [1]
          }
        }
        "#);
    }

    #[test]
    fn what_cannot_be_read_has_its_place() {
        let cases = [
            ("{\n  \"a\": }", Dialect::Relaxed, (2, 8)),
            ("{\n  // x\n}", Dialect::Strict, (2, 3)),
            ("[]", Dialect::Strict, (1, 1)),
            ("{\"a\": 1, \"a\": 2}", Dialect::Strict, (1, 10)),
            ("{\"a\": [1,]}", Dialect::Strict, (1, 9)),
        ];
        for (text, dialect, (line, column)) in cases {
            let found = Document::read(text, dialect).err().map(|it| (it.line, it.column));
            assert_eq!(found, Some((line, column)), "{text}");
        }
    }
}
