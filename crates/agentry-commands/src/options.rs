//! Global options, which come between a program and its subcommand. All code skips them through this module.
//!
//! A rule `git push *:deny` also has to match `git -C elsewhere push`, so these options are removed before
//! the comparison.

use crate::argv::ShellArg;
use crate::data::program;
use crate::program::words;

/// One option that may come before the subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalOption {
    /// The option with its dashes: `--git-dir`, `-C`. For [`OptionValue::Plus`] only `+`.
    pub spelling: &'static str,
    /// Where its value is. An option with an optional value has two entries, `Nothing` and `Joined`.
    pub takes: OptionValue,
}

words! {
    /// Where the value of an option is.
    /// It has no value: `--no-pager`.
    OptionValue {
        /// It has none: `--no-pager`.
        Nothing = "flag",
        /// In the next word only: `-C dir`.
        Next = "next",
        /// In the same word only: `--exec-path=dir`, and after a single dash `-j4`.
        Joined = "joined",
        /// In the next word or in the same: `--git-dir dir`, `--git-dir=dir`, `-n name`, `-nname`.
        Either = "value",
        /// The rest of a word that starts with `+`: `+nightly`.
        Plus = "plus",
    }
}

/// Lists the global options of a program, by its base name; none for an unknown program.
pub fn global_options(name: &str) -> &'static [GlobalOption] {
    program(name).map_or(&[], |facts| &facts.globals)
}

/// How many words an option occupies among the global options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionWords {
    /// None: the word is no option.
    Nothing,
    /// Only itself.
    One,
    /// Itself and its value.
    Two,
    /// The option is unknown, so the next word may be its value.
    Either,
}

/// Returns how many words `word` occupies among the global `options`.
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

/// Returns the index of the subcommand, after the global options.
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

/// The words at the start of a command, up to its subcommand.
#[derive(Debug)]
pub struct CommandFront<'a> {
    /// The global options without their values, and the subcommand.
    pub words: Vec<&'a str>,
    /// The subcommand, and the words after it.
    pub subcommand: Option<(&'a str, &'a [&'a str])>,
    /// All words after an unknown option; any of them may be the subcommand.
    pub unknown: &'a [&'a str],
}

impl<'a> CommandFront<'a> {
    /// Reads the start of `argv`, whose program has these global options.
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
    fn global_options_are_found_by_command() {
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
