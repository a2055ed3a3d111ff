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
    /// Any path below a directory, as a glob or a program lists it: not absolute, without `..`.
    Below,
    /// A number, perhaps with a minus.
    Number,
    /// A text that does not start with a dash: the name of a revision, a date.
    Label,
    /// No text: the word may be split at blanks, so that it is any number of words to rules about commands.
    Loose,
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

    /// Whether it may be any path: some of its text is unknown.
    pub fn is_open(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, WordPiece::Any | WordPiece::Label))
    }

    /// Whether it may be split at blanks.
    pub fn is_loose(&self) -> bool {
        self.pieces.contains(&WordPiece::Loose)
    }

    /// Returns the literal text that the word starts with.
    pub fn start(&self) -> &str {
        match self.pieces.first() {
            Some(WordPiece::Text(text)) => text,
            _ => "",
        }
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
    /// Returns the set of texts that each of its words has.
    pub fn word(&self) -> &ShellWord {
        let (Self::One(word) | Self::Some(word) | Self::Many(word)) = self;
        word
    }

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
