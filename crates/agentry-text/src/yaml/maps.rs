//! Maps while they are parsed: keys wait for their values, merge keys (`<<`) add entries of other
//! maps, and duplicate keys are reported.

use std::collections::{HashMap, HashSet};

use super::offsets::SpanMapper;
use super::rules::YAML_SYNTAX;
use crate::diagnostic::Findings;
use crate::source::Span;
use crate::tree::{TreeEntry, TreeKey, TreeMap, TreeNode, TreeValue};
use crate::tree_rules::DUPLICATE_KEY;

/// Up to this many entries, comparing all pairs is faster than a hash table.
const FEW: usize = 12;

/// A map that is not finished yet.
#[derive(Default)]
pub(super) struct MapFrame {
    entries: Vec<TreeEntry>,
    /// The key whose value comes next.
    pending: Option<PendingKey>,
    /// Entries of merged maps, in increasing order of precedence.
    merged: Vec<TreeEntry>,
    merge_key: Option<Span>,
}

struct PendingKey {
    key: TreeKey,
    is_merge: bool,
}

impl MapFrame {
    /// Reports whether a key was read and its value was not.
    pub(super) fn expects_value(&self) -> bool {
        self.pending.is_some()
    }

    /// Drops the entry that a syntax error in the line that starts at byte `line` makes unreliable.
    pub(super) fn drop_broken(&mut self, line: u32) {
        if self.pending.take().is_none() {
            self.entries.pop_if(|entry| entry.value.span.start >= line);
        }
    }

    /// Adds the next key or value.
    pub(super) fn take(
        &mut self,
        node: TreeNode,
        places: &SpanMapper<'_>,
        findings: &mut Findings,
    ) {
        let Some(PendingKey { key, is_merge }) = self.pending.take() else {
            // Only a plain `<<` merges; a quoted one is an ordinary key.
            let is_merge = node.plain && node.as_str() == Some("<<");
            self.pending = Some(PendingKey { key: to_key(node, places, findings), is_merge });
            return;
        };
        if is_merge {
            if let Some(first) = self.merge_key.replace(key.span) {
                report_duplicate(&key, first, findings);
            }
            self.merge(node, findings);
        } else {
            self.entries.push(TreeEntry { key, value: node });
        }
    }

    /// Adds the entries of one map or of a list of maps, of which the first takes precedence.
    fn merge(&mut self, node: TreeNode, findings: &mut Findings) {
        match node.value {
            TreeValue::Map(map) => self.merged.extend(map.entries),
            TreeValue::List(items) => {
                // Reversed, because later entries of `merged` override earlier ones.
                for item in items.into_iter().rev() {
                    match item.value {
                        TreeValue::Map(map) => self.merged.extend(map.entries),
                        other => report_merge(&other, item.span, findings),
                    }
                }
            }
            other => report_merge(&other, node.span, findings),
        }
    }

    /// Returns the map, with its direct entries after the merged ones. A key without a value is null.
    pub(super) fn finish(mut self, findings: &mut Findings) -> TreeMap {
        if let Some(PendingKey { key, is_merge: false }) = self.pending {
            let value = TreeNode::new(TreeValue::Null, Span { start: key.span.end, ..key.span });
            self.entries.push(TreeEntry { key, value });
        }
        // Before merging: a direct entry that overrides a merged one is not a duplicate.
        report_duplicates(&self.entries, findings);
        if self.merged.is_empty() {
            return TreeMap::from(self.entries);
        }
        let mut entries = self.merged;
        entries.append(&mut self.entries);
        TreeMap::from(last_of_each(entries))
    }
}

/// Drops entries of merged maps that a later entry overrides.
fn last_of_each(entries: Vec<TreeEntry>) -> Vec<TreeEntry> {
    let mut seen = HashSet::new();
    let mut kept: Vec<TreeEntry> = Vec::with_capacity(entries.len());
    for entry in entries.into_iter().rev() {
        if seen.insert(identity(&entry.key)) {
            kept.push(entry);
        }
    }
    kept.reverse();
    kept
}

fn to_key(node: TreeNode, places: &SpanMapper<'_>, findings: &mut Findings) -> TreeKey {
    let raw = places.local(node.span);
    match node.value {
        TreeValue::Str(text) => TreeKey::string(text, node.span),
        other => {
            if matches!(other, TreeValue::List(_) | TreeValue::Map(_)) {
                let message = format!("{} cannot be a key", other.describe());
                // `{{ name }}` is a template placeholder; YAML sees a map that is the key of a map.
                let templated = places.slice(raw.clone()).starts_with('{')
                    && raw.start.checked_sub(1).and_then(|at| places.at(at)) == Some(b'{');
                let hint = templated.then(|| "quote a value that starts with `{{`".to_owned());
                findings.add(&YAML_SYNTAX, node.span, message).hint_opt(hint);
            }
            let text = places.slice(raw).to_owned();
            TreeKey { text, span: node.span, other: Some(Box::new(other)) }
        }
    }
}

fn report_merge(found: &TreeValue, span: Span, findings: &mut Findings) {
    let message = format!("`<<` takes a map or a list of maps, not {}", found.describe());
    findings.add(&YAML_SYNTAX, span, message);
}

fn report_duplicates(entries: &[TreeEntry], findings: &mut Findings) {
    if entries.len() <= FEW {
        for (index, TreeEntry { key, .. }) in entries.iter().enumerate() {
            let same = |other: &&TreeEntry| is_same(&other.key, key);
            if let Some(first) = entries.iter().take(index).find(same) {
                report_duplicate(key, first.key.span, findings);
            }
        }
        return;
    }
    let mut seen: HashMap<String, Span> = HashMap::with_capacity(entries.len());
    for TreeEntry { key, .. } in entries {
        let first = *seen.entry(identity(key)).or_insert(key.span);
        if first != key.span {
            report_duplicate(key, first, findings);
        }
    }
}

fn report_duplicate(key: &TreeKey, first: Span, findings: &mut Findings) {
    findings
        .add(&DUPLICATE_KEY, key.span, format!("the key `{}` is here twice", key.text))
        .related(first, "it was first set here")
        .hint("keep one of them");
}

fn is_same(a: &TreeKey, b: &TreeKey) -> bool {
    match (&a.other, &b.other) {
        (None, None) => a.text == b.text,
        (None, Some(_)) | (Some(_), None) => false,
        (Some(_), Some(_)) => identity(a) == identity(b),
    }
}

/// Returns a text that is equal for equal keys: the text of strings, the value of others.
/// As in Python, `1`, `1.0` and `true` are one key.
fn identity(key: &TreeKey) -> String {
    let Some(other) = &key.other else { return key.text.clone() };
    let value = match &**other {
        TreeValue::Null => "null".to_owned(),
        TreeValue::Bool(value) => u8::from(*value).to_string(),
        TreeValue::Int(value) => value.to_string(),
        TreeValue::Big(value) => value.to_string(),
        TreeValue::Float(value) => value.to_string(),
        TreeValue::Date(date) => date.clone(),
        TreeValue::Str(_) | TreeValue::Call(..) | TreeValue::List(_) | TreeValue::Map(_) => {
            key.text.clone()
        }
    };
    // The zero byte keeps the number `1` apart from the string `"1"`.
    format!("\0{value}")
}
