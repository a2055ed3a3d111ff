//! Patterns about commands, matched token by token against an argument list.
//!
//! An allow rule matches the command word as it is written. A deny or ask rule also matches its base name,
//! and ignores global options between the command and the words after it.

use agentry_commands::hazard::commands;
use agentry_commands::{
    GlobalOption, OptionWords, base_name, global_options, option_words, program,
};

use super::glob::{GlobPart, GlobPattern};
use super::sequence::{self, PatternElement};

use crate::{Action, PathAnchors};

/// A pattern about commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    /// The tokens, and the words that a trailing `*` matches.
    pub(crate) elements: Vec<PatternElement>,
    /// Whether only the command as it is written matches.
    pub(crate) as_written: bool,
    /// The commands with hazards that the command word may match.
    pub(crate) hazardous: HazardousCommands,
}

/// The commands with hazards that a pattern may match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HazardousCommands {
    /// These commands, by their base names.
    Commands(Vec<&'static str>),
    /// Too many to examine each of them.
    Many,
}

/// How many commands with hazards a wildcard command word may match before they are no longer examined one
/// by one.
const LOOKED_AT: usize = 6;

impl CommandPattern {
    /// Parses the tokens of `text`.
    pub(crate) fn new(text: &str, action: Action, places: &PathAnchors) -> Self {
        let allow = action == Action::Allow;
        let tokens: Vec<&str> = tokens(text).collect();
        let mut elements = Vec::new();
        for (index, token) in tokens.iter().enumerate() {
            let last = index + 1 == tokens.len();
            let first = match elements.as_slice() {
                [] => true,
                // After a leading `**`, an allow rule may also match at the command word.
                before => allow && before.iter().all(|element| *element == PatternElement::Many),
            };
            let stars = token.bytes().all(|byte| byte == b'*');
            // A `*` at the end, or a `**` anywhere, matches any number of words.
            if stars && (last || token.len() > 1) {
                elements.push(PatternElement::Many);
                continue;
            }
            // In a path of an allow rule, a wildcard stays within one segment.
            let inside = allow && token.contains('/');
            let star = if first || inside { GlobPart::Segment } else { GlobPart::Any };
            elements.push(PatternElement::One(spellings(token, &star, inside, allow, places)));
            // `git log*` also matches further words.
            if last && token.ends_with('*') && !inside {
                elements.push(PatternElement::Many);
            }
        }
        let hazardous = hazardous(&elements);
        Self { elements, as_written: allow, hazardous }
    }

    /// Whether `argv` matches.
    pub(crate) fn matches(&self, argv: &[&str]) -> bool {
        let Some((word, rest)) = argv.split_first() else {
            return self.from("", &[], true);
        };
        if self.from(word, rest, false) {
            return true;
        }
        if self.as_written {
            return false;
        }
        let base = base_name(word);
        let Some(command) = self.command_word() else { return false };
        if !command.takes(word) && !command.takes(base) {
            return false;
        }
        match DroppedOptions::of(command, base) {
            DroppedOptions::None => base != *word && self.from(base, rest, false),
            DroppedOptions::Options(options) => {
                let starts = starts(options, argv);
                let mut rests = starts.iter().filter_map(|start| argv.get(*start..));
                rests.any(|rest| self.from(word, rest, false) || self.from(base, rest, false))
            }
        }
    }

    /// Returns the element for the command word, which may come after a `**`.
    pub(crate) fn command_word(&self) -> Option<&PatternElement> {
        self.elements.iter().find(|element| **element != PatternElement::Many)
    }

    fn from(&self, word: &str, rest: &[&str], empty: bool) -> bool {
        let item = |at: usize| match at.checked_sub(1) {
            None => word,
            Some(at) => rest.get(at).copied().unwrap_or_default(),
        };
        sequence::matches(&self.elements, if empty { 0 } else { rest.len() + 1 }, item)
    }
}

/// The options that may come between the command word and the words after it.
pub(crate) enum DroppedOptions {
    /// None.
    None,
    /// These options, and words that look like an option.
    Options(&'static [GlobalOption]),
}

impl DroppedOptions {
    /// Returns the global options of the command in `element`. For a wildcard they are unknown, so any word
    /// that looks like an option is skipped, with and without a value.
    pub(crate) fn of(element: &PatternElement, base: &str) -> Self {
        let PatternElement::One(globs) = element else { return Self::None };
        if globs.iter().any(|glob| glob.as_literal().is_none()) {
            return Self::Options(&[]);
        }
        let named = globs.iter().any(|glob| glob.as_literal().map(base_name) == Some(base));
        match global_options(base) {
            options if named && !options.is_empty() => Self::Options(options),
            _ => Self::None,
        }
    }
}

/// Returns the commands with hazards that the first element may match.
fn hazardous(elements: &[PatternElement]) -> HazardousCommands {
    let Some(PatternElement::One(globs)) = elements.first() else { return HazardousCommands::Many };
    let tails: Vec<GlobPattern> = globs.iter().map(GlobPattern::last_segment).collect();
    let open = tails.iter().any(|tail| tail.parts.contains(&GlobPart::Any));
    let named = |command: &&str| tails.iter().any(|tail| tail.matches(command));
    let commands: Vec<&'static str> = match tails.as_slice() {
        _ if open => return HazardousCommands::Many,
        [tail] if tail.as_literal().is_some() => {
            let facts = program(tail.as_literal().unwrap_or_default());
            facts.filter(|it| !it.hazards.is_empty()).map(|it| it.name).into_iter().collect()
        }
        // One more than the limit shows that there are too many.
        _ => commands().filter(named).take(LOOKED_AT + 1).collect(),
    };
    if commands.len() > LOOKED_AT {
        HazardousCommands::Many
    } else {
        HazardousCommands::Commands(commands)
    }
}

/// Splits a pattern at runs of spaces.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|token| !token.is_empty())
}

/// Returns the token as written, and with the home directory for `~`. If the home directory is unknown, a
/// deny or ask rule accepts any.
fn spellings(
    token: &str,
    star: &GlobPart,
    inside: bool,
    allow: bool,
    places: &PathAnchors,
) -> Vec<GlobPattern> {
    let guard = |glob: GlobPattern| if inside { glob.guarded() } else { glob };
    let mut globs = vec![guard(GlobPattern::new(token, star))];
    let below = token.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    if let Some(rest) = below {
        let rest = GlobPattern::new(rest, star);
        match &places.home {
            Some(home) => globs.push(guard(rest.after(home))),
            None if allow => {}
            None => {
                let parts = std::iter::once(GlobPart::Any).chain(rest.parts).collect();
                globs.push(GlobPattern { parts, segments: Vec::new() });
            }
        }
    }
    globs
}

/// Returns the indices at which the words after the command may start if some global options are skipped, in
/// order. After an unknown option that is every index.
pub(crate) fn starts(options: &[GlobalOption], argv: &[&str]) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut here, mut next) = (true, false);
    for at in 1..=argv.len() {
        if here {
            found.push(at);
        }
        let drops = match argv.get(at) {
            Some(word) if here => option_words(options, word),
            _ => OptionWords::Nothing,
        };
        // After an unknown option, any later word may be the subcommand.
        if drops == OptionWords::Either && !options.is_empty() {
            found.extend(at + 1..=argv.len());
            break;
        }
        let one = matches!(drops, OptionWords::One | OptionWords::Either);
        let two = matches!(drops, OptionWords::Two | OptionWords::Either);
        (here, next) = (next || one, two);
        if !here && !next {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_options_before_the_subcommand_are_skipped() {
        let cases: [(&str, &[usize]); 8] = [
            ("git push", &[1]),
            ("git", &[1]),
            ("git -C x push", &[1, 3]),
            ("git -p --git-dir=x push -f", &[1, 2, 3]),
            ("git --git-dir x -p push", &[1, 3, 4]),
            ("git --unknown push x y", &[1, 2, 3, 4, 5]),
            ("git -C", &[1]),
            ("git -c a=b -c c=d", &[1, 3, 5]),
        ];
        for (line, expected) in cases {
            let argv: Vec<_> = line.split(' ').collect();
            assert_eq!(starts(global_options("git"), &argv), expected, "{line}");
        }
    }
}
