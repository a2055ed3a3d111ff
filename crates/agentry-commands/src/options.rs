//! Options that may stand between a program and its subcommand. Everyone skips them in this one way.
//!
//! A rule `git push *:deny` has to hold for `git -C elsewhere push` too: to see it, these options
//! are taken away.

use crate::argv::ShellArg;
use crate::data::program;
use crate::program::words;

/// One option that may stand before the subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalOption {
    /// With its dashes: `--git-dir`, `-C`. For [`OptionValue::Plus`] only `+`.
    pub spelling: &'static str,
    /// Where its value stands. An option with an optional value has two entries, `Nothing` and
    /// `Joined`.
    pub takes: OptionValue,
}

words! {
    /// Where the value of an option stands.
    OptionValue {
        /// It has none: `--no-pager`.
        Nothing = "flag",
        /// In the next word only: `-C dir`.
        Next = "next",
        /// In the same word only: `--exec-path=dir`, and after a single dash `-j4`.
        Joined = "joined",
        /// In the next word or in the same: `--git-dir dir`, `--git-dir=dir`, `-n name`, `-nname`.
        Either = "value",
        /// The word begins with it, and no dash does: `+nightly`.
        Plus = "plus",
    }
}

/// The global options of a program, by its base name; none for one that is not known.
pub fn global_options(name: &str) -> &'static [GlobalOption] {
    program(name).map_or(&[], |facts| &facts.globals)
}

/// How many words an option takes where global options stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionWords {
    /// None: it is no option.
    Nothing,
    /// Itself.
    One,
    /// Itself and its value.
    Two,
    /// The option is not known, so the next word may be its value.
    Either,
}

/// How many words `word` takes among the global `options`.
pub fn option_words(options: &[GlobalOption], word: &str) -> OptionWords {
    if let Some(option) = options.iter().find(|option| option.spelling == word) {
        return match option.takes {
            OptionValue::Nothing | OptionValue::Joined | OptionValue::Plus => OptionWords::One,
            OptionValue::Next | OptionValue::Either => OptionWords::Two,
        };
    }
    match word.strip_prefix('-') {
        Some(rest) if rest.contains('=') => OptionWords::One,
        Some(_) => OptionWords::Either,
        None if word.starts_with('+') && options.iter().any(|it| it.takes == OptionValue::Plus) => {
            OptionWords::One
        }
        None => OptionWords::Nothing,
    }
}

/// Where the subcommand stands, behind the global options.
pub fn subcommand(name: &str, argv: &[ShellArg]) -> Option<usize> {
    let options = global_options(name);
    let mut at = 1;
    loop {
        at += match option_words(options, argv.get(at)?.literal()?) {
            OptionWords::Nothing => return Some(at),
            OptionWords::One | OptionWords::Either => 1,
            OptionWords::Two => 2,
        };
    }
}

/// The words at the front of a command, up to its subcommand.
#[derive(Debug)]
pub struct CommandFront<'a> {
    /// The global options without their values, and the subcommand.
    pub words: Vec<&'a str>,
    /// The subcommand, and the words after it.
    pub subcommand: Option<(&'a str, &'a [&'a str])>,
    /// All words after an option that is not known: any of them may be the subcommand.
    pub unknown: &'a [&'a str],
}

impl<'a> CommandFront<'a> {
    /// Reads the front of `argv`, whose program has these options.
    pub fn new(options: &[GlobalOption], argv: &'a [&'a str]) -> Self {
        let mut front = Self { words: Vec::new(), subcommand: None, unknown: &[] };
        let mut rest = argv.get(1..).unwrap_or_default();
        while let Some((word, after)) = rest.split_first() {
            front.words.push(word);
            rest = match option_words(options, word) {
                OptionWords::One => after,
                OptionWords::Two => after.get(1..).unwrap_or_default(),
                OptionWords::Nothing => {
                    front.subcommand = Some((word, after));
                    break;
                }
                OptionWords::Either => {
                    front.unknown = after;
                    break;
                }
            };
        }
        front
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::data::names;

    #[test]
    fn options_are_unique_and_spelled_well() {
        for name in names() {
            let mut seen = HashSet::new();
            for option in global_options(name) {
                let GlobalOption { spelling, takes } = option;
                assert!(seen.insert((spelling, format!("{takes:?}"))), "{name} {option:?}");
                let start = if *takes == OptionValue::Plus { '+' } else { '-' };
                assert!(spelling.starts_with(start), "{name} {option:?}");
                assert!(!spelling.contains('='), "{name} {option:?}");
            }
        }
    }

    #[test]
    fn options_of_a_command() {
        let cases = [
            ("git", "-C", OptionValue::Next),
            ("git", "-c", OptionValue::Next),
            ("git", "--git-dir", OptionValue::Either),
            ("git", "--exec-path", OptionValue::Joined),
            ("git", "--no-pager", OptionValue::Nothing),
            ("docker", "--context", OptionValue::Either),
            ("kubectl", "-n", OptionValue::Either),
            ("npm", "--prefix", OptionValue::Either),
            ("cargo", "+", OptionValue::Plus),
            ("terraform", "-chdir", OptionValue::Joined),
            ("make", "-C", OptionValue::Either),
        ];
        for (name, spelling, takes) in cases {
            let option = GlobalOption { spelling, takes };
            assert!(global_options(name).contains(&option), "{name} {spelling}");
        }
        assert_eq!(global_options("ls"), []);
    }
}
