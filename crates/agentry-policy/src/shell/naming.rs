//! Variables that builtins set by name: `read PATH`, `printf -v PATH`, `wait -p PATH`.

use agentry_commands::variables::{VariableEffect, setting};

use super::PartEffect;
use super::analyser::ShellAnalyser;
use super::assign::is_name;
use super::call::ShellCall;
use super::flow::ShellFlow;
use super::getopt::{self, is_certainly_operand};
use super::raw_command::RawCommand;
use super::state::{ShellState, VariableValue};
use crate::argv::{ShellArg, ShellWord, WordPiece};
use crate::shell::VariableScope;

impl ShellAnalyser<'_> {
    /// Analyses `read`, `mapfile` and similar builtins, after which their variables are unknown.
    pub(super) fn names(
        &mut self,
        name: &str,
        call: &ShellCall<'_>,
        mut state: ShellState,
    ) -> ShellFlow {
        let (flags, valued, array) = match name {
            "read" => ("ers", "adinNptu", 'a'),
            "mapfile" | "readarray" => ("t", "dnOsucC", ' '),
            "wait" => ("fn", "p", 'p'),
            "unset" => ("fvn", "", ' '),
            _ => ("", "", ' '),
        };
        let found = getopt::read(&call.argv, flags, valued);
        let operands = match name {
            "wait" => &[],
            "getopts" => found.operands.get(1..2).unwrap_or_default(),
            "mapfile" | "readarray" => found.operands.get(..1).unwrap_or(found.operands),
            _ => found.operands,
        };
        let mut is_harmless = found.is_known && !found.has('C');
        let read = line_of_input(name, &found, operands, &state);
        for word in found.of(array).chain(operands) {
            match word.literal() {
                Some(text) if name == "unset" => self.undefined(text, found.has('v')),
                _ => {}
            }
            match word.literal().filter(|text| is_name(text)) {
                Some(text) => self.store(call.text, text, read.clone(), &mut state),
                None if name == "unset" && found.has('f') => {}
                None => is_harmless = false,
            }
        }
        for own in ["REPLY", "MAPFILE", "OPTARG", "OPTIND"] {
            if state.variable(own).is_some() {
                state.set(own, VariableValue::Unknown);
            }
        }
        for text in found.of('C') {
            self.text_of(text, call, &state);
        }
        if is_harmless {
            return self.harmless(call, state);
        }
        // If the options are unknown, any word may be the name of a variable.
        for word in call.argv.iter().skip(1).filter_map(ShellArg::literal) {
            let starts = word.char_indices().map(|(at, _)| word.get(at..).unwrap_or_default());
            starts.take(16).for_each(|name| self.named(name, call.text, &state));
        }
        self.opaque_builtin(call, state)
    }

    pub(super) fn printf(&mut self, call: &ShellCall<'_>, mut state: ShellState) -> ShellFlow {
        let found = getopt::read(&call.argv, "", "v");
        let is_text = match found.operands.split_first() {
            Some((format, values)) => match format.literal() {
                Some(format) => !counts(format),
                // It may become `-v`, or contain `%n`, which sets the variables named by its values.
                None => values.is_empty() && is_certainly_operand(format),
            },
            None => true,
        };
        if !found.is_known || !is_text {
            for word in found.operands.iter().filter_map(ShellArg::literal) {
                self.named(word, call.text, &state);
            }
            return self.opaque_builtin(call, state);
        }
        if found.options.is_empty() {
            self.command(call.text, call.argv.clone(), &state);
            return ShellFlow::both(state);
        }
        for name in found.of('v') {
            match name.literal().filter(|name| is_name(name)) {
                Some(name) => self.store(call.text, name, VariableValue::Unknown, &mut state),
                None => {
                    self.named(name.literal().unwrap_or_default(), call.text, &state);
                    return self.opaque_builtin(call, state);
                }
            }
        }
        self.harmless(call, state)
    }

    /// Adds that a variable is set to an unknown value, if that changes what runs.
    pub(super) fn named(&mut self, name: &str, text: &str, state: &ShellState) {
        let name = name.split('[').next().unwrap_or_default();
        if is_name(name) && setting(name) == VariableEffect::Dangerous {
            let (name, value) = (name.to_owned(), ShellWord::any());
            self.push(text, PartEffect::Set { name, value, scope: VariableScope::Shell }, state);
        }
    }

    /// Reports `{name}> file`, which sets `name` unless there is a space; that is no longer known here.
    pub(super) fn named_descriptors(
        &mut self,
        simple: &RawCommand,
        text: &str,
        state: &ShellState,
    ) {
        let name = |word: &String| {
            let name = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            name.is_some_and(is_name)
        };
        let at = simple.words.iter().position(|word| word.as_ref().is_some_and(name));
        let Some(at) = at.filter(|_| !simple.redirects.is_empty()) else { return };
        self.unclear(text, "a redirection that may set a variable", state);
        if at == 0 && simple.words.len() > 1 {
            // The command may be the next word.
            let words = simple.words.get(1..).unwrap_or_default().to_vec();
            let rest = RawCommand { words, ..simple.clone() };
            self.simple(&rest, state.clone());
        }
    }
}

/// Returns the value of the only variable of `read`, which is one line of the input.
fn line_of_input(
    name: &str,
    found: &getopt::GetoptArguments<'_>,
    operands: &[ShellArg],
    state: &ShellState,
) -> VariableValue {
    // With another delimiter, a name would be cut into pieces.
    let is_whole = found.options.iter().all(|(letter, value)| match letter {
        'r' => true,
        'd' => value.as_ref().and_then(ShellArg::literal) == Some(""),
        _ => false,
    });
    let is_line = name == "read" && operands.len() == 1 && is_whole;
    match state.input.as_deref() {
        // Of a directory and everything below it, the second set is the larger one.
        Some([word] | [_, word]) if is_line && !word.is_open() => {
            let mut word = word.clone();
            // Without `-r`, backslashes in a name are removed.
            if !found.has('r') {
                word.pieces.push(WordPiece::Loose);
            }
            VariableValue::Name(word)
        }
        _ => VariableValue::Unknown,
    }
}

/// Whether a format contains `%n`, which sets the variable that its value names.
fn counts(format: &str) -> bool {
    let is_modifier = |c: char| c.is_ascii_digit() || "-+ #0'*.hlLjzt".contains(c);
    format
        .replace("%%", "")
        .split('%')
        .skip(1)
        .any(|rest| rest.trim_start_matches(is_modifier).starts_with('n'))
}
