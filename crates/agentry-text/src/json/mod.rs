//! JSON by RFC 8259: parsed into [`TreeNode`], and written from [`Data`].
//!
//! Extensions of other dialects (comments, trailing commas, single quotes, bare keys) are reported
//! but still parsed, so that one such mistake does not hide the rest of the file.

mod lex;
mod parse;
#[cfg(test)]
mod tests;

use crate::data::Data;
use crate::diagnostic::Findings;
use crate::problems::ParseProblems;
use crate::source::SourceFile;
use crate::tree::TreeNode;

crate::rules! {
    /// Every rule about the syntax of JSON.
    pub RULES = [
        JSON_SYNTAX: "AG0062",
    ]
}

/// The syntax that a file may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonDialect {
    /// JSON by the standard.
    Strict,
    /// With comments and trailing commas, as in many settings files.
    Relaxed,
}

/// Parses the whole of `source` as strict JSON. An empty document is null.
pub fn parse(source: &SourceFile, findings: &mut Findings) -> TreeNode {
    parse_as(source, JsonDialect::Strict, findings)
}

/// Parses the whole of `source`; `dialect` decides about comments and trailing commas. An empty
/// document is null.
pub fn parse_as(source: &SourceFile, dialect: JsonDialect, findings: &mut Findings) -> TreeNode {
    let mut problems = ParseProblems::default();
    let lexemes = lex::lex(source, dialect, &mut problems);
    let node = parse::JsonParser::new(source, &lexemes, dialect, &mut problems).document();
    problems.hand_over(findings);
    node
}

/// Writes `data`, indented by two spaces, with a line break at the end.
pub fn emit(data: &Data) -> String {
    let mut out = String::new();
    write(data, 0, &mut out);
    out.push('\n');
    out
}

/// Writes one value. `serde_json` writes scalars, except integers beyond its types.
fn write(data: &Data, depth: usize, out: &mut String) {
    match data {
        Data::List(items) if !items.is_empty() => {
            block(items.iter().map(|item| (None, item)), ('[', ']'), depth, out);
        }
        Data::Map(entries) if !entries.is_empty() => {
            let entries = entries.iter().map(|(key, value)| (Some(key.as_str()), value));
            block(entries, ('{', '}'), depth, out);
        }
        // As digits: `serde_json` would lose precision beyond 64 bits.
        Data::Big(value) => out.push_str(&value.to_string()),
        other => out.push_str(&other.to_json().to_string()),
    }
}

fn block<'a>(
    items: impl Iterator<Item = (Option<&'a str>, &'a Data)>,
    (open, close): (char, char),
    depth: usize,
    out: &mut String,
) {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    out.push(open);
    for (at, (key, value)) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        line(depth + 1, out);
        if let Some(key) = key {
            out.push_str(&serde_json::Value::from(key).to_string());
            out.push_str(": ");
        }
        write(value, depth + 1, out);
    }
    line(depth, out);
    out.push(close);
}
