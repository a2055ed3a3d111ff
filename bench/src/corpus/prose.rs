//! Generates text that looks written: sentences and lists of made-up instructions, drawn from a seed.

use std::fmt::Write as _;

const VERBS: &[&str] = &[
    "read",
    "compare",
    "summarise",
    "check",
    "list",
    "explain",
    "collect",
    "order",
    "quote",
    "name",
    "measure",
    "review",
    "describe",
    "question",
    "verify",
    "repeat",
    "trace",
    "weigh",
];
const THINGS: &[&str] = &[
    "the report",
    "every source",
    "the open questions",
    "the changed files",
    "the latest release",
    "each finding",
    "the customer's words",
    "the configuration",
    "the test results",
    "the invoice",
    "the timeline",
    "all assumptions",
    "the error message",
    "the contract",
    "the naïve reading",
    "the café's menu",
    "the team's notes",
    "the budget",
];
const ENDS: &[&str] = &[
    "before you answer",
    "without guessing",
    "in the order of the text",
    "as the reader needs it",
    "when something is unclear",
    "with a reference to its line",
    "and say what is missing",
    "unless the user asked otherwise",
    "for each part of the work",
    "with the simplest words",
    "and keep the original wording",
    "until nothing is left open",
];

/// A source of text. Equal seeds give equal text.
#[derive(Debug)]
pub(super) struct Prose {
    state: u64,
}

impl Prose {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03 }
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).unwrap_or(0) % end.max(1)
    }

    /// One of `items`.
    pub(super) fn one_of(&mut self, items: &[&'static str]) -> &'static str {
        items.get(self.below(items.len())).copied().unwrap_or_default()
    }

    /// A few words that start with a capital letter and end without a full stop.
    pub(super) fn line(&mut self) -> String {
        let (verb, thing, end) = (self.one_of(VERBS), self.one_of(THINGS), self.one_of(ENDS));
        let (first, rest) = verb.split_at(1);
        format!("{}{rest} {thing} {end}", first.to_uppercase())
    }

    /// A paragraph of about `size` bytes.
    pub(super) fn paragraph(&mut self, size: usize) -> String {
        let mut text = String::new();
        while text.len() < size.max(1) {
            let end = if self.below(5) == 0 { '\n' } else { ' ' };
            let _ = write!(text, "{}.{end}", self.line());
        }
        text.trim_end().to_owned()
    }

    /// A list of `count` items.
    pub(super) fn list(&mut self, count: usize) -> String {
        let lines: Vec<String> = (0..count).map(|_| format!("- {}\n", self.line())).collect();
        lines.concat()
    }

    /// Sections below `## ` headings, about `size` bytes.
    pub(super) fn sections(&mut self, size: usize) -> String {
        let mut text = String::new();
        while text.len() < size {
            let (thing, length, count) = (self.one_of(THINGS), self.below(600), self.below(6));
            let (paragraph, list) = (self.paragraph(length), self.list(count + 1));
            let _ = write!(text, "## About {thing}\n\n{paragraph}\n\n{list}\n");
        }
        text
    }
}
