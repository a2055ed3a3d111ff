//! What the reader of a data language reports into while it reads one document: it keeps count of
//! values, depth and problems, and hands everything over in source order.

use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, Findings};
use crate::limits;
use crate::rule::LintRule;
use crate::source::Span;
use crate::tree::{TreeEntry, TreeMap};
use crate::tree_rules::{DUPLICATE_KEY, TOO_DEEP, TOO_MANY_VALUES};

/// The most problems that are shown of one document: one with more is no document of this language.
const MOST: usize = 100;

/// The problems of one document, and the limits it has used up.
#[derive(Debug, Default)]
pub(crate) struct ParseProblems {
    list: Vec<Diagnostic>,
    /// The last of the problems that are not shown; only there to be decorated.
    beyond: Option<Diagnostic>,
    values: usize,
}

impl ParseProblems {
    /// Reports a problem and gives it back for a hint or a fix.
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

    /// Counts a value; whether there is room for it. Reported once.
    pub(crate) fn count(&mut self, span: Span) -> bool {
        self.values += 1;
        if self.values == limits::NODES + 1 {
            let message = format!("the document has more than {} values", limits::NODES);
            self.add(&TOO_MANY_VALUES, span, message)
                .hint("split the file, or leave data out of it");
        }
        !self.full()
    }

    /// Whether a value was refused, so that reading on is of no use.
    pub(crate) fn full(&self) -> bool {
        self.values > limits::NODES
    }

    /// Whether a list or map may be inside `depth - 1` others; reported if not.
    pub(crate) fn fits(&mut self, depth: usize, span: Span) -> bool {
        let fits = depth <= limits::DEPTH;
        if !fits {
            let message = format!("this is nested more than {} deep", limits::DEPTH);
            self.add(&TOO_DEEP, span, message).hint("flatten the structure");
        }
        fits
    }

    /// Reports each key of `map` that was written before.
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

    /// Reports that `key` was written before.
    pub(crate) fn duplicate(&mut self, key: &str, span: Span) -> &mut Diagnostic {
        self.add(&DUPLICATE_KEY, span, format!("the key {} is here twice", short(key)))
            .hint("keep one of them")
    }

    /// Hands everything over, in source order.
    pub(crate) fn hand_over(mut self, findings: &mut Findings) {
        if let Some(beyond) = self.beyond.take() {
            let message = format!("more problems follow; only the first {MOST} are shown");
            self.list.push(Diagnostic::new(beyond.rule, beyond.span, message));
        }
        self.list.sort_by_key(|found| found.span);
        for found in self.list {
            findings.push(found);
        }
    }
}

/// What the user wrote, in backticks: on one line, and cut off where it gets long.
pub(crate) fn short(written: &str) -> String {
    const LENGTH: usize = 40;
    let mut shown: String = written.chars().take(LENGTH).collect();
    if shown.len() < written.len() {
        shown.push('…');
    }
    format!("`{}`", shown.replace(|c: char| c.is_control(), " "))
}
