//! Parses TOML into the tree.

use toml::de::{DeTable, DeValue};

use super::TOML_SYNTAX;
use super::depth::too_deep;
use super::error_text::TomlFault;
use crate::diagnostic::Findings;
use crate::edit::Fix;
use crate::limits;
use crate::problems::{ParseProblems, short};
use crate::source::{SourceFile, Span};
use crate::tree::{TreeEntry, TreeKey, TreeMap, TreeNode, TreeValue};

/// Parses the whole of `source`. The span of a table is its header. Of a duplicate key, the first
/// value counts.
pub fn parse(source: &SourceFile, findings: &mut Findings) -> TreeNode {
    let mut reader = TomlReader { source, problems: ParseProblems::default() };
    let text = reader.shallow_text();
    let (mut table, errors) = DeTable::parse_recoverable(text);
    let mut faults: Vec<_> = errors.iter().map(|error| TomlFault::new(error, text)).collect();
    // After a bare key the parser drops the rest of the file, so such lines are blanked and parsed again.
    let mended = without_bare_keys(text, &faults);
    if let Some(mended) = &mended {
        faults.retain(TomlFault::ends_tree);
        let errors;
        (table, errors) = DeTable::parse_recoverable(mended);
        faults.extend(errors.iter().map(|error| TomlFault::new(error, mended)));
    }
    reader.faults(faults);
    let map = reader.table(table.get_ref(), 1);
    reader.problems.hand_over(findings);
    TreeNode::new(TreeValue::Map(map), source.whole())
}

/// Returns the text with spaces in place of lines that are bare keys.
fn without_bare_keys(text: &str, faults: &[TomlFault]) -> Option<String> {
    let mut mended = None;
    for fault in faults.iter().filter(|fault| fault.ends_tree()) {
        let bytes = mended.get_or_insert_with(|| text.as_bytes().to_vec());
        let rest = bytes.get_mut(fault.range.start..).unwrap_or_default();
        for byte in rest.iter_mut().take_while(|byte| !matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
    mended.and_then(|bytes| String::from_utf8(bytes).ok())
}

struct TomlReader<'s> {
    source: &'s SourceFile,
    problems: ParseProblems,
}

impl<'s> TomlReader<'s> {
    /// Returns the text before the first statement that is nested too deep, and reports that statement.
    fn shallow_text(&mut self) -> &'s str {
        let text = &*self.source.text;
        let Some(found) = too_deep(text) else { return text };
        self.problems.fits(limits::DEPTH + 1, self.span(found.span.0, found.span.1));
        text.get(..found.statement).unwrap_or("")
    }

    /// Reports the faults. After the first on a line, other kinds on it are only its consequence.
    fn faults(&mut self, mut faults: Vec<TomlFault>) {
        faults.sort_by_key(|fault| fault.range.start);
        faults.dedup();
        let (mut line_end, mut kind) = (0, String::new());
        for fault in faults {
            let start = fault.range.start;
            if start >= line_end || fault.kind == kind {
                self.fault(&fault);
                let rest = self.source.text.get(start..).unwrap_or("");
                if start >= line_end {
                    line_end = start + rest.find(['\n', '\r']).map_or(rest.len(), |end| end + 1);
                }
                kind = fault.kind;
            }
        }
    }

    fn fault(&mut self, fault: &TomlFault) {
        let span = self.span(fault.range.start, fault.range.end);
        let found = self.source.slice(span);
        if fault.kind == "duplicate key" {
            self.problems.duplicate(found.trim_matches(['"', '\'']), span);
            return;
        }
        let (message, hint) = fault.words(found);
        let problem = self.problems.add(&TOML_SYNTAX, span, message);
        problem.hint_opt(hint);
        // A literal string (`'…'`) has no escapes, so the text must fit as it is.
        let quotable = !found.is_empty() && !found.contains(|c: char| c == '\'' || c.is_control());
        if fault.kind == "string values must be quoted" && quotable {
            problem.fix(Fix::unsafe_("put it in quotes", span, format!("'{found}'")));
        }
    }

    fn table(&mut self, table: &DeTable<'_>, depth: usize) -> TreeMap {
        // The parser's table need not be in source order; the tree must be.
        let mut pairs: Vec<_> = table.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        let mut map = TreeMap::default();
        for (key, value) in pairs {
            let span = self.span(key.span().start, key.span().end);
            let missing = key.span().is_empty();
            if let (Some(value), false) = (self.node(value, depth + 1), missing) {
                map.entries
                    .push(TreeEntry { key: TreeKey::string(key.get_ref().as_ref(), span), value });
            }
        }
        map
    }

    /// Returns a value; `None` if it is absent (reported already) or beyond the limits.
    fn node(&mut self, value: &toml::Spanned<DeValue<'_>>, depth: usize) -> Option<TreeNode> {
        let range = value.span();
        let span = self.span(range.start, range.end);
        if range.is_empty() || self.problems.full() || !self.problems.count(span) {
            return None;
        }
        let value = match value.get_ref() {
            DeValue::String(text) => TreeValue::Str(text.as_ref().to_owned()),
            DeValue::Boolean(value) => TreeValue::Bool(*value),
            DeValue::Integer(integer) => {
                let value = TreeValue::whole(integer.as_str(), integer.radix());
                self.number(value, integer.as_str(), span)
            }
            DeValue::Float(float) => {
                let value = float.as_str().parse::<f64>().ok();
                // A number that overflows becomes infinite, unless `inf` itself is written.
                let stated = float.as_str().contains("inf");
                let value = value.filter(|value| stated || !value.is_infinite());
                self.number(value.map(TreeValue::Float), float.as_str(), span)
            }
            DeValue::Datetime(time) => match time.to_string() {
                unreadable if unreadable.is_empty() => TreeValue::Null,
                time => TreeValue::Date(time),
            },
            DeValue::Array(items) if self.problems.fits(depth, span) => TreeValue::List(
                items.iter().filter_map(|item| self.node(item, depth + 1)).collect(),
            ),
            DeValue::Table(table) if self.problems.fits(depth, span) => {
                TreeValue::Map(self.table(table, depth))
            }
            DeValue::Array(_) | DeValue::Table(_) => return None,
        };
        Some(TreeNode::new(value, span))
    }

    /// Returns the number, or null. `written` is empty if the parser has reported it already.
    fn number(&mut self, value: Option<TreeValue>, written: &str, span: Span) -> TreeValue {
        if value.is_none() && !written.is_empty() {
            let message = format!("{} is too large", short(self.source.slice(span)));
            self.problems.add(&TOML_SYNTAX, span, message);
        }
        value.unwrap_or(TreeValue::Null)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.source.id, start, end)
    }
}
