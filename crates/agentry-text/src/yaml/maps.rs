//! Maps while they are read: keys wait for their values, merge keys bring the entries of others, and
//! a key that comes twice is reported.

use std::collections::{HashMap, HashSet};

use super::places::Places;
use super::rules::YAML_SYNTAX;
use crate::diagnostic::Findings;
use crate::source::Span;
use crate::tree::{Entry, Key, Map, Node, Value};
use crate::tree_rules::DUPLICATE_KEY;

/// Up to this many entries, comparing each with each is faster than a table.
const FEW: usize = 12;

/// A map whose end has not come yet.
#[derive(Default)]
pub(super) struct MapFrame {
    entries: Vec<Entry>,
    /// The key whose value comes next.
    pending: Option<Pending>,
    /// Entries of other maps, those that count most last.
    merged: Vec<Entry>,
    merge_key: Option<Span>,
}

struct Pending {
    key: Key,
    is_merge: bool,
}

impl MapFrame {
    /// Whether a key was read and its value was not.
    pub(super) fn expects_value(&self) -> bool {
        self.pending.is_some()
    }

    /// Leaves out what a mistake in the line that starts at byte `line` makes doubtful.
    pub(super) fn drop_broken(&mut self, line: u32) {
        if self.pending.take().is_none() {
            self.entries.pop_if(|entry| entry.value.span.start >= line);
        }
    }

    /// Takes the next key or value.
    pub(super) fn take(&mut self, node: Node, places: &Places<'_>, findings: &mut Findings) {
        let Some(Pending { key, is_merge }) = self.pending.take() else {
            let is_merge = node.plain && node.as_str() == Some("<<");
            self.pending = Some(Pending { key: to_key(node, places, findings), is_merge });
            return;
        };
        if is_merge {
            if let Some(first) = self.merge_key.replace(key.span) {
                report_duplicate(&key, first, findings);
            }
            self.merge(node, findings);
        } else {
            self.entries.push(Entry { key, value: node });
        }
    }

    /// Takes over the entries of a map or of several; of these, the first counts most.
    fn merge(&mut self, node: Node, findings: &mut Findings) {
        match node.value {
            Value::Map(map) => self.merged.extend(map.entries),
            Value::List(items) => {
                for item in items.into_iter().rev() {
                    match item.value {
                        Value::Map(map) => self.merged.extend(map.entries),
                        other => report_merge(&other, item.span, findings),
                    }
                }
            }
            other => report_merge(&other, node.span, findings),
        }
    }

    /// The map, own entries last; a key without a value is null.
    pub(super) fn finish(mut self, findings: &mut Findings) -> Map {
        if let Some(Pending { key, is_merge: false }) = self.pending {
            let value = Node::new(Value::Null, Span { start: key.span.end, ..key.span });
            self.entries.push(Entry { key, value });
        }
        report_duplicates(&self.entries, findings);
        if self.merged.is_empty() {
            return Map::from(self.entries);
        }
        let mut entries = self.merged;
        entries.append(&mut self.entries);
        Map::from(last_of_each(entries))
    }
}

/// Leaves out entries of merged maps that a later entry overrides.
fn last_of_each(entries: Vec<Entry>) -> Vec<Entry> {
    let mut seen = HashSet::new();
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries.into_iter().rev() {
        if seen.insert(identity(&entry.key)) {
            kept.push(entry);
        }
    }
    kept.reverse();
    kept
}

fn to_key(node: Node, places: &Places<'_>, findings: &mut Findings) -> Key {
    let raw = places.local(node.span);
    match node.value {
        Value::Str(text) => Key::string(text, node.span),
        other => {
            if matches!(other, Value::List(_) | Value::Map(_)) {
                let message = format!("{} cannot be a key", other.describe());
                let templated = places.slice(raw.clone()).starts_with('{')
                    && raw.start.checked_sub(1).and_then(|at| places.at(at)) == Some(b'{');
                let hint = templated.then(|| "quote a value that starts with `{{`".to_owned());
                findings.add(&YAML_SYNTAX, node.span, message).hint_opt(hint);
            }
            let text = places.slice(raw).to_owned();
            Key { text, span: node.span, other: Some(Box::new(other)) }
        }
    }
}

fn report_merge(found: &Value, span: Span, findings: &mut Findings) {
    let message = format!("`<<` takes a map or a list of maps, not {}", found.describe());
    findings.add(&YAML_SYNTAX, span, message);
}

fn report_duplicates(entries: &[Entry], findings: &mut Findings) {
    if entries.len() <= FEW {
        for (index, Entry { key, .. }) in entries.iter().enumerate() {
            let same = |other: &&Entry| is_same(&other.key, key);
            if let Some(first) = entries.iter().take(index).find(same) {
                report_duplicate(key, first.key.span, findings);
            }
        }
        return;
    }
    let mut seen: HashMap<String, Span> = HashMap::with_capacity(entries.len());
    for Entry { key, .. } in entries {
        let first = *seen.entry(identity(key)).or_insert(key.span);
        if first != key.span {
            report_duplicate(key, first, findings);
        }
    }
}

fn report_duplicate(key: &Key, first: Span, findings: &mut Findings) {
    findings
        .add(&DUPLICATE_KEY, key.span, format!("the key `{}` is here twice", key.text))
        .related(first, "it was first set here")
        .hint("keep one of them");
}

fn is_same(a: &Key, b: &Key) -> bool {
    match (&a.other, &b.other) {
        (None, None) => a.text == b.text,
        (None, Some(_)) | (Some(_), None) => false,
        (Some(_), Some(_)) => identity(a) == identity(b),
    }
}

/// What makes two keys the same: the text of strings, the value of others, where `1`, `1.0` and
/// `true` are one as they are in Python.
fn identity(key: &Key) -> String {
    let Some(other) = &key.other else { return key.text.clone() };
    let value = match &**other {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => u8::from(*value).to_string(),
        Value::Int(value) => value.to_string(),
        Value::Big(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Date(date) => date.clone(),
        Value::Str(_) | Value::Call(..) | Value::List(_) | Value::Map(_) => key.text.clone(),
    };
    format!("\0{value}")
}
