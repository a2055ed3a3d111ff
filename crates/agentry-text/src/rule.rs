//! What a finding is an instance of: a code that never changes its meaning, with the reason and the
//! two examples that document it.

use crate::diagnostic::Severity;

/// One thing that can be wrong, with all that a reader needs to know of it.
///
/// Readers and checks alike report by pointing at a `LintRule`; every room lists its own in one
/// `RULES` table, and the tables together are the registry behind the reference and its tests.
#[derive(Debug)]
pub struct LintRule {
    /// `AG0103`: stable, greppable, never reused.
    pub code: &'static str,
    /// Reads well after «allow»: `unknown-field`.
    pub name: &'static str,
    /// How bad it is unless `agentry.toml` says otherwise.
    pub severity: Severity,
    /// Why it matters, in one or two sentences of Markdown.
    pub why: &'static str,
    /// The least agent that breaks the rule.
    pub bad: RuleExample,
    /// The same agent, mended.
    pub good: RuleExample,
}

impl PartialEq for LintRule {
    fn eq(&self, other: &Self) -> bool {
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
    /// Files that cannot be shown as text (too large, not UTF-8): what they are, and how to make them.
    Made(&'static str, fn() -> Vec<(String, Vec<u8>)>),
}

impl RuleExample {
    /// The files as paths and bytes.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), text.as_bytes().to_vec());
        match self {
            Self::File(path, text) => vec![owned(&(*path, *text))],
            Self::Files(files) => files.iter().map(owned).collect(),
            Self::Made(_, make) => make(),
        }
    }
}
