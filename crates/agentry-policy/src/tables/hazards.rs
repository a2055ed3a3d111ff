//! Options that make a harmless-looking command write, delete or run something.
//!
//! The table is for people who write `git log*:allow` or `sort *:allow`: what stands in it is not
//! what such a rule means, so the rule has to name it. A program whose plain purpose is to run or
//! change things (`python`, `cp`, `docker rm`) is not listed for that purpose.

use std::fmt;

mod build;
mod containers;
mod files;
mod harmless;
mod network;
mod system;
mod text;
mod versions;

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

/// How a hazard is recognised among the arguments; [`Dashes`] says what a bare `--` means for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `--output`, `--output=x`, and its abbreviations down to this many characters, the dashes
    /// included: `("--output", 4)` is also `--ou` and `--ou=x`, not `--o`.
    Long(&'static str, usize),
    /// The character anywhere in a word that begins with exactly one dash: `-o`, `-ox`, `-no`. It may
    /// be part of another option's value there (`-to`); the doubt counts as the hazard.
    Short(char),
    /// Exactly this word: `-delete`.
    Word(&'static str),
    /// A word that starts like this: `-fprint`, `SHELL=`.
    Prefix(&'static str),
    /// A word that starts like this where global options and the subcommand stand: `-c`, `config`.
    Global(&'static str),
    /// The arguments are harmless only if, joined by NUL, they match this regular expression as a
    /// whole. It covers all of them, whatever `--` means.
    Unless(&'static str),
}

impl fmt::Display for Sign {
    /// As one would write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long(spelling, _)
            | Self::Word(spelling)
            | Self::Prefix(spelling)
            | Self::Global(spelling) => write!(f, "`{spelling}`"),
            Self::Short(option) => write!(f, "`-{option}`"),
            Self::Unless(_) => f.write_str("such an argument"),
        }
    }
}

/// Whether hazards are looked for behind a bare `--`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dashes {
    /// No: the program takes the first `--` for the end of its options, wherever it stands.
    End,
    /// Only if the word before it starts with a dash, because it may be that option's value:
    /// `sort -T -- -o x` writes `x`.
    EndAfterOperand,
    /// Yes: the program does not stop at `--`: `find -- . -delete`.
    Nothing,
}

/// Options of some commands with the same effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    /// The base names of the commands.
    pub(crate) commands: &'static [&'static str],
    subcommands: &'static [&'static str],
    does: &'static str,
    signs: &'static [Sign],
}

/// What a hazard does that runs a program.
pub const RUNS: &str = "run another program";

const DELETE: &str = "delete files";
const LOAD: &str = "load code or settings from elsewhere";
const OPTIONS: &str = "take further instructions from a file";
const RUN: &str = RUNS;
const SEND: &str = "send data or change where it goes";
const WRITE: &str = "write a file or change a setting";

/// Reads `[commands] [subcommands] EFFECT [signs];` lines.
macro_rules! groups {
    ($([$($command:literal)+] [$($sub:literal)*] $does:ident [$($sign:expr),+];)+) => {
        pub(super) const GROUPS: &[Group] = &[$(Group {
            commands: &[$($command),+],
            subcommands: &[$($sub),*],
            does: $does,
            signs: &[$($sign),+],
        }),+];
    };
}
use groups;

/// An option of a program that takes abbreviations. Whether `--o` is unambiguous differs between
/// versions, so every abbreviation of at least one letter counts.
const fn long(name: &'static str) -> Sign {
    Sign::Long(name, 3)
}

/// The spelling with one dash of an option, for programs that take it for two, and abbreviations of
/// at least two letters: one letter is an option of its own.
const fn one_dash(name: &'static str) -> Sign {
    Sign::Long(name, 3)
}

/// An option of a program that takes no abbreviations.
const fn exact(name: &'static str) -> Sign {
    Sign::Long(name, name.len())
}

const TABLES: &[&[Group]] = &[
    build::GROUPS,
    containers::GROUPS,
    files::GROUPS,
    network::GROUPS,
    system::GROUPS,
    text::GROUPS,
    versions::GROUPS,
];

/// Stands for the subcommands of its group themselves: each is an entry of its own.
const VERB: Sign = Sign::Global("");

impl Group {
    /// The entries of one of its commands.
    pub(crate) fn of(&self, command: &'static str) -> impl Iterator<Item = Hazard> + use<> {
        let Self { subcommands, does, signs, .. } = *self;
        let is_verbs = signs == [VERB];
        let verbs = subcommands.iter().filter(move |_| is_verbs);
        let verbs = verbs.map(|verb| (&[] as &[&str], Sign::Global(verb)));
        let signs = signs.iter().filter(move |_| !is_verbs).map(move |sign| (subcommands, *sign));
        let entries = verbs.chain(signs);
        entries.map(move |(subcommands, sign)| Hazard { command, subcommands, sign, does })
    }
}

/// The table in groups. Entries that are laid out one by one in the program would have to be put in
/// their places by every start of it.
pub(crate) fn in_groups() -> impl Iterator<Item = &'static Group> {
    TABLES.iter().copied().flatten()
}

/// The table.
pub fn hazards() -> impl Iterator<Item = Hazard> {
    in_groups().flat_map(|group| group.commands.iter().flat_map(|command| group.of(command)))
}

/// Programs of which every word may be an option or a command, whatever stands before it.
const NOT_STOPPED: &[&str] = &[
    "7z",
    "7za",
    "7zr",
    "7zz",
    "c++",
    "cc",
    "clang",
    "clang++",
    "cpp",
    "dd",
    "duckdb",
    "emacs",
    "exiftool",
    "find",
    "g++",
    "gcc",
    "gdb",
    "gfind",
    "gs",
    "identify",
    "java",
    "ld",
    "ld.bfd",
    "ld.gold",
    "ld.lld",
    "lld",
    "mold",
    "openssl",
    "redis-cli",
    "rustc",
    "rustdoc",
    "sqlite3",
    "tcc",
    "tsc",
    "xmllint",
    "xsltproc",
];

/// Subcommands of git that look for the first `--` before they read any option.
const GIT_REVISIONS: &[&str] = &["log", "rev-list", "show", "whatchanged"];

/// What a bare `--` means for `command` with this subcommand, if it has one.
pub fn dashes(command: &str, subcommand: Option<&str>) -> Dashes {
    match command {
        "cargo" => Dashes::End,
        "git" if subcommand.is_some_and(|name| GIT_REVISIONS.contains(&name)) => Dashes::End,
        _ if NOT_STOPPED.contains(&command) => Dashes::Nothing,
        _ => Dashes::EndAfterOperand,
    }
}

#[cfg(test)]
mod tests;
