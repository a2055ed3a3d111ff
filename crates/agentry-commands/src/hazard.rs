//! Options that make a harmless-looking command write, delete or run something, so that an allow rule has
//! to name them: how they are spelled, and how they are found among the words of a command.
//!
//! They are for people who write `git log*:allow` or `sort *:allow`: such an option is not what the
//! rule means. A program whose plain purpose is to run or change things (`python`, `cp`, `docker rm`) has
//! no such row for that purpose. What may be a hazard counts as one.

use std::fmt;
use std::sync::{LazyLock, OnceLock};

use crate::data::{names_with, program};
use crate::options::CommandFront;
use crate::program::{ProgramFacts, words};
use crate::regex::ArgumentRegex;
use crate::{arguments, base_name};

/// What a hazard does that runs a program.
pub const RUNS: &str = "run another program";

/// Abbreviations count from so many characters on, the dashes included. Whether `--o` is unambiguous
/// differs between versions, so one letter is enough.
const SHORTEST: usize = 3;

/// One such option.
#[derive(Debug)]
pub struct CommandHazard {
    /// The base name of the command.
    pub command: &'static str,
    /// Only for these first words after the global options; empty for all.
    pub subcommands: &'static [&'static str],
    /// How it is spelled.
    pub sign: HazardSign,
    /// What it does, after «can»: `write a file`.
    pub does: &'static str,
    /// The regular expression of [`HazardSign::Unless`], once it is needed.
    harmless: OnceLock<Option<ArgumentRegex>>,
}

/// How a hazard is recognised among the arguments; [`DashMeaning`] says what a bare `--` means for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HazardSign {
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

impl HazardSign {
    /// `^-c` global, `=-delete` a whole word, `-fprint*` a start, `--out~` with abbreviations,
    /// `--out~5` with those of five characters or more, `--out` exactly, `-o` a letter, `run` a word,
    /// `unless(sed)` arguments.
    pub(crate) fn read(word: &'static str) -> Option<Self> {
        if let Some(global) = word.strip_prefix('^') {
            return Some(Self::Global(global));
        }
        if let Some(exactly) = word.strip_prefix('=') {
            return Some(Self::Word(exactly));
        }
        if let Some(start) = word.strip_suffix('*') {
            return Some(Self::Prefix(start));
        }
        if let Some(name) = word.strip_prefix("unless(").and_then(|it| it.strip_suffix(')')) {
            return Some(Self::Unless(arguments::regex(name)?.leak()));
        }
        if let Some((name, least)) = word.split_once('~') {
            let least = if least.is_empty() { SHORTEST } else { least.parse().ok()? };
            return Some(Self::Long(name, least));
        }
        let mut letters = word.strip_prefix('-').map(str::chars).into_iter().flatten();
        Some(match (letters.next(), letters.next()) {
            (None, _) => Self::Word(word),
            (Some('-'), Some(_)) => Self::Long(word, word.len()),
            (Some(letter), None) => Self::Short(letter),
            _ => return None,
        })
    }

    /// Whether a single word is the sign.
    fn is(self, word: &str) -> bool {
        match self {
            Self::Long(spelling, least) => {
                let name = word.split('=').next().unwrap_or_default();
                name.chars().count() >= least && spelling.starts_with(name)
            }
            Self::Short(option) => match word.strip_prefix('-') {
                Some(letters) => !letters.starts_with('-') && letters.contains(option),
                None => false,
            },
            Self::Word(spelling) => word == spelling,
            Self::Prefix(spelling) => word.starts_with(spelling),
            Self::Global(_) | Self::Unless(_) => false,
        }
    }
}

impl fmt::Display for HazardSign {
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

words! {
    /// Whether hazards are looked for behind a bare `--`.
    DashMeaning {
        /// No: the program takes the first `--` for the end of its options, wherever it stands.
        End = "end",
        /// Only if the word before it starts with a dash, because it may be that option's value:
        /// `sort -T -- -o x` writes `x`.
        EndAfterOperand = "end-after-operand",
        /// Yes: the program does not stop at `--`: `find -- . -delete`.
        Nothing = "ignored",
    }
}

/// The hazards among the words of a command: what an allow rule has to name.
pub fn own_rules<'a>(
    argv: &'a [&'a str],
) -> impl Iterator<Item = &'static CommandHazard> + use<'a> {
    let name = argv.first().map_or("", |word| base_name(word));
    let facts = program(name).filter(|facts| !facts.hazards.is_empty());
    facts.into_iter().flat_map(move |facts| {
        let front = CommandFront::new(&facts.globals, argv);
        facts.hazards.iter().filter(move |hazard| hazard.is_in(facts, argv, &front))
    })
}

/// The hazards of a command, by its base name.
pub fn hazards(name: &str) -> &'static [CommandHazard] {
    program(name).map_or(&[], |facts| &facts.hazards)
}

/// The commands with hazards, sorted. Every pattern with a wildcard in its command word asks.
pub fn commands() -> impl Iterator<Item = &'static str> {
    static COMMANDS: LazyLock<Vec<&str>> = LazyLock::new(|| names_with("own-rule").collect());
    COMMANDS.iter().copied()
}

impl CommandHazard {
    pub(crate) fn new(
        command: &'static str,
        subcommands: &'static [&'static str],
        sign: HazardSign,
        does: &'static str,
    ) -> Self {
        Self { command, subcommands, sign, does, harmless: OnceLock::new() }
    }

    /// Whether it is among the words of `argv`.
    fn is_in(&self, facts: &ProgramFacts, argv: &[&str], front: &CommandFront<'_>) -> bool {
        let rest = argv.get(1..).unwrap_or_default();
        match self.sign {
            HazardSign::Unless(regex) => !self.is_harmless(regex, rest),
            HazardSign::Global(spelling) => {
                front.words.iter().chain(front.unknown).any(|word| word.starts_with(spelling))
            }
            sign if self.subcommands.is_empty() => {
                found(sign, rest, facts.dashes(None), !facts.globals.is_empty())
            }
            sign => {
                let chosen = front.subcommand.filter(|(name, _)| self.subcommands.contains(name));
                let after = |(name, rest)| found(sign, rest, facts.dashes(Some(name)), false);
                let anywhere = || found(sign, front.unknown, DashMeaning::Nothing, false);
                chosen.is_some_and(after) || anywhere()
            }
        }
    }

    fn is_harmless(&self, regex: &str, rest: &[&str]) -> bool {
        let harmless = self.harmless.get_or_init(|| ArgumentRegex::read(regex));
        harmless.as_ref().is_some_and(|harmless| harmless.takes(&rest.join("\0")))
    }
}

/// Whether the sign is among `words`, as far as `dashes` lets it be an option. Where global options may
/// stand first, a bare `--` at the very front does not end them.
fn found(sign: HazardSign, words: &[&str], dashes: DashMeaning, globals: bool) -> bool {
    let mut may_be_value = globals;
    for word in words {
        let ends = match dashes {
            DashMeaning::End => true,
            DashMeaning::EndAfterOperand => !may_be_value,
            DashMeaning::Nothing => false,
        };
        if *word == "--" && ends {
            return false;
        }
        if sign.is(word) {
            return true;
        }
        may_be_value = word.starts_with('-');
    }
    false
}

#[cfg(test)]
mod tests;
