//! The argument lists that a command may have at run time.
//!
//! A literal word is one text. A glob, a variable of unknown value or the input of `xargs` is a set
//! of texts; the verdict of a policy is the strictest one for any text of the set.

/// The texts that one word may have, as a sequence of pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ShellWord {
    /// No pieces means the empty word.
    pub pieces: Vec<WordPiece>,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WordPiece {
    /// Exactly this text.
    Text(String),
    /// Any characters except `/`, or none: what a glob stands for.
    Segment,
    /// Any characters, or none: a value that is unknown before the command runs.
    Any,
}

/// One item of an argument list, which may become several words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ShellArg {
    /// One word.
    One(ShellWord),
    /// One or more words, each from the set: an unquoted glob.
    Some(ShellWord),
    /// Zero or more words, each from the set: an unquoted variable, the input of `xargs`.
    Many(ShellWord),
}

impl ShellWord {
    /// Makes the word that is exactly `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self { pieces: vec![WordPiece::Text(text.into())] }
    }

    /// Makes the word that may be any text.
    pub fn any() -> Self {
        Self { pieces: vec![WordPiece::Any] }
    }

    /// Returns the text of the word, or `None` if it may have more than one.
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [WordPiece::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl ShellArg {
    /// Makes the argument that is exactly `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::One(ShellWord::text(text))
    }

    /// Returns the text, or `None` unless this is one word with one possible text.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::One(word) => word.literal(),
            Self::Some(_) | Self::Many(_) => None,
        }
    }
}

/// Returns the argument list, or `None` if there is more than one possible list.
pub fn literal(args: &[ShellArg]) -> Option<Vec<&str>> {
    args.iter().map(ShellArg::literal).collect()
}
