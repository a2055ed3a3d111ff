//! The pieces of a text that is read by hand, and how a reader moves over them when something is wrong.
//! JSON and ACL share this: after a mistake both go on at the next piece that they understand.

use crate::diagnostic::Diagnostic;
use crate::problems::{ParseProblems, short};
use crate::rule::LintRule;
use crate::source::{SourceFile, Span};

/// A piece of text in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SourceLexeme<T> {
    pub(crate) token: T,
    pub(crate) span: Span,
    /// Whether it is the first of its line, in a language where that counts.
    pub(crate) starts_line: bool,
}

/// A token that may be a mark of one character.
pub(crate) trait MarkToken: PartialEq {
    /// The mark, if it is one.
    fn mark(&self) -> Option<char>;
}

/// The pieces of a text, read from the first to the last.
pub(crate) struct LexemeReader<'s, 'p, T> {
    pub(crate) source: &'s SourceFile,
    list: &'p [SourceLexeme<T>],
    /// The piece that comes next.
    pub(crate) at: usize,
    pub(crate) problems: &'p mut ParseProblems,
    /// What is broken by a text that is not of the language.
    syntax: &'static LintRule,
    /// The marks that will close what is around here.
    pub(crate) open: Vec<char>,
}

impl<'s, 'p, T: MarkToken> LexemeReader<'s, 'p, T> {
    pub(crate) fn new(
        source: &'s SourceFile,
        list: &'p [SourceLexeme<T>],
        syntax: &'static LintRule,
        problems: &'p mut ParseProblems,
    ) -> Self {
        Self { source, list, at: 0, problems, syntax, open: Vec::new() }
    }

    pub(crate) fn peek(&self) -> Option<&'p SourceLexeme<T>> {
        self.list.get(self.at)
    }

    pub(crate) fn after_next(&self) -> Option<&'p SourceLexeme<T>> {
        self.list.get(self.at + 1)
    }

    pub(crate) fn last(&self) -> Option<&'p SourceLexeme<T>> {
        self.list.get(self.at.checked_sub(1)?)
    }

    /// All that is still to come.
    pub(crate) fn rest(&self) -> &'p [SourceLexeme<T>] {
        self.list.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn is_mark(&self, mark: char) -> bool {
        self.peek().is_some_and(|next| next.token.mark() == Some(mark))
    }

    /// Whether there is more before the next closing mark; one that closes nothing is passed over.
    pub(crate) fn goes_on(&mut self) -> bool {
        while let Some(next) = self.peek() {
            let Some(mark @ ('}' | ']' | ')')) = next.token.mark() else { break };
            if self.open.contains(&mark) {
                return false;
            }
            self.problem(next.span, format!("`{mark}` closes nothing"));
            self.at += 1;
        }
        self.peek().is_some() && !self.problems.full()
    }

    /// Passes over the next piece, and over all that it opens.
    pub(crate) fn skip(&mut self) {
        let mut depth = 0_usize;
        while let Some(lexeme) = self.peek() {
            self.at += 1;
            match lexeme.token.mark() {
                Some('{' | '[' | '(') => depth += 1,
                Some('}' | ']' | ')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    pub(crate) fn last_span(&self) -> Span {
        self.last().map_or_else(|| self.source.whole(), |last| last.span)
    }

    pub(crate) fn next_span(&self) -> Span {
        self.peek().map_or_else(|| self.last_span(), |next| next.span)
    }

    /// What comes next, in backticks.
    pub(crate) fn found(&self) -> String {
        short(self.peek().map_or("", |next| self.source.slice(next.span)))
    }

    /// Reports that what comes next stands where `wanted` should be.
    pub(crate) fn unexpected(&mut self, wanted: &str) -> &mut Diagnostic {
        let message = format!("{} where {wanted} should be", self.found());
        self.problem(self.next_span(), message)
    }

    /// Reports a mistake of syntax.
    pub(crate) fn problem(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.problems.add(self.syntax, span, message)
    }
}
