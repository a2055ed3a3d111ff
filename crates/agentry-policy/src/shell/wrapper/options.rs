//! Parses the options of a wrapper, up to the command that it runs.

use agentry_commands::{TextPlace, WrapperOption, WrapperRow};

use crate::argv::{ShellArg, ShellWord, WordPiece};
use crate::shell::assign::is_name;
use crate::shell::expand::tidy;

/// A wrapper and its arguments.
pub(super) struct WrapperOptions<'a> {
    pub(super) entry: &'a WrapperRow,
    pub(super) argv: &'a [ShellArg],
}

/// The result of parsing the options of a wrapper.
#[derive(Debug, Default)]
pub(super) struct WrappedCommand {
    /// The index at which the command starts.
    pub(super) inner_at: usize,
    /// Words that replace an option: `env -S`.
    pub(super) split: Option<Vec<ShellArg>>,
    /// Options with an effect, and their values.
    pub(super) extras: Vec<(WrapperOption, Option<ShellArg>)>,
    /// Variables that are set.
    pub(super) assignments: Vec<(String, ShellWord)>,
    /// Reasons why something was not understood.
    pub(super) unclear: Vec<String>,
}

impl WrappedCommand {
    /// Returns the values of the options with one effect.
    pub(super) fn of(&self, wanted: WrapperOption) -> impl Iterator<Item = &ShellArg> {
        let rows = self.extras.iter().filter(move |(extra, _)| *extra == wanted);
        rows.filter_map(|(_, value)| value.as_ref())
    }
}

impl WrapperOptions<'_> {
    /// Parses the arguments from `at` on.
    pub(super) fn read(&self, mut at: usize) -> WrappedCommand {
        let mut found = WrappedCommand::default();
        let mut operands = self.entry.operands;
        while let Some(argument) = self.argv.get(at) {
            let literal = argument.literal();
            if let Some("--") = literal {
                at = self.behind_options(at + 1, operands, &mut found);
                break;
            }
            if let Some(after) = self.assigned(at, &mut found) {
                at = after;
                continue;
            }
            match literal {
                Some(option) if option.len() > 1 && option.starts_with('-') => {
                    at = self.option(option, at, &mut found);
                    if found.split.is_some() {
                        break;
                    }
                }
                Some("-") if self.entry.flags.has("-") => at += 1,
                Some(_) if operands > 0 => {
                    operands -= 1;
                    at += 1;
                }
                Some(_) => break,
                None if operands > 0 && is_certainly_operand(argument) => {
                    operands -= 1;
                    at += 1;
                }
                None => {
                    found.unclear.push("an argument of it is not literal".to_owned());
                    break;
                }
            }
        }
        self.trailing(&mut at, &mut found);
        found.inner_at = at;
        found
    }

    /// Parses the arguments after `--`, and returns where the command starts.
    fn behind_options(&self, mut at: usize, operands: usize, found: &mut WrappedCommand) -> usize {
        while let Some(after) = self.assigned(at, found) {
            at = after;
        }
        // In `kubectl exec pod -- command` the operands come before the dashes.
        if self.entry.operands_first { at } else { at + operands }
    }

    /// Handles a variable assignment with any name, and returns the index after it.
    fn assigned(&self, at: usize, found: &mut WrappedCommand) -> Option<usize> {
        let argument = self.argv.get(at).filter(|_| self.entry.assigns)?;
        if let Some(assignment) = assignment(argument) {
            found.assignments.push(assignment);
            return Some(at + 1);
        }
        let is_odd = |word: &str| word.contains('=') && !word.starts_with('-');
        argument.literal().filter(|word| is_odd(word))?;
        found.unclear.push("it sets a variable with an odd name".to_owned());
        Some(at + 1)
    }

    /// Handles options after operands: `su user -c text`, `flock file -c text`, `script file -c text`.
    fn trailing(&self, at: &mut usize, found: &mut WrappedCommand) {
        let takes_text = |word: &ShellArg| {
            word.literal().is_some_and(|text| self.entry.effect(text) == Some(WrapperOption::Text))
        };
        let rest = self.argv.get(*at..).unwrap_or_default();
        let is_behind = match self.entry.text_place {
            TextPlace::Behind => !rest.is_empty(),
            TextPlace::BehindUser => {
                !found.extras.iter().any(|(extra, _)| *extra == WrapperOption::Exact)
            }
            TextPlace::Front => false,
        };
        if let Some(index) = rest.iter().position(takes_text)
            && (is_behind || index == 0)
        {
            found.extras.push((WrapperOption::Text, rest.get(index + 1).cloned()));
            if rest.get(index + 1).is_none() {
                found.unclear.push("an option without a value".to_owned());
            }
            *at = self.argv.len();
        } else if is_behind && found.of(WrapperOption::Text).next().is_some() {
            *at = self.argv.len();
        } else if is_behind && rest.len() == 1 {
            // Only the user is given, so a shell is started.
            *at = self.argv.len();
        }
    }

    /// Handles one option or a cluster, and returns the index after it and its value.
    fn option(&self, option: &str, at: usize, found: &mut WrappedCommand) -> usize {
        let entry = self.entry;
        if option.starts_with("--") {
            return self.long(option, at, found);
        }
        if entry.flags.has(option) {
            self.took(option, None, found);
            return at + 1;
        }
        let letters = option.get(1..).unwrap_or_default();
        // A number as an option, such as `nice -10`.
        if entry.flags.has("-#") && letters.bytes().all(|byte| byte.is_ascii_digit()) {
            return at + 1;
        }
        for (index, letter) in letters.char_indices() {
            let short = format!("-{letter}");
            let rest = letters.get(index + letter.len_utf8()..).unwrap_or_default();
            if entry.valued.has(&short) {
                let value = match rest {
                    "" => self.argv.get(at + 1).cloned(),
                    rest => Some(ShellArg::text(rest)),
                };
                self.took(&short, value, found);
                return at + 1 + usize::from(rest.is_empty());
            }
            if !entry.flags.has(&short) {
                found.unclear.push(format!("the option `{option}` is not known"));
                return at + 1;
            }
            self.took(&short, None, found);
        }
        at + 1
    }

    fn long(&self, option: &str, at: usize, found: &mut WrappedCommand) -> usize {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(ShellArg::text(value))),
            None => (option, None),
        };
        let name = self.spelled_out(name, found).unwrap_or(name);
        if self.entry.valued.has(name) {
            let is_apart = value.is_none();
            let value = value.or_else(|| self.argv.get(at + 1).cloned());
            self.took(name, value, found);
            return at + 1 + usize::from(is_apart);
        }
        if self.entry.flags.has(name) {
            self.took(name, value, found);
        } else {
            found.unclear.push(format!("the option `{name}` is not known"));
        }
        at + 1
    }

    /// Returns the option that an abbreviation stands for, if it is unambiguous.
    fn spelled_out(&self, name: &str, found: &mut WrappedCommand) -> Option<&str> {
        let WrapperRow { valued, flags, .. } = self.entry;
        if valued.has(name) || flags.has(name) {
            return None;
        }
        let options = valued.iter().chain(flags.iter());
        let mut longer = options.filter(|option| option.starts_with(name));
        let option = longer.next().filter(|_| longer.next().is_none())?;
        found.unclear.push(format!("the option `{name}` is abbreviated"));
        Some(option)
    }

    fn took(&self, option: &str, value: Option<ShellArg>, found: &mut WrappedCommand) {
        if matches!(value, Some(ShellArg::Some(_) | ShellArg::Many(_))) {
            found.unclear.push("it is not known where the value of an option ends".to_owned());
        }
        let Some(extra) = self.entry.effect(option) else { return };
        if extra == WrapperOption::Split {
            match value.as_ref().and_then(ShellArg::literal).and_then(split) {
                Some(words) => found.split = Some(words),
                None => found.unclear.push("a text that it splits is not plain".to_owned()),
            }
            return;
        }
        let needs_value = !matches!(
            extra,
            WrapperOption::Nothing
                | WrapperOption::Shell
                | WrapperOption::Exact
                | WrapperOption::Replace
        );
        if needs_value && !matches!(value, Some(ShellArg::One(_))) {
            found.unclear.push("the value of an option is not literal".to_owned());
        }
        found.extras.push((extra, value));
    }
}

/// Parses `NAME=value`.
fn assignment(argument: &ShellArg) -> Option<(String, ShellWord)> {
    let ShellArg::One(ShellWord { pieces }) = argument else { return None };
    let (WordPiece::Text(first), rest) = pieces.split_first()? else { return None };
    let (name, start) = first.split_once('=')?;
    let mut value = vec![WordPiece::Text(start.to_owned())];
    value.extend_from_slice(rest);
    is_name(name).then(|| (name.to_owned(), tidy(value)))
}

/// Whether an argument is one word and no option.
fn is_certainly_operand(argument: &ShellArg) -> bool {
    let ShellArg::One(word) = argument else { return false };
    matches!(word.pieces.first(), Some(WordPiece::Text(text)) if !text.starts_with('-'))
}

/// Splits a text into words; `None` if it contains escapes or variables.
fn split(text: &str) -> Option<Vec<ShellArg>> {
    let mut words: Vec<String> = Vec::new();
    let mut is_inside = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if matches!(c, '\\' | '$' | '#') || (c.is_ascii_control() && c != '\t') {
            return None;
        }
        if c.is_ascii_whitespace() {
            is_inside = false;
            continue;
        }
        if !is_inside {
            words.push(String::new());
            is_inside = true;
        }
        let word = words.last_mut()?;
        if !matches!(c, '\'' | '"') {
            word.push(c);
            continue;
        }
        loop {
            match chars.next()? {
                end if end == c => break,
                '\\' | '$' => return None,
                inner => word.push(inner),
            }
        }
    }
    Some(words.into_iter().map(ShellArg::text).collect())
}
