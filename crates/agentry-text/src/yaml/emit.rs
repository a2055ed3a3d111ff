//! Writes YAML that every version reads the same. A string is unquoted only if no version reads it
//! as another type, and characters without a visible shape are escaped.

use std::fmt::Write as _;

use super::YamlVersion;
use super::scalar;
use crate::data::Data;
use crate::tree::TreeValue;

/// The widest line for a list in brackets.
const WIDTH: usize = 80;
/// YAML readers reject longer keys, unless a `?` introduces them.
const LONGEST_KEY: usize = 500;

/// Writes `data` so that YAML 1.1 and 1.2 readers both get the same value.
pub fn emit(data: &Data) -> String {
    let mut out = String::new();
    match data {
        Data::Map(entries) if !entries.is_empty() => map(&mut out, entries, 0),
        Data::List(items) if !items.is_empty() => list(&mut out, items, 0),
        _ => {
            out.push_str(&inline(data, ScalarContext::Block));
            out.push('\n');
        }
    }
    out
}

/// Where a scalar is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScalarContext {
    Block,
    Brackets,
}

/// Writes the entries of a map. The first goes on the current line.
fn map(out: &mut String, entries: &[(String, Data)], indent: usize) {
    for (index, (key, data)) in entries.iter().enumerate() {
        if index > 0 {
            margin(out, indent);
        }
        let key = text(key, ScalarContext::Block);
        if key.len() > LONGEST_KEY {
            let _ = writeln!(out, "? {key}");
            margin(out, indent);
            out.push(':');
        } else {
            let _ = write!(out, "{key}:");
        }
        value(out, data, indent);
    }
}

/// Writes the items of a list. The first goes on the current line.
fn list(out: &mut String, items: &[Data], indent: usize) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            margin(out, indent);
        }
        match item {
            Data::Map(entries) if !entries.is_empty() => {
                out.push_str("- ");
                map(out, entries, indent + 2);
            }
            Data::List(items) if !items.is_empty() => {
                out.push_str("- ");
                list(out, items, indent + 2);
            }
            _ => {
                out.push('-');
                value(out, item, indent);
            }
        }
    }
}

fn margin(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Writes the text after a `:` or `-` at `indent`, including its last line break.
fn value(out: &mut String, data: &Data, indent: usize) {
    match data {
        Data::Map(entries) if !entries.is_empty() => {
            out.push('\n');
            margin(out, indent + 2);
            map(out, entries, indent + 2);
        }
        Data::List(items) if !items.is_empty() => {
            let column = out.len() - out.rfind('\n').map_or(0, |at| at + 1);
            if let Some(line) = short_list(items, WIDTH.saturating_sub(column + 1)) {
                let _ = writeln!(out, " {line}");
            } else {
                out.push('\n');
                margin(out, indent + 2);
                list(out, items, indent + 2);
            }
        }
        Data::Str(text) if is_literal(text) => literal(out, text, indent + 2),
        _ => {
            let _ = writeln!(out, " {}", inline(data, ScalarContext::Block));
        }
    }
}

/// Returns the list in brackets, if it has only scalars and fits into `width`.
fn short_list(items: &[Data], width: usize) -> Option<String> {
    let mut line = String::from("[");
    for (index, item) in items.iter().enumerate() {
        if matches!(item, Data::Map(_) | Data::List(_)) || line.len() > width {
            return None;
        }
        if index > 0 {
            line.push_str(", ");
        }
        line.push_str(&inline(item, ScalarContext::Brackets));
    }
    line.push(']');
    (line.chars().count() <= width).then_some(line)
}

/// Returns a scalar, or an empty list or map, on one line.
fn inline(data: &Data, around: ScalarContext) -> String {
    match data {
        Data::Null => "null".to_owned(),
        Data::Bool(value) => value.to_string(),
        Data::Int(value) => value.to_string(),
        Data::Big(value) => value.to_string(),
        Data::Float(value) => float(*value),
        Data::Str(value) => text(value, around),
        Data::Call(..) => text(data.to_json().as_str().unwrap_or(""), around),
        Data::List(_) => "[]".to_owned(),
        Data::Map(_) => "{}".to_owned(),
    }
}

/// Returns the shortest digits that give the number back, with the dot and the sign of the exponent
/// that YAML 1.1 requires.
fn float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let with_dot = |digits: &str| {
        if digits.contains('.') { digits.to_owned() } else { format!("{digits}.0") }
    };
    let shortest = format!("{value:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        // The same range as Python's `repr`, which writes other numbers with an exponent.
        -4..16 => with_dot(&value.to_string()),
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", with_dot(digits), exponent.abs())
        }
    }
}

/// Returns a string on one line, in quotes unless it is safe without them.
fn text(value: &str, around: ScalarContext) -> String {
    if is_plain(value, around) { value.to_owned() } else { quoted(value) }
}

fn is_plain(text: &str, around: ScalarContext) -> bool {
    // A leading `-` is safe before a letter, so options such as `--all` need no quotes.
    let inner = text.strip_prefix("--").or_else(|| text.strip_prefix('-'));
    let option = inner.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    let starts_badly = text.starts_with(|c: char| "-?:,[]{}#&*!|>'\"%@`".contains(c)) && !option
        || text.starts_with("...");
    let blank_ends = text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace);
    let bracket = around == ScalarContext::Brackets
        && (text.contains([',', '?', '[', ']', '{', '}']) || text.ends_with(" -"));
    !text.is_empty()
        && !starts_badly
        && !blank_ends
        && !bracket
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !text.contains(|c| c == '\n' || c == '\t' || !is_shown(c))
        && !is_word(text)
}

/// Reports whether some reader takes the plain `text` for anything but a string.
fn is_word(text: &str) -> bool {
    if !scalar::is_special(text) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    // `y` and `n` are booleans in the YAML 1.1 specification, though not in `PyYAML`.
    let words = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"];
    let is_text = |version| matches!(scalar::plain(text, version), Ok(TreeValue::Str(_)));
    words.contains(&lower.as_str()) || !is_text(YamlVersion::V1_1) || !is_text(YamlVersion::V1_2)
}

/// Reports whether a character may be written as it is: no control character, no line break of
/// either version, none that changes the direction of text.
fn is_shown(found: char) -> bool {
    !matches!(
        found,
        '\u{85}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    ) && (found == '\n' || found == '\t' || !found.is_control())
}

/// Reports whether `text` can be a literal block, with its lines as they are.
fn is_literal(text: &str) -> bool {
    let bare = |line: &str| !line.ends_with([' ', '\t']);
    text.contains('\n')
        && !text.starts_with(['\n', '\t'])
        && text.chars().all(is_shown)
        && text.split('\n').all(bare)
}

/// Writes `text` line by line at `indent`, which is two columns more than its key.
fn literal(out: &mut String, text: &str, indent: usize) {
    // Without the number, the spaces of the first line would count as indentation.
    let indicator = if text.starts_with(' ') { "2" } else { "" };
    let body = text.trim_end_matches('\n');
    let chomp = match text.len() - body.len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let _ = writeln!(out, " |{indicator}{chomp}");
    for line in body.split('\n') {
        if !line.is_empty() {
            margin(out, indent);
        }
        out.push_str(line);
        out.push('\n');
    }
    out.extend(std::iter::repeat_n('\n', (text.len() - body.len()).saturating_sub(1)));
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for found in text.chars() {
        match found {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if is_shown(found) => out.push(found),
            _ if u32::from(found) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", u32::from(found));
            }
            _ => {
                let _ = write!(out, "\\u{:04x}", u32::from(found));
            }
        }
    }
    out.push('"');
    out
}
