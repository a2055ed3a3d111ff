//! Options that make a harmless-looking command write, delete or run something: how they are found
//! among the words of a command, and when an allow rule permits them all the same.
//!
//! The table is `tables::hazards`. What cannot be told apart counts as a hazard.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use crate::automata::regex::Whole;
use crate::pattern::command::{CommandPattern, Drops, Hazardous, base_name, drops};
use crate::pattern::{Pattern, Shape};
use crate::tables::global_options::global_options;
use crate::tables::hazards::{Dashes, Group, Hazard, Sign, dashes, in_groups};

/// The hazardous options of an argument list.
pub fn hazards_in<'a>(argv: &'a [&'a str]) -> impl Iterator<Item = &'static Hazard> + use<'a> {
    let command = argv.first().map_or("", |word| base_name(word));
    let known = of(command);
    let front = (!known.is_empty()).then(|| Front::new(command, argv));
    let holds =
        move |known: &&Known| front.as_ref().is_some_and(|front| known.is_in(command, argv, front));
    known.iter().filter(holds).map(|known| &known.hazard)
}

/// Whether an allow rule that matches `argv` also permits its hazardous options. One whose command
/// word may name many commands with hazards permits them only with words that it spells out.
pub(crate) fn permits(pattern: &Pattern, argv: &[&str]) -> bool {
    let Shape::Command(CommandPattern { hazardous: Hazardous::Many, .. }) = &pattern.shape else {
        return hazards_in(argv).all(|hazard| names(pattern, hazard));
    };
    let command = argv.first().map_or("", |word| base_name(word));
    let words = argv.get(1..).unwrap_or_default();
    of(command).is_empty() || words.iter().all(|word| pattern.tokens().any(|token| token == *word))
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
        // `--output-indicator-new` is not `--output`, and `addr` is not `add`.
        Sign::Long(spelling, _) | Sign::Word(spelling) => {
            let option = |token: &String| token.split('=').next() == Some(spelling);
            tokens.iter().skip(1).any(option)
        }
        Sign::Prefix(spelling) => starting(spelling),
        Sign::Short(option) => starting(&format!("-{option}")),
        Sign::Global(spelling) => {
            let argv: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let front = Front::new(hazard.command, &argv);
            front.words.iter().any(|token| token.starts_with(spelling))
        }
        Sign::Unless(_) => false,
    }
}

/// The hazards of a command, by its base name.
pub(crate) fn of(command: &str) -> &'static [Known] {
    let Some((command, entry)) = BY_COMMAND.get_key_value(command) else { return &[] };
    let rows = || entry.groups.iter().flat_map(|group| group.of(command)).map(Known::new).collect();
    entry.rows.get_or_init(rows)
}

/// The commands with hazards, in order.
pub(crate) fn commands() -> impl Iterator<Item = &'static str> {
    BY_COMMAND.keys().copied()
}

/// The command as it stands in the table, if it has hazards.
pub(crate) fn command(name: &str) -> Option<&'static str> {
    BY_COMMAND.get_key_value(name).map(|(name, _)| *name)
}

static BY_COMMAND: LazyLock<BTreeMap<&str, Entry>> = LazyLock::new(|| {
    let mut entries: BTreeMap<&str, Entry> = BTreeMap::new();
    for group in in_groups() {
        for command in group.commands {
            entries.entry(command).or_default().groups.push(group);
        }
    }
    entries
});

/// A command of the table; its rows are made when somebody asks for them, as few commands are met.
#[derive(Debug, Default)]
struct Entry {
    groups: Vec<&'static Group>,
    rows: OnceLock<Vec<Known>>,
}

/// A row of the table, with its regular expression once it is needed.
#[derive(Debug)]
pub(crate) struct Known {
    /// The row.
    pub(crate) hazard: Hazard,
    harmless: OnceLock<Option<Whole>>,
}

impl Known {
    fn new(hazard: Hazard) -> Self {
        Self { hazard, harmless: OnceLock::new() }
    }

    /// Whether it is among the words of `argv`.
    fn is_in(&self, command: &str, argv: &[&str], front: &Front<'_>) -> bool {
        let Hazard { subcommands, sign, .. } = &self.hazard;
        let rest = argv.get(1..).unwrap_or_default();
        match sign {
            Sign::Unless(regex) => !self.is_harmless(regex, rest),
            Sign::Global(spelling) => {
                front.words.iter().chain(front.unknown).any(|word| word.starts_with(spelling))
            }
            sign if subcommands.is_empty() => {
                let globals = !global_options(command).is_empty();
                found(*sign, rest, dashes(command, None), globals)
            }
            sign => {
                let chosen = front.subcommand.filter(|(name, _)| subcommands.contains(name));
                let after = |(name, rest)| found(*sign, rest, dashes(command, Some(name)), false);
                chosen.is_some_and(after) || found(*sign, front.unknown, Dashes::Nothing, false)
            }
        }
    }

    fn is_harmless(&self, regex: &str, rest: &[&str]) -> bool {
        let harmless = self.harmless.get_or_init(|| Whole::read(regex));
        harmless.as_ref().is_some_and(|harmless| harmless.takes(&rest.join("\0")))
    }
}

/// The words at the front of a command, up to its subcommand.
pub(crate) struct Front<'a> {
    /// The global options without their values, and the subcommand.
    words: Vec<&'a str>,
    /// The subcommand, and the words after it.
    subcommand: Option<(&'a str, &'a [&'a str])>,
    /// All words after an option that is not known: any of them may be the subcommand.
    unknown: &'a [&'a str],
}

impl<'a> Front<'a> {
    fn new(command: &str, argv: &'a [&'a str]) -> Self {
        let options = global_options(command);
        let mut front = Self { words: Vec::new(), subcommand: None, unknown: &[] };
        let mut rest = argv.get(1..).unwrap_or_default();
        while let Some((word, after)) = rest.split_first() {
            front.words.push(word);
            rest = match drops(options, word) {
                Drops::One => after,
                Drops::Two => after.get(1..).unwrap_or_default(),
                Drops::Nothing => {
                    front.subcommand = Some((word, after));
                    break;
                }
                Drops::Either => {
                    front.unknown = after;
                    break;
                }
            };
        }
        front
    }
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
