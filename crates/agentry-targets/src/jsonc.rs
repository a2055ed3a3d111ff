//! Settings files of a harness, in JSON with or without comments. The workspace's JSON parser reads them.
//! Changes are made in place, so foreign keys keep their order, comments and indentation. `jsonc-parser`
//! only makes these changes: it stops at the first error, so it cannot report all of them.

use agentry_text::{FileId, Findings, Severity, SourceFile, TreeValue, json};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

pub use agentry_text::json::JsonDialect;

/// Why a file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedJsonc {
    /// The problem.
    pub message: String,
    /// The line number, from 1.
    pub line: usize,
    /// The character within the line, from 1.
    pub column: usize,
}

impl std::fmt::Display for MalformedJsonc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { message, line, column } = self;
        write!(f, "line {line}, column {column}: {message}")
    }
}

impl MalformedJsonc {
    /// Describes the problem for the user, with its position in the file `path`.
    pub fn describe(&self, path: &str) -> String {
        let Self { message, line, column } = self;
        format!("`{path}:{line}:{column}`: {message}")
    }
}

/// A settings file whose outermost value is an object.
pub struct JsoncDocument {
    text: String,
    dialect: JsonDialect,
    value: Value,
}

impl JsoncDocument {
    /// Parses a file; an empty file counts as an empty object.
    pub fn read(text: &str, dialect: JsonDialect) -> Result<Self, MalformedJsonc> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(Self { text: text.to_owned(), dialect, value: value(text, dialect)? })
    }

    /// Returns the parsed value.
    pub fn value(&self) -> Value {
        self.value.clone()
    }

    /// Appends a value to the list at `path`, which is created if needed.
    pub fn push(&mut self, path: &[&str], value: &Value) {
        self.change(|root| {
            if let Some(list) = list(root, path, true) {
                list.ensure_multiline();
                list.append(input(value));
            }
        });
    }

    /// Removes values from the list at `path`, and each list or object that becomes empty.
    pub fn take(&mut self, path: &[&str], gone: impl Fn(&Value) -> bool) {
        let items = self.value.pointer(&pointer(path)).and_then(Value::as_array);
        let taken: Vec<bool> = items.into_iter().flatten().map(gone).collect();
        if !taken.contains(&true) {
            return;
        }
        self.change(|root| {
            let items = list(root, path, false).into_iter().flat_map(|list| list.elements());
            let taken = items.zip(taken).filter(|(_, taken)| *taken);
            taken.for_each(|(node, _)| CstNode::remove(node));
        });
        let mut path = path;
        while self.value.pointer(&pointer(path)).is_some_and(is_empty) && !path.is_empty() {
            self.remove(path);
            path = path.split_last().map_or(&[], |(_, before)| before);
        }
    }

    /// Sets the value at `path`.
    pub fn set(&mut self, path: &[&str], value: &Value) {
        let Some((name, before)) = path.split_last() else { return };
        self.change(|root| {
            let Some(object) = object(root, before, true) else { return };
            match object.get(name) {
                Some(known) => known.set_value(input(value)),
                None => {
                    object.ensure_multiline();
                    object.append(name, input(value));
                }
            }
        });
    }

    /// Removes the value at `path`.
    pub fn remove(&mut self, path: &[&str]) {
        let Some((name, before)) = path.split_last() else { return };
        self.change(|root| {
            let object = object(root, before, false);
            if let Some(known) = object.and_then(|object| object.get(name)) {
                known.remove();
            }
        });
    }

    /// Returns the whole text, with a newline at the end.
    pub fn text(&self) -> String {
        if self.text.ends_with('\n') { self.text.clone() } else { format!("{}\n", self.text) }
    }

    /// Changes the text. A change that breaks the JSON would be a bug; the file then stays as it was.
    fn change(&mut self, change: impl FnOnce(&CstRootNode)) {
        let Ok(root) = CstRootNode::parse(&self.text, &ParseOptions::default()) else { return };
        change(&root);
        let text = root.to_string();
        if let Ok(value) = value(&text, self.dialect) {
            (self.text, self.value) = (text, value);
        }
    }
}

/// Parses the object of a file; an empty file counts as an empty object.
fn value(text: &str, dialect: JsonDialect) -> Result<Value, MalformedJsonc> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let source = SourceFile::new(FileId::BUILT_IN, "", text);
    let mut findings = Findings::default();
    let node = json::parse_as(&source, dialect, &mut findings);
    let first = findings.iter().find(|found| found.severity == Severity::Error);
    if let Some(found) = first {
        return Err(malformed(text, found.span.range().start, found.message.clone()));
    }
    match &node.value {
        TreeValue::Map(_) => Ok(node.to_data().to_json()),
        _ => Err(malformed(text, 0, "the file holds no object".to_owned())),
    }
}

fn object(root: &CstRootNode, path: &[&str], make: bool) -> Option<CstObject> {
    let mut object = if make { root.object_value_or_create()? } else { root.object_value()? };
    for name in path {
        if make && object.get(name).is_none() {
            object.ensure_multiline();
        }
        object =
            if make { object.object_value_or_create(name)? } else { object.object_value(name)? };
    }
    Some(object)
}

fn list(root: &CstRootNode, path: &[&str], make: bool) -> Option<CstArray> {
    let (name, before) = path.split_last()?;
    let object = object(root, before, make)?;
    if make && object.get(name).is_none() {
        object.ensure_multiline();
    }
    if make { object.array_value_or_create(name) } else { object.array_value(name) }
}

fn malformed(text: &str, at: usize, message: String) -> MalformedJsonc {
    let position = agentry_text::source::position(text, at);
    MalformedJsonc { message, line: position.line, column: position.column }
}

fn pointer(path: &[&str]) -> String {
    path.iter()
        // A JSON pointer escapes `~` and `/`.
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
    fn foreign_keys_and_comments_are_kept() {
        let mut document = JsoncDocument::read(SETTINGS, JsonDialect::Relaxed).expect("settings");
        document.push(&["permissions", "deny"], &json!("Bash(rm *)"));
        document.push(&["b"], &json!("z"));
        let text = document.text();
        assert!(text.starts_with("{\n    // mine\n    \"b\": ["), "{text}");
        assert!(text.contains("/* why */") && text.contains("\"a\": 1,"), "{text}");
        let mut again = JsoncDocument::read(&text, JsonDialect::Relaxed).expect("settings");
        let expected =
            json!({"b": ["x", "y", "z"], "a": 1, "permissions": {"deny": ["Bash(rm *)"]}});
        assert_eq!(again.value(), expected, "{text}");
        again.take(&["permissions", "deny"], |value| value == "Bash(rm *)");
        again.take(&["b"], |value| value == "z");
        assert_eq!(again.value(), json!({"b": ["x", "y"], "a": 1}));
        assert!(again.text().contains("/* why */"), "{}", again.text());
    }

    #[test]
    fn a_new_settings_file_is_indented() {
        let mut document = JsoncDocument::read("", JsonDialect::Strict).expect("nothing");
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
    fn json_errors_have_a_position() {
        let cases = [
            ("{\n  \"a\": }", JsonDialect::Relaxed, (2, 3)),
            ("{\n  // x\n}", JsonDialect::Strict, (2, 3)),
            ("[]", JsonDialect::Strict, (1, 1)),
            ("{\"a\": 1, \"a\": 2}", JsonDialect::Strict, (1, 10)),
            ("{\"a\": [1,]}", JsonDialect::Strict, (1, 9)),
        ];
        for (text, dialect, (line, column)) in cases {
            let found = JsoncDocument::read(text, dialect).err().map(|it| (it.line, it.column));
            assert_eq!(found, Some((line, column)), "{text}");
        }
    }
}
