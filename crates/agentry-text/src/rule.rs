//! Rules: what a finding refers to. A rule has a permanent code, a reason, and two examples.

use crate::diagnostic::Severity;

/// One thing that can be wrong, with its documentation.
///
/// Readers and checks report a finding with a reference to its `LintRule`. Every crate lists its
/// rules in one `RULES` table. The tables together are the registry for the reference pages and their tests.
#[derive(Debug)]
pub struct LintRule {
    /// `AG0103`: stable, greppable, never reused.
    pub code: &'static str,
    /// Used in settings, as in «allow»: `unknown-field`.
    pub name: &'static str,
    /// The severity, unless `agentry.toml` changes it.
    pub severity: Severity,
    /// Why it matters, in one or two sentences of Markdown.
    pub why: &'static str,
    /// The smallest agent that breaks the rule.
    pub bad: RuleExample,
    /// The same agent, repaired.
    pub good: RuleExample,
}

impl PartialEq for LintRule {
    fn eq(&self, other: &Self) -> bool {
        // The code alone identifies a rule.
        self.code == other.code
    }
}

impl Eq for LintRule {}

/// The files of an example.
#[derive(Debug, Clone, Copy)]
pub enum RuleExample {
    /// One file: its path and its text.
    File(&'static str, &'static str),
    /// Several files: paths with their texts.
    Files(&'static [(&'static str, &'static str)]),
    /// Files that cannot be shown as text (too large, not UTF-8): a description, and a function to make them.
    Made(&'static str, fn() -> Vec<(String, Vec<u8>)>),
}

impl RuleExample {
    /// Returns the files as paths and bytes.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), text.as_bytes().to_vec());
        match self {
            Self::File(path, text) => vec![owned(&(*path, *text))],
            Self::Files(files) => files.iter().map(owned).collect(),
            Self::Made(_, make) => make(),
        }
    }
}
