//! Hazards: options that make a harmless-looking command write, delete or run something. This module
//! defines how they are spelled and finds them in an argument list.
//!
//! A user who writes `git log*:allow` or `sort *:allow` does not mean such an option, so an allow rule has to
//! name it. A program whose main purpose is to run or change files (`python`, `cp`, `docker rm`) has no
//! hazard for that purpose. In doubt, an option counts as a hazard.

use std::fmt;
use std::sync::{LazyLock, OnceLock};

use crate::data::{names_with, program};
use crate::options::CommandFront;
use crate::program::{ProgramFacts, words};
use crate::regex::ArgumentRegex;
use crate::{arguments, base_name};

/// The description of hazards that run a program.
pub const RUNS: &str = "run another program";

/// What a hazard does that deletes files.
pub const DELETES: &str = "delete files";

/// The shortest abbreviation that counts, dashes included. Whether `--o` is ambiguous depends on the version
/// of the program, so one letter is enough.
const SHORTEST: usize = 3;

/// One hazardous option of one command.
#[derive(Debug)]
pub struct CommandHazard {
    /// The base name of the command.
    pub command: &'static str,
    /// The subcommands that it applies to; empty for all.
    pub subcommands: &'static [&'static str],
    /// How it is spelled.
    pub sign: HazardSign,
    /// What it does, as the end of a sentence with «can»: `write a file`.
    pub does: &'static str,
    /// The compiled regular expression of [`HazardSign::Unless`], made on first use.
    harmless: OnceLock<Option<ArgumentRegex>>,
}

/// How a hazard is recognised among the arguments; [`DashMeaning`] defines where a bare `--` ends the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HazardSign {
    /// `--output`, `--output=x`, and its abbreviations down to this many characters, the dashes
    /// included: `("--output", 4)` is also `--ou` and `--ou=x`, not `--o`.
    Long(&'static str, usize),
    /// The character anywhere in a word that begins with exactly one dash: `-o`, `-ox`, `-no`. In `-to` it
    /// may be part of another option's value; it is treated as the hazard anyway.
    Short(char),
    /// Exactly this word: `-delete`.
    Word(&'static str),
    /// A word that starts with this: `-fprint`, `SHELL=`.
    Prefix(&'static str),
    /// A word with this start, in the place of a global option or the subcommand: `-c`, `config`.
    Global(&'static str),
    /// The arguments are a hazard unless, joined by NUL, they match this regular expression as a whole. All
    /// arguments are compared, also those after `--`.
    Unless(&'static str),
}

impl HazardSign {
    /// Parses the notation of the data files: `^-c` global, `=-delete` a whole word, `-fprint*` a prefix,
    /// `--out~` with abbreviations, `--out~5` with those of five characters or more, `--out` exactly, `-o`
    /// a letter, `run` a word, `unless(sed)` a regular expression.
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
            // Leaked once per row; the facts of a program live until the end anyway.
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

    /// Whether a single word is the hazard.
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
    /// Writes the option as a user would type it.
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
    /// Whether hazards are searched for after a bare `--`.
    DashMeaning {
        /// No: the first `--` always ends the options.
        End = "end",
        /// Only if the word before `--` starts with a dash, because `--` may then be that option's value:
        /// `sort -T -- -o x` writes `x`.
        EndAfterOperand = "end-after-operand",
        /// Yes: the program does not stop at `--`: `find -- . -delete`.
        Nothing = "ignored",
    }
}

/// Lists the hazards in a command, which an allow rule has to name.
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

/// Lists the hazards of a program, by its base name.
pub fn hazards(name: &str) -> &'static [CommandHazard] {
    program(name).map_or(&[], |facts| &facts.hazards)
}

/// Lists the programs with hazards, sorted; cached because every pattern with a wildcard program needs it.
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

    /// Whether the hazard occurs in `argv`.
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
                // After an unknown option any word may be the subcommand.
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

/// Whether the hazard is among `words`, before a `--` that ends the search. Where global options may come
/// first, a bare `--` at the very front does not end it.
pub(crate) fn found(sign: HazardSign, words: &[&str], dashes: DashMeaning, globals: bool) -> bool {
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
