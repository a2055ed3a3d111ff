//! Tokens of the hand-written parsers, and how a parser moves over them after a mistake.
//! JSON and ACL share this: both continue at the next token that they understand.

use crate::diagnostic::Diagnostic;
use crate::problems::{ParseProblems, short};
use crate::rule::LintRule;
use crate::source::{SourceFile, Span};

/// A token with its span.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SourceLexeme<T> {
    pub(crate) token: T,
    pub(crate) span: Span,
    /// Whether it is the first on its line, in a language where line breaks matter.
    pub(crate) starts_line: bool,
}

/// A token that may be a single punctuation character.
pub(crate) trait MarkToken: PartialEq {
    /// Returns the punctuation character, if it is one.
    fn mark(&self) -> Option<char>;
}

/// The lexemes of a text, from the first to the last.
pub(crate) struct LexemeReader<'s, 'p, T> {
    pub(crate) source: &'s SourceFile,
    list: &'p [SourceLexeme<T>],
    /// The index of the next lexeme.
    pub(crate) at: usize,
    pub(crate) problems: &'p mut ParseProblems,
    /// The rule for syntax errors of the language.
    syntax: &'static LintRule,
    /// The marks that close the open containers, innermost last.
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

    /// Returns the lexemes that are left.
    pub(crate) fn rest(&self) -> &'p [SourceLexeme<T>] {
        self.list.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn is_mark(&self, mark: char) -> bool {
        self.peek().is_some_and(|next| next.token.mark() == Some(mark))
    }

    /// Reports whether there is more before the next closing mark; an unmatched one is reported and skipped.
    pub(crate) fn goes_on(&mut self) -> bool {
        while let Some(next) = self.peek() {
            let Some(mark @ ('}' | ']' | ')')) = next.token.mark() else { break };
            // Any open container counts, so that a missing inner bracket does not swallow the outer one.
            if self.open.contains(&mark) {
                return false;
            }
            self.problem(next.span, format!("`{mark}` closes nothing"));
            self.at += 1;
        }
        self.peek().is_some() && !self.problems.full()
    }

    /// Skips the next lexeme, including everything up to its closing mark.
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

    /// Returns the next lexeme in backticks.
    pub(crate) fn found(&self) -> String {
        short(self.peek().map_or("", |next| self.source.slice(next.span)))
    }

    /// Reports that the next lexeme is not what `wanted` describes.
    pub(crate) fn unexpected(&mut self, wanted: &str) -> &mut Diagnostic {
        let message = format!("{} where {wanted} should be", self.found());
        self.problem(self.next_span(), message)
    }

    /// Reports a syntax error.
    pub(crate) fn problem(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.problems.add(self.syntax, span, message)
    }
}
