//! Parses the options of builtins as the shell does: clusters of letters, attached or separate values, up to
//! `--` or the first operand.

use crate::argv::{ShellArg, WordPiece};

/// The parsed arguments of a builtin.
#[derive(Debug)]
pub(super) struct GetoptArguments<'a> {
    /// Letters with their values, in order.
    pub(super) options: Vec<(char, Option<ShellArg>)>,
    /// The remaining arguments.
    pub(super) operands: &'a [ShellArg],
    /// Whether every option and the end of the options are known.
    pub(super) is_known: bool,
}

impl GetoptArguments<'_> {
    /// Whether an option is given.
    pub(super) fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(found, _)| *found == letter)
    }

    /// Iterates over the values of an option.
    pub(super) fn of(&self, letter: char) -> impl Iterator<Item = &ShellArg> {
        self.options
            .iter()
            .filter(move |(found, _)| *found == letter)
            .filter_map(|(_, v)| v.as_ref())
    }
}

/// Parses the arguments after the command name; the letters of `valued` take a value.
pub(super) fn read<'a>(argv: &'a [ShellArg], flags: &str, valued: &str) -> GetoptArguments<'a> {
    let mut found = GetoptArguments {
        options: Vec::new(),
        operands: argv.get(1..).unwrap_or_default(),
        is_known: true,
    };
    while let Some((word, rest)) = found.operands.split_first() {
        let Some(text) = word.literal() else {
            found.is_known &= is_certainly_operand(word);
            return found;
        };
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return found;
        };
        found.operands = rest;
        if letters == "-" {
            return found;
        }
        for (at, letter) in letters.char_indices() {
            let behind = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            if valued.contains(letter) {
                found.take_value(letter, behind);
                break;
            }
            found.is_known &= flags.contains(letter);
            found.options.push((letter, None));
        }
    }
    found
}

impl GetoptArguments<'_> {
    fn take_value(&mut self, letter: char, behind: &str) {
        let value = match (behind, self.operands.split_first()) {
            ("", Some((value, rest))) => {
                self.operands = rest;
                Some(value.clone())
            }
            ("", None) => None,
            (attached, _) => Some(ShellArg::text(attached)),
        };
        self.is_known &= matches!(value, Some(ShellArg::One(_)));
        self.options.push((letter, value));
    }
}

/// Whether an argument becomes at least one word, and its words do not start with `-`.
pub(super) fn is_certainly_operand(argument: &ShellArg) -> bool {
    let (ShellArg::One(word) | ShellArg::Some(word)) = argument else { return false };
    match word.pieces.as_slice() {
        [WordPiece::Number | WordPiece::Label] => matches!(argument, ShellArg::One(_)),
        [WordPiece::Text(text), ..] => !text.starts_with('-'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_clusters_and_values_are_parsed() {
        let cases = [
            ("read -r x", "r", "x", true),
            ("read -rp a x", "r p=a", "x", true),
            ("read -rax y", "r a=x", "y", true),
            ("read -ad x", "a=d", "x", true),
            ("read -r -- -x", "r", "-x", true),
            ("read - x", "", "- x", true),
            ("read -z x", "z", "x", false),
            ("read -a", "a=", "", false),
            ("read x -r", "", "x -r", true),
        ];
        for (line, options, operands, is_known) in cases {
            let argv: Vec<ShellArg> = line.split(' ').map(ShellArg::text).collect();
            let found = read(&argv, "ers", "adinNptu");
            let option = |(letter, value): &(char, Option<ShellArg>)| match value {
                Some(value) => format!("{letter}={}", value.literal().unwrap_or_default()),
                None if letter == &'a' => format!("{letter}="),
                None => letter.to_string(),
            };
            let seen: Vec<String> = found.options.iter().map(option).collect();
            let rest: Vec<&str> = found.operands.iter().filter_map(ShellArg::literal).collect();
            assert_eq!(
                (seen.join(" ").as_str(), rest.join(" ").as_str(), found.is_known),
                (options, operands, is_known),
                "{line}"
            );
        }
    }
}
