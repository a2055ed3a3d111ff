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
//! they are no other commands. Nothing is run or looked up. What is not understood becomes a part of its own, [`PartEffect::Unclear`],
//! which no policy allows; the parts that were understood are there all the same, so a deny still
//! denies.

mod agreement;
mod alias;
mod analyser;
mod arithmetic;
mod arrays;
mod assign;
mod braces;
mod brush;
mod builtin;
mod call;
mod current_dirs;
mod describe;
mod expand;
mod flow;
mod getopt;
mod guess;
mod interpreter;
mod item;
mod loop_effects;
mod naming;
mod posix;
mod raw_command;
mod redirect;
mod screen;
mod state;
mod test;
mod tree_sitter;
mod walk;
mod word;
mod wrapper;
mod written_names;

#[cfg(test)]
mod tests;

pub use current_dirs::CurrentDirs;
pub(crate) use current_dirs::MAX_BYTES;
pub(crate) use describe::{shown, text as word_text};

use crate::argv::{ShellArg, ShellWord};

/// Everything that `line` runs, reads, writes and sets.
pub fn analyse(line: &str, context: &ShellContext) -> Vec<LinePart> {
    analysis(line, context).parts
}

/// The same with the commands that only start others.
pub(crate) fn analysis(line: &str, context: &ShellContext) -> LineAnalysis {
    analyser::ShellAnalyser::new(line, context).run(line).0
}

/// What a line comes down to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineAnalysis {
    /// Everything that it runs, reads, writes and sets.
    pub(crate) parts: Vec<LinePart>,
    /// Shells and wrappers around parts, each with all its words: `sh -c ls`, `timeout 5 ls`.
    pub(crate) around: Vec<Vec<ShellArg>>,
}

/// What is known of the shell before the line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellContext {
    /// The home directory, if it is known.
    pub home: Option<String>,
    /// The absolute path of the start directory, if it is known.
    pub directory: Option<String>,
}

/// One effect of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePart {
    /// The segment that has it, as written.
    pub text: String,
    /// The directories that it may happen in.
    pub bases: CurrentDirs,
    /// The effect.
    pub what: PartEffect,
}

/// What a part of a line does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartEffect {
    /// Runs a command.
    Command(ShellCommand),
    /// Reads a file.
    Read(ShellWord),
    /// Writes a file.
    Write(ShellWord),
    /// Changes the directory.
    Enter(ShellWord),
    /// Sets a variable.
    Set {
        /// Its name.
        name: String,
        /// Its value.
        value: ShellWord,
        /// Who sees it.
        scope: VariableScope,
    },
    /// Nobody knows: never to be allowed.
    Unclear {
        /// The reason.
        why: String,
    },
}

/// Who sees a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableScope {
    /// One command, and what it starts.
    Command,
    /// The rest of the line, but no program, unless the variable is exported already.
    Shell,
    /// The rest of the line, and all that it starts.
    Exported,
}

/// A command that a line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// What it may be called with; the first is always one literal word.
    pub argv: Vec<ShellArg>,
    /// For a wrapper that changes who or where, like `sudo`: where in `argv` the inner command starts.
    pub inner_at: Option<usize>,
    /// For the inner command of such a wrapper: the index of the wrapper's part.
    pub behind: Option<usize>,
    /// Whether only rules against it count: it changes nothing outside of the shell, or it is one
    /// way to read what other parts say more about.
    pub free: bool,
}
