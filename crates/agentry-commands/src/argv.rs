//! A command as the set of argument lists that it may become.
//!
//! A literal word is one text. A glob, a variable of unknown value or the input of `xargs` is a set
//! of texts; the verdict of a policy is the strictest over the whole set.

/// What one word may become: its pieces in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ShellWord {
    /// An empty list is the empty word.
    pub pieces: Vec<WordPiece>,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WordPiece {
    /// Exactly this text.
    Text(String),
    /// Any characters except `/`, or none: what a glob stands for.
    Segment,
    /// Any characters, or none: a value that is not known.
    Any,
}

/// One place of an argument list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ShellArg {
    /// One word.
    One(ShellWord),
    /// One or more words, each from the set: an unquoted glob.
    Some(ShellWord),
    /// Any number of words, none too, each from the set: an unquoted variable, the input of `xargs`.
    Many(ShellWord),
}

impl ShellWord {
    /// The word that is exactly `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self { pieces: vec![WordPiece::Text(text.into())] }
    }

    /// The word that may be anything.
    pub fn any() -> Self {
        Self { pieces: vec![WordPiece::Any] }
    }

    /// The only text that it may be, if there is only one.
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [WordPiece::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl ShellArg {
    /// The argument that is exactly `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::One(ShellWord::text(text))
    }

    /// The only text that it may be, if it is one word with one text.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::One(word) => word.literal(),
            Self::Some(_) | Self::Many(_) => None,
        }
    }
}

/// The only argument list that `args` may be, if there is only one.
pub fn literal(args: &[ShellArg]) -> Option<Vec<&str>> {
    args.iter().map(ShellArg::literal).collect()
}
