//! Options that make a harmless-looking command write, delete or run something.

/// One such option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hazard {
    /// The base name of the command.
    pub command: &'static str,
    /// Only for these first words after the global options; empty for all.
    pub subcommands: &'static [&'static str],
    /// How it is spelled.
    pub sign: Sign,
    /// What it does, after «can»: `write a file`.
    pub does: &'static str,
}

/// How a hazard is recognised among the arguments before a bare `--`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `--output`, `--output=x` and its abbreviations down to the given number of characters.
    Long(&'static str, usize),
    /// `-o`, `-ox`, and inside a cluster of short options: `-no`.
    Short(char),
    /// Exactly this word, anywhere: `-delete`.
    Word(&'static str),
    /// A word that starts like this: `--checkpoint-action`.
    Prefix(&'static str),
    /// `-c` before the subcommand.
    Global(&'static str),
    /// The arguments are harmless only if, joined by NUL, they match this regular expression as a whole.
    Unless(&'static str),
}

/// The table.
pub const HAZARDS: &[Hazard] = &[];
