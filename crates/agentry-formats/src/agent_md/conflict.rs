//! Values that may be in the metadata, under a heading, or in both if they are equal.

use std::ops::Range;

use agentry_model::Declared;
use agentry_text::{Findings, Fix, SourceFile, Span, TableRecord, TreeEntry};

use super::rules::CONFLICT;

/// The copy to keep when both are present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConflictPreference {
    /// The copy in the metadata; the heading is only a default.
    Metadata,
    /// The copy under the heading.
    Heading,
}

/// The metadata, and where to report a conflict.
pub(super) struct ConflictResolver<'r> {
    pub(super) source: &'r SourceFile,
    pub(super) record: TableRecord<'r>,
    pub(super) metadata: Range<usize>,
    pub(super) findings: &'r mut Findings,
}

impl ConflictResolver<'_> {
    /// Returns the value of `name`, and reports a conflict. `place` describes the heading in messages.
    pub(super) fn resolve(
        &mut self,
        name: &str,
        heading: &Declared<String>,
        place: &str,
        prefer: ConflictPreference,
    ) -> Declared<String> {
        let metadata = self.record.str(name);
        let (Some(written), Some(shown)) = (&metadata, heading) else {
            return metadata.or_else(|| heading.clone());
        };
        if normal(&written.value) != normal(&shown.value) {
            let message = format!("`{name}` in the metadata differs from {place}");
            let fix = self.record.entry(name).and_then(|entry| self.removal(entry));
            let found = self.findings.add(&CONFLICT, written.span, message);
            found.related(shown.span, format!("{place} says something else"));
            found.hint("keep one of them, or make them equal");
            if let Some(span) = fix {
                found.fix(Fix::unsafe_(format!("remove `{name}` from the metadata"), span, ""));
            }
        }
        if prefer == ConflictPreference::Metadata { metadata } else { heading.clone() }
    }

    /// Returns the whole lines of an entry, if it shares them with no other entry.
    fn removal(&self, entry: &TreeEntry) -> Option<Span> {
        let text = &*self.source.text;
        let start = text.get(..entry.key.span.range().start)?.rfind('\n').map_or(0, |at| at + 1);
        let last = entry.value.span.range().end.max(entry.key.span.range().end);
        // The span of a block scalar already includes its last line break.
        let ended = last > 0 && text.as_bytes().get(last - 1) == Some(&b'\n');
        let after = text.get(last..)?.find('\n').map_or(text.len(), |at| last + at + 1);
        let end = if ended { last } else { after };
        // In a flow map (`{title: x, icon: y}`) other keys precede on the line.
        let alone = text.get(start..entry.key.span.range().start)?.trim().is_empty();
        let inside = start >= self.metadata.start && end <= self.metadata.end;
        (alone && inside).then(|| Span::new(self.source.id, start, end))
    }
}

/// Normalises a text for comparison: lower case, and single spaces.
fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
