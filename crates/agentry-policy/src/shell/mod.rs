//! Analyses a command line: everything that it runs, reads, writes and sets.
//!
//! ```text
//! line ─▶ screen ─▶ two parsers ─▶ same tokens? ─▶ walk ─▶ expand words ─▶ wrappers ─▶ parts
//!                                      │ no                    │ $(…), sh -c '…'
//!                                      ▼                       └──▶ the same again
//!                                  `Unclear`, and whatever either parser found
//! ```
//!
//! The analysis assumes bash without options. Other shells may produce other words, but no other commands.
//! Nothing is run or looked up. Text that is not understood becomes a [`PartEffect::Unclear`], which no
//! policy allows; the other parts are reported as well, so that deny rules still apply.

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
mod endless;
mod expand;
mod flow;
mod getopt;
mod guess;
mod interpreter;
mod item;
mod loop_effects;
mod naming;
mod output;
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

/// Lists everything that `line` runs, reads, writes and sets.
pub fn analyse(line: &str, context: &ShellContext) -> Vec<LinePart> {
    analysis(line, context).parts
}

/// Like [`analyse`], together with the commands that only start others.
pub(crate) fn analysis(line: &str, context: &ShellContext) -> LineAnalysis {
    analyser::ShellAnalyser::new(line, context).run(line).0
}

/// The result of analysing a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineAnalysis {
    /// Everything that it runs, reads, writes and sets.
    pub(crate) parts: Vec<LinePart>,
    /// Shells and wrappers around parts, each with its whole argument list: `sh -c ls`, `timeout 5 ls`.
    pub(crate) around: Vec<Vec<ShellArg>>,
}

/// The known state of the shell before the line.
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
    /// The text that has the effect, as written.
    pub text: String,
    /// The directories in which it may happen.
    pub bases: CurrentDirs,
    /// The effect.
    pub what: PartEffect,
}

/// The effect of a part of a line.
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
        /// Which commands see the variable.
        scope: VariableScope,
    },
    /// Goes on without an end, or after the line: an endless loop, a function that calls itself, a job of
    /// builtins in the background.
    Lasting {
        /// The reason.
        why: String,
    },
    /// Is not understood, and so must never be allowed.
    Unclear {
        /// The reason.
        why: String,
    },
}

/// Which commands see a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableScope {
    /// One command, and the programs that it starts.
    Command,
    /// The rest of the line, but no program, unless the variable is already exported.
    Shell,
    /// The rest of the line, and all programs that it starts.
    Exported,
}

/// A command that a line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// The possible arguments; the first one is always a literal word.
    pub argv: Vec<ShellArg>,
    /// For a wrapper that changes the user or the machine, such as `sudo`: where in `argv` its command
    /// starts.
    pub inner_at: Option<usize>,
    /// For the inner command of such a wrapper: the index of the wrapper's part.
    pub behind: Option<usize>,
    /// Which rules apply to it.
    pub role: CommandRole,
}

/// Which rules apply to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandRole {
    /// All rules.
    Own,
    /// It is a builtin that changes nothing outside the shell. The rules for the other commands of the line
    /// cover it, unless a rule is against it; alone it needs a rule like any command.
    Glue,
    /// It is a guess about text that other parts describe better, so only deny and ask rules apply.
    Guess,
}
