//! Options that make a harmless-looking command write, delete or run something: how they are found
//! among the words of a command, and when an allow rule permits them all the same.
//!
//! The table is `tables::hazards`. What cannot be told apart counts as a hazard.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use regex_automata::meta::Regex;

use crate::pattern::Pattern;
use crate::pattern::command::{base_name, starts};
use crate::tables::global_options::global_options;
use crate::tables::hazards::{Dashes, HAZARDS, Hazard, Sign, dashes};

/// The hazardous options of an argument list.
pub fn hazards_in(argv: &[&str]) -> impl Iterator<Item = &'static Hazard> {
    let command = argv.first().map_or("", |word| base_name(word));
    of(command).iter().filter(move |known| known.is_in(command, argv)).map(|known| known.hazard)
}

/// Whether an allow rule that matches `argv` also permits its hazardous options.
pub(crate) fn permits(pattern: &Pattern, argv: &[&str]) -> bool {
    hazards_in(argv).all(|hazard| names(pattern, hazard))
}

/// Whether the pattern names the hazard, so that the author has thought of it.
pub(crate) fn names(pattern: &Pattern, hazard: &Hazard) -> bool {
    if !pattern.has_wildcard() {
        return true;
    }
    let literal = |token: &str| token.split('*').next().unwrap_or_default().to_owned();
    let tokens: Vec<String> = pattern.tokens().map(literal).collect();
    let starting = |start: &str| tokens.iter().skip(1).any(|token| token.starts_with(start));
    match hazard.sign {
        Sign::Long(spelling, _) | Sign::Word(spelling) | Sign::Prefix(spelling) => {
            starting(spelling)
        }
        Sign::Short(option) => starting(&format!("-{option}")),
        Sign::Global(spelling) => {
            let argv: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let at = starts(global_options(hazard.command), &argv);
            at.iter().any(|at| argv.get(*at).is_some_and(|token| token.starts_with(spelling)))
        }
        Sign::Unless(_) => false,
    }
}

/// The hazards of a command, by its base name.
pub(crate) fn of(command: &str) -> &'static [Known] {
    static BY_COMMAND: LazyLock<HashMap<&str, Vec<Known>>> = LazyLock::new(|| {
        let mut known: HashMap<&str, Vec<Known>> = HashMap::new();
        for hazard in HAZARDS {
            let harmless = OnceLock::new();
            known.entry(hazard.command).or_default().push(Known { hazard, harmless });
        }
        known
    });
    BY_COMMAND.get(command).map_or(&[], Vec::as_slice)
}

/// A row of the table, with its regular expression once it is needed.
#[derive(Debug)]
pub(crate) struct Known {
    /// The row.
    pub(crate) hazard: &'static Hazard,
    harmless: OnceLock<Option<Regex>>,
}

impl Known {
    /// Whether it is among the words of `argv`, whose first one names `command`.
    fn is_in(&self, command: &str, argv: &[&str]) -> bool {
        let options = global_options(command);
        let Hazard { subcommands, sign, .. } = self.hazard;
        if let Sign::Global(spelling) = sign {
            let starts = starts(options, argv);
            return words(argv, &starts).any(|word| word.starts_with(spelling));
        }
        if subcommands.is_empty() {
            let rest = argv.get(1..).unwrap_or_default();
            return match sign {
                Sign::Unless(regex) => !self.is_harmless(regex, rest),
                _ => found(*sign, rest, dashes(command, None), !options.is_empty()),
            };
        }
        let starts = starts(options, argv);
        let chosen = |at: &&usize| argv.get(**at).is_some_and(|word| subcommands.contains(word));
        let mut rests =
            starts.iter().filter(chosen).filter_map(|at| argv.get(*at..)?.split_first());
        match sign {
            Sign::Unless(regex) => {
                let rests: Vec<_> = rests.collect();
                !rests.is_empty() && !rests.iter().any(|(_, rest)| self.is_harmless(regex, rest))
            }
            _ => rests.any(|(name, rest)| found(*sign, rest, dashes(command, Some(name)), false)),
        }
    }

    fn is_harmless(&self, regex: &str, rest: &[&str]) -> bool {
        let read = || {
            // What cannot be told by an automaton is no use here either: both must agree.
            crate::automata::regex::read(regex)?;
            Regex::new(&format!(r"\A(?:{regex})\z")).ok()
        };
        let harmless = self.harmless.get_or_init(read);
        harmless.as_ref().is_some_and(|harmless| harmless.is_match(&rest.join("\0")))
    }
}

fn words<'a>(argv: &[&'a str], at: &[usize]) -> impl Iterator<Item = &'a str> {
    at.iter().filter_map(|at| argv.get(*at).copied())
}

/// Whether the sign is among `words`. What a bare `--` means is said by `dashes`; where global
/// options may stand first, one at the very front does not end them.
fn found(sign: Sign, words: &[&str], dashes: Dashes, globals: bool) -> bool {
    let mut may_be_value = globals;
    for word in words {
        let ends = match dashes {
            Dashes::End => true,
            Dashes::EndAfterOperand => !may_be_value,
            Dashes::Nothing => false,
        };
        if *word == "--" && ends {
            return false;
        }
        if is_sign(sign, word) {
            return true;
        }
        may_be_value = word.starts_with('-');
    }
    false
}

/// Whether a single word is the sign.
fn is_sign(sign: Sign, word: &str) -> bool {
    match sign {
        Sign::Long(spelling, least) => {
            let name = word.split('=').next().unwrap_or_default();
            name.chars().count() >= least && spelling.starts_with(name)
        }
        Sign::Short(option) => match word.strip_prefix('-') {
            Some(letters) => !letters.starts_with('-') && letters.contains(option),
            None => false,
        },
        Sign::Word(spelling) => word == spelling,
        Sign::Prefix(spelling) => word.starts_with(spelling),
        Sign::Global(_) | Sign::Unless(_) => false,
    }
}
