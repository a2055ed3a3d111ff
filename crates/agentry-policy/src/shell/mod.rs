//! From a command line to all that it runs, reads, writes and sets.
//!
//! ```text
//! line ─▶ screen ─▶ two parsers ─▶ same tokens? ─▶ walk ─▶ expand words ─▶ wrappers ─▶ parts
//!                                      │ no                    │ $(…), sh -c '…'
//!                                      ▼                       └──▶ the same again
//!                                  `Unclear`, and whatever either parser found
//! ```
//!
//! The shell is bash without options; where other shells differ, the words may be other ones, but
//! they are no other commands. Nothing is run or looked up. What is not understood becomes a part of its own, [`What::Unclear`],
//! which no policy allows; the parts that were understood are there all the same, so a deny still
//! denies.

mod agree;
mod alias;
mod analyser;
mod arithmetic;
mod assign;
mod bases;
mod braces;
mod brush;
mod builtin;
mod call;
mod expand;
mod flow;
mod getopt;
mod guess;
mod interpreter;
mod item;
mod lists;
mod naming;
mod posix;
mod redirect;
mod screen;
mod shown;
mod simple;
mod state;
mod test;
mod touched;
mod tree_sitter;
mod walk;
mod word;
mod wrapper;
mod written;

#[cfg(test)]
mod tests;

pub use bases::Bases;
pub(crate) use bases::MAX_BYTES;
pub(crate) use shown::{shown, text as word_text};

use crate::argv::{Arg, Word};

/// Everything that `line` runs, reads, writes and sets.
pub fn analyse(line: &str, context: &Context) -> Vec<Part> {
    analysis(line, context).parts
}

/// The same with the commands that only start others.
pub(crate) fn analysis(line: &str, context: &Context) -> Analysis {
    analyser::Analyser::new(line, context).run(line).0
}

/// What a line comes down to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Analysis {
    /// Everything that it runs, reads, writes and sets.
    pub(crate) parts: Vec<Part>,
    /// Shells and wrappers around parts, each with all its words: `sh -c ls`, `timeout 5 ls`.
    pub(crate) around: Vec<Vec<Arg>>,
}

/// What is known of the shell before the line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// The home directory, if it is known.
    pub home: Option<String>,
    /// The absolute path of the start directory, if it is known.
    pub directory: Option<String>,
}

/// One effect of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The segment that has it, as written.
    pub text: String,
    /// The directories that it may happen in.
    pub bases: Bases,
    /// The effect.
    pub what: What,
}

/// What a part of a line does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Runs a command.
    Command(Command),
    /// Reads a file.
    Read(Word),
    /// Writes a file.
    Write(Word),
    /// Changes the directory.
    Enter(Word),
    /// Sets a variable.
    Set {
        /// Its name.
        name: String,
        /// Its value.
        value: Word,
        /// Who sees it.
        scope: Scope,
    },
    /// Nobody knows: never to be allowed.
    Unclear {
        /// The reason.
        why: String,
    },
}

/// Who sees a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One command, and what it starts.
    Command,
    /// The rest of the line, but no program, unless the variable is exported already.
    Shell,
    /// The rest of the line, and all that it starts.
    Exported,
}

/// A command that a line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What it may be called with; the first is always one literal word.
    pub argv: Vec<Arg>,
    /// For a wrapper that changes who or where, like `sudo`: where in `argv` the inner command starts.
    pub inner_at: Option<usize>,
    /// For the inner command of such a wrapper: the index of the wrapper's part.
    pub behind: Option<usize>,
    /// Whether only rules against it count: it changes nothing outside of the shell, or it is one
    /// way to read what other parts say more about.
    pub free: bool,
}
