//! Reads TOML into the tree.

use toml::de::{DeInteger, DeTable, DeValue};

use super::TOML_SYNTAX;
use super::depth::too_deep;
use super::words::words;
use crate::diagnostic::Findings;
use crate::edit::Fix;
use crate::limits;
use crate::problems::Problems;
use crate::source::{Source, Span};
use crate::tree::{Entry, Key, Map, Node, Value};

/// Reads the whole of `source`. A table is where its header is; of a key that was written twice, the
/// first counts.
pub fn parse(source: &Source, findings: &mut Findings) -> Node {
    let mut reader = Reader { source, problems: Problems::default() };
    let text = reader.shallow_text();
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        reader.error(error.message(), error.span());
    }
    let map = reader.table(table.get_ref(), 1);
    reader.problems.hand_over(findings);
    Node::new(Value::Map(map), source.whole())
}

struct Reader<'s> {
    source: &'s Source,
    problems: Problems,
}

impl<'s> Reader<'s> {
    /// The text up to the first statement that is nested too deeply, which is reported.
    fn shallow_text(&mut self) -> &'s str {
        let text = &*self.source.text;
        let Some(found) = too_deep(text) else { return text };
        self.problems.fits(limits::DEPTH + 1, self.span(found.span.0, found.span.1));
        text.get(..found.statement).unwrap_or("")
    }

    fn error(&mut self, message: &str, range: Option<std::ops::Range<usize>>) {
        let range = range.unwrap_or(0..0);
        let span = self.span(range.start, range.end);
        let found = self.source.slice(span);
        if message.starts_with("duplicate key") {
            self.problems.duplicate(found.trim_matches(['"', '\'']), span);
            return;
        }
        let words = words(message, found);
        let problem = self.problems.add(&TOML_SYNTAX, span, words.message);
        problem.hint_opt(words.hint.map(str::to_owned));
        if message.starts_with("string values must be quoted") && !found.contains(['\'', '\n']) {
            problem.fix(Fix::unsafe_("put it in quotes", span, format!("'{found}'")));
        }
    }

    fn table(&mut self, table: &DeTable<'_>, depth: usize) -> Map {
        let mut pairs: Vec<_> = table.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        let mut map = Map::default();
        for (key, value) in pairs {
            let span = self.span(key.span().start, key.span().end);
            if let Some(value) = self.node(value, depth + 1) {
                map.entries.push(Entry { key: Key::string(key.get_ref().as_ref(), span), value });
            }
        }
        map
    }

    /// A value; `None` for one that is missing (reported already) or beyond the limits.
    fn node(&mut self, value: &toml::Spanned<DeValue<'_>>, depth: usize) -> Option<Node> {
        let range = value.span();
        let span = self.span(range.start, range.end);
        if range == (0..0) || self.problems.full() || !self.problems.count(span) {
            return None;
        }
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Str(text.as_ref().to_owned()),
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Integer(integer) => self.integer(integer, span),
            DeValue::Float(float) => float.as_str().parse().map_or(Value::Null, Value::Float),
            DeValue::Datetime(time) => Value::Date(time.to_string()),
            DeValue::Array(items) if self.problems.fits(depth, span) => {
                Value::List(items.iter().filter_map(|item| self.node(item, depth + 1)).collect())
            }
            DeValue::Table(table) if self.problems.fits(depth, span) => {
                Value::Map(self.table(table, depth))
            }
            DeValue::Array(_) | DeValue::Table(_) => return None,
        };
        Some(Node::new(value, span))
    }

    fn integer(&mut self, integer: &DeInteger<'_>, span: Span) -> Value {
        Value::whole(integer.as_str(), integer.radix()).unwrap_or_else(|| {
            let digits = integer.as_str().len();
            self.problems.add(&TOML_SYNTAX, span, format!("a number of {digits} digits"));
            Value::Null
        })
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.source.id, start, end)
    }
}
