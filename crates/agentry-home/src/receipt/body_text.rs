//! The text of a receipt: YAML in one fixed spelling. What is written here is read here again, so that
//! [`super::verify()`] reads thousands of receipts fast; any other spelling counts as altered.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The deepest nesting that is read.
const DEEPEST: usize = 8;

/// Writes a map as YAML.
pub(super) fn write(map: &Map<String, Value>) -> String {
    let mut text = String::new();
    write_map(&mut text, map, 0);
    text
}

fn write_map(text: &mut String, map: &Map<String, Value>, depth: usize) {
    for (key, value) in map {
        let _ = write!(text, "{:width$}{key}:", "", width = depth * 2);
        write_value(text, value, depth);
    }
}

/// Writes a value after its key, with the end of the line.
fn write_value(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            text.push('\n');
            write_map(text, map, depth + 1);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            items.iter().for_each(|item| write_item(text, item, depth + 1));
        }
        scalar => {
            text.push(' ');
            write_scalar(text, scalar);
            text.push('\n');
        }
    }
}

fn write_item(text: &mut String, item: &Value, depth: usize) {
    let _ = write!(text, "{:width$}- ", "", width = depth * 2);
    let Value::Object(map) = item else {
        write_scalar(text, item);
        text.push('\n');
        return;
    };
    let mut inner = String::new();
    write_map(&mut inner, map, depth + 1);
    // The first key stands behind the dash.
    text.push_str(inner.trim_start_matches(' '));
}

fn write_scalar(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => write_string(text, string),
        // Without an exponent, which not every reader of YAML knows.
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => drop(write!(text, "{float}")),
            None => drop(write!(text, "{number}")),
        },
        Value::Object(_) => text.push_str("{}"),
        Value::Array(_) => text.push_str("[]"),
        Value::Null | Value::Bool(_) => drop(write!(text, "{value}")),
    }
}

/// Writes a quoted string. Everything that a terminal or a reader of YAML could misread is escaped.
fn write_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' | '\\' => {
                text.push('\\');
                text.push(character);
            }
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            plain if is_plain(plain) => text.push(plain),
            other => {
                let mut units = [0; 2];
                for unit in other.encode_utf16(&mut units) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
        }
    }
    text.push('"');
}

fn is_plain(character: char) -> bool {
    !character.is_control()
        && !matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff0}'..)
}

/// Reads what [`write()`] wrote; `None` if it is anything else.
pub(super) fn read(text: &str) -> Option<Map<String, Value>> {
    let mut lines = BodyLines { rest: text };
    let map = lines.map(0, None)?;
    lines.rest.is_empty().then_some(map)
}

/// The lines that are still to be read.
struct BodyLines<'a> {
    rest: &'a str,
}

impl<'a> BodyLines<'a> {
    /// The indentation and the content of the next line.
    fn peek(&self) -> Option<(usize, &'a str)> {
        let (line, _) = self.rest.split_once('\n')?;
        let content = line.trim_start_matches(' ');
        Some((line.len() - content.len(), content))
    }

    fn skip(&mut self) {
        self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
    }

    /// Reads a map at this depth. `first` is the content behind the dash of a list.
    fn map(&mut self, depth: usize, first: Option<&'a str>) -> Option<Map<String, Value>> {
        if depth > DEEPEST {
            return None;
        }
        let mut map = Map::new();
        let mut behind = first;
        loop {
            let content = match behind.take() {
                Some(content) => content,
                None => match self.peek() {
                    Some((indent, content))
                        if indent == depth * 2 && !content.starts_with("- ") =>
                    {
                        content
                    }
                    _ => break,
                },
            };
            self.skip();
            let (key, value) = content.split_once(':')?;
            let value = match value.strip_prefix(' ') {
                Some(scalar) => read_scalar(scalar)?,
                None if value.is_empty() => self.nested(depth + 1)?,
                None => return None,
            };
            if map.insert(key.to_owned(), value).is_some() {
                return None;
            }
        }
        (!map.is_empty()).then_some(map)
    }

    fn nested(&mut self, depth: usize) -> Option<Value> {
        let (indent, content) = self.peek()?;
        if indent != depth * 2 {
            return None;
        }
        if !content.starts_with("- ") {
            return self.map(depth, None).map(Value::Object);
        }
        let mut items = Vec::new();
        while let Some((indent, content)) = self.peek().filter(|(indent, _)| *indent == depth * 2) {
            let item = content.strip_prefix("- ").filter(|_| indent == depth * 2)?;
            if item.starts_with(|first: char| first.is_ascii_lowercase()) && item.contains(':') {
                items.push(Value::Object(self.map(depth + 1, Some(item))?));
            } else {
                self.skip();
                items.push(read_scalar(item)?);
            }
        }
        Some(Value::Array(items))
    }
}

fn read_scalar(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        let Value::Object(map) = value else { panic!("a map") };
        map
    }

    #[test]
    fn receipts_have_one_canonical_text() {
        let written = write(&map(json!({
            "a": "x: \"y\"\n\u{202e}", "n": 3, "f": 0.000_001, "none": null, "empty": [],
            "in": {"b": true, "list": [{"tool": "t", "n": 1}, "plain", 2]},
        })));
        let expected = "a: \"x: \\\"y\\\"\\n\\u202e\"\nn: 3\nf: 0.000001\nnone: null\nempty: []\nin:\n  b: true\n  list:\n    - tool: \"t\"\n      n: 1\n    - \"plain\"\n    - 2\n";
        assert_eq!(written, expected);
        assert_eq!(write(&read(&written).unwrap()), written);
    }

    proptest! {
        #[test]
        fn receipt_texts_round_trip(texts in proptest::collection::vec(any::<String>(), 1..5)) {
            let source = map(json!({"one": texts[0], "list": texts, "maps": [{"t": texts[0]}]}));
            prop_assert_eq!(read(&write(&source)), Some(source));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in any::<String>()) {
            let _ = read(&text);
        }
    }
}
