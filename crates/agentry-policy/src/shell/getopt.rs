//! Options of the shell's own commands, read as the shell reads them: clusters, values attached or
//! apart, up to `--` or the first operand.

use crate::argv::{Arg, Piece};

/// The arguments of a command of the shell.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    /// Letters and their values, in their order.
    pub(super) options: Vec<(char, Option<Arg>)>,
    /// The rest.
    pub(super) operands: &'a [Arg],
    /// Whether every option is known, and where the options end.
    pub(super) is_known: bool,
}

impl Arguments<'_> {
    /// Whether an option is among them.
    pub(super) fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(found, _)| *found == letter)
    }

    /// The values of an option.
    pub(super) fn of(&self, letter: char) -> impl Iterator<Item = &Arg> {
        self.options
            .iter()
            .filter(move |(found, _)| *found == letter)
            .filter_map(|(_, v)| v.as_ref())
    }
}

/// Reads the arguments behind the command's name; the letters of `valued` take a value.
pub(super) fn read<'a>(argv: &'a [Arg], flags: &str, valued: &str) -> Arguments<'a> {
    let mut found = Arguments {
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

impl Arguments<'_> {
    fn take_value(&mut self, letter: char, behind: &str) {
        let value = match (behind, self.operands.split_first()) {
            ("", Some((value, rest))) => {
                self.operands = rest;
                Some(value.clone())
            }
            ("", None) => None,
            (attached, _) => Some(Arg::text(attached)),
        };
        self.is_known &= matches!(value, Some(Arg::One(_)));
        self.options.push((letter, value));
    }
}

/// Whether an argument is one word or more that do not start with `-`.
pub(super) fn is_certainly_operand(argument: &Arg) -> bool {
    let (Arg::One(word) | Arg::Some(word)) = argument else { return false };
    match word.pieces.as_slice() {
        // A number.
        [Piece::Segment] => matches!(argument, Arg::One(_)),
        [Piece::Text(text), ..] => !text.starts_with('-'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_and_values() {
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
            let argv: Vec<Arg> = line.split(' ').map(Arg::text).collect();
            let found = read(&argv, "ers", "adinNptu");
            let option = |(letter, value): &(char, Option<Arg>)| match value {
                Some(value) => format!("{letter}={}", value.literal().unwrap_or_default()),
                None if letter == &'a' => format!("{letter}="),
                None => letter.to_string(),
            };
            let seen: Vec<String> = found.options.iter().map(option).collect();
            let rest: Vec<&str> = found.operands.iter().filter_map(Arg::literal).collect();
            assert_eq!(
                (seen.join(" ").as_str(), rest.join(" ").as_str(), found.is_known),
                (options, operands, is_known),
                "{line}"
            );
        }
    }
}
