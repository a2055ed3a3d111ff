//! The problems of one document while a parser reads it. It also enforces the limits on values,
//! depth and problems, and passes everything on in source order.

use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, Findings};
use crate::limits;
use crate::report::cut;
use crate::rule::LintRule;
use crate::source::Span;
use crate::tree::{TreeEntry, TreeMap};
use crate::tree_rules::{DUPLICATE_KEY, TOO_DEEP, TOO_MANY_VALUES};

/// The most problems that are shown for one document. With more, the file is hardly of this language.
const MOST: usize = 100;

/// The problems of one document, and how much of its limits is used.
#[derive(Debug, Default)]
pub(crate) struct ParseProblems {
    list: Vec<Diagnostic>,
    /// The last problem beyond the limit. The caller of `add` may still set its hint; only its
    /// place is used.
    beyond: Option<Diagnostic>,
    values: usize,
}

impl ParseProblems {
    /// Adds a problem and returns it, so that the caller can add a hint or a fix.
    pub(crate) fn add(
        &mut self,
        rule: &'static LintRule,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let found = Diagnostic::new(rule, span, message);
        if self.list.len() >= MOST {
            return self.beyond.insert(found);
        }
        self.list.push_mut(found)
    }

    /// Counts a value and returns whether the limit allows it. Exceeding the limit is reported once.
    pub(crate) fn count(&mut self, span: Span) -> bool {
        self.values += 1;
        if self.values == limits::NODES + 1 {
            let message = format!("the document has more than {} values", limits::NODES);
            self.add(&TOO_MANY_VALUES, span, message)
                .hint("split the file, or leave data out of it");
        }
        !self.full()
    }

    /// Reports whether the limit of values is exceeded, so that parsing should stop.
    pub(crate) fn full(&self) -> bool {
        self.values > limits::NODES
    }

    /// Returns whether a list or map may be at nesting level `depth`, and adds a problem if not.
    pub(crate) fn fits(&mut self, depth: usize, span: Span) -> bool {
        let fits = depth <= limits::DEPTH;
        if !fits {
            let message = format!("this is nested more than {} deep", limits::DEPTH);
            self.add(&TOO_DEEP, span, message).hint("flatten the structure");
        }
        fits
    }

    /// Reports each key of `map` that occurs more than once.
    pub(crate) fn duplicates(&mut self, map: &TreeMap) {
        let mut first: HashMap<&str, Span> = HashMap::with_capacity(map.entries.len());
        for TreeEntry { key, .. } in &map.entries {
            match first.get(key.text.as_str()) {
                Some(&before) => self.duplicate(&key.text, key.span).related(before, "first here"),
                None => {
                    first.insert(&key.text, key.span);
                    continue;
                }
            };
        }
    }

    /// Reports that `key` occurs again.
    pub(crate) fn duplicate(&mut self, key: &str, span: Span) -> &mut Diagnostic {
        self.add(&DUPLICATE_KEY, span, format!("the key {} is here twice", short(key)))
            .hint("keep one of them")
    }

    /// Passes all problems on to `findings`, in source order.
    pub(crate) fn hand_over(mut self, findings: &mut Findings) {
        if let Some(beyond) = self.beyond.take() {
            let message = format!("more problems follow; only the first {MOST} are shown");
            self.list.push(Diagnostic::new(beyond.rule, beyond.span, message));
        }
        // Lexer and parser report separately, so the list is not in source order yet.
        self.list.sort_by_key(|found| found.span);
        for found in self.list {
            findings.push(found);
        }
    }
}

/// Returns the user's text in backticks, on one line and truncated.
pub(crate) fn short(written: &str) -> String {
    const LENGTH: usize = 40;
    format!("`{}`", cut(written, LENGTH).replace(|c: char| c.is_control(), " "))
}
