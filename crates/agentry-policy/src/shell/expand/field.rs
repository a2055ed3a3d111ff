//! Builds the arguments of one word, with word splitting and globs.

use super::tidy;
use crate::argv::{ShellArg, ShellWord, WordPiece};

/// Collects the pieces of one word.
#[derive(Default)]
pub(super) struct WordBuilder {
    done: Vec<ShellArg>,
    pieces: Vec<WordPiece>,
    /// Whether the word is kept even if it is empty.
    exists: bool,
    globs: bool,
    /// The first and the last index in `pieces` at which an unknown number of words may be inserted.
    splits: Option<(usize, usize)>,
}

impl WordBuilder {
    /// Adds literal text.
    pub(super) fn quoted(&mut self, text: &str) {
        self.exists = true;
        if !text.is_empty() {
            self.pieces.push(WordPiece::Text(text.to_owned()));
        }
    }

    /// Adds unquoted text with its globs; `continues` if more parts follow.
    pub(super) fn plain(&mut self, text: &str, continues: bool) {
        self.exists |= !text.is_empty();
        let mut rest = text;
        while let Some(at) = rest.find(['*', '?', '[']) {
            let (before, glob) = rest.split_at(at);
            self.text(before);
            rest = self.glob(glob, continues);
        }
        self.text(rest);
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.pieces.push(WordPiece::Text(text.to_owned()));
        }
    }

    /// Adds the glob at the start of `text`, and returns the rest.
    fn glob<'t>(&mut self, text: &'t str, continues: bool) -> &'t str {
        if text.starts_with("**") {
            self.globs = true;
            self.pieces.push(WordPiece::Below);
            return text.trim_start_matches('*');
        }
        if !text.starts_with('[') {
            self.globs = true;
            self.pieces.push(WordPiece::Segment);
            return text.get(1..).unwrap_or_default();
        }
        // Which bracket closes depends on classes and negation; taking the last one covers all cases.
        match text.rfind(']') {
            Some(close) => {
                self.globs = true;
                // If nothing matches, the shell keeps the brackets literally.
                let (brackets, rest) = text.split_at_checked(close + 1).unwrap_or((text, ""));
                let crosses = brackets.contains('/');
                self.pieces.push(if crosses { WordPiece::Any } else { WordPiece::Segment });
                rest
            }
            None if continues => {
                // The bracket may be closed in a later part.
                self.globs = true;
                self.pieces.push(WordPiece::Any);
                self.unknown();
                ""
            }
            None => {
                self.text("[");
                text.get(1..).unwrap_or_default()
            }
        }
    }

    /// Adds a number.
    pub(super) fn number(&mut self) {
        self.exists = true;
        self.pieces.push(WordPiece::Number);
    }

    /// Adds one of several names, as a part of one word.
    pub(super) fn name(&mut self, word: ShellWord) {
        self.exists = true;
        self.pieces.extend(word.pieces);
    }

    /// Adds any text, as a part of one word.
    pub(super) fn any(&mut self) {
        self.exists = true;
        self.pieces.push(WordPiece::Any);
    }

    /// Adds any number of words with any text.
    pub(super) fn unknown(&mut self) {
        let at = self.pieces.len();
        self.splits = Some(self.splits.map_or((at, at), |(first, _)| (first, at)));
    }

    /// Adds an unquoted value, which is split at white space.
    pub(super) fn split(&mut self, text: &str) {
        if text.contains('\\') {
            // In a value, a backslash is special only for globs, which is not tracked.
            return self.unknown();
        }
        let is_space = |c: char| matches!(c, ' ' | '\t' | '\n');
        let starts_apart = text.starts_with(is_space);
        let ends_apart = text.ends_with(is_space);
        for (index, chunk) in text.split(is_space).filter(|chunk| !chunk.is_empty()).enumerate() {
            if index > 0 || starts_apart {
                self.close();
            }
            // A bracket of the value may be closed after it.
            self.plain(chunk, true);
        }
        if ends_apart {
            self.close();
        }
    }

    fn close(&mut self) {
        let Self { pieces, exists, globs, splits, .. } = std::mem::take(self).replaced(self);
        let Some((first, last)) = splits else {
            if exists || !pieces.is_empty() {
                self.done.push(argument(pieces, globs));
            }
            return;
        };
        let mut before = pieces;
        let after = before.split_off(last.min(before.len()));
        before.truncate(first);
        // Literal text before or after the unknown words stays attached to the first or the last one.
        if !before.is_empty() {
            before.push(WordPiece::Any);
            self.done.push(argument(before, globs));
            self.done.push(ShellArg::Many(ShellWord::any()));
        } else if after.is_empty() {
            self.done.push(ShellArg::Many(ShellWord::any()));
        } else {
            let mut word = vec![WordPiece::Any];
            word.extend(after);
            self.done.push(ShellArg::Many(ShellWord::any()));
            self.done.push(argument(word, globs));
        }
    }

    /// Moves the finished arguments of `self` back into `rest`, and returns the remainder.
    fn replaced(mut self, rest: &mut Self) -> Self {
        rest.done = std::mem::take(&mut self.done);
        self
    }

    /// Returns the arguments.
    pub(super) fn finish(mut self) -> Vec<ShellArg> {
        self.close();
        self.done
    }

    /// Returns the one word, without splitting.
    pub(super) fn word(mut self) -> ShellWord {
        if let Some((first, _)) = self.splits {
            self.pieces.truncate(first);
            self.pieces.push(WordPiece::Any);
        }
        tidy(self.pieces)
    }
}

fn argument(pieces: Vec<WordPiece>, globs: bool) -> ShellArg {
    let word = tidy(pieces);
    if globs { ShellArg::Some(word) } else { ShellArg::One(word) }
}
