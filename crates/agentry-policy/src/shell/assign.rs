//! Tracks the variables that a line sets.

use agentry_commands::variables::is_special;

use super::analyser::ShellAnalyser;
use super::call::ShellCall;
use super::expand::tidy;
use super::flow::ShellFlow;
use super::state::{ShellState, VariableValue};
use super::{PartEffect, VariableScope};
use crate::argv::{ShellArg, ShellWord, WordPiece};

impl ShellAnalyser<'_> {
    /// Handles `NAME=value`, before a command or alone.
    pub(super) fn assignment(
        &mut self,
        raw: &str,
        text: &str,
        scope: VariableScope,
        state: &mut ShellState,
    ) {
        let Some((name, value)) = split(raw) else {
            self.unclear(text, "an assignment that is not understood", state);
            self.expand(text, state, |words| words.value(raw));
            return;
        };
        let is_array = value.starts_with('(');
        if is_array && value.contains('[') {
            self.unclear(text, "an array subscript can run commands", state);
        }
        let word = self.expand(text, state, |words| words.value(value));
        // `x+=y` and `x[1]=y` change only a part, so the value is unknown.
        let is_whole = !is_array && is_name(raw.split('=').next().unwrap_or_default());
        let word = if is_whole { word } else { ShellWord::any() };
        self.set(text, name, word, scope, state);
    }

    /// Sets a variable by other means than an assignment.
    pub(super) fn store(
        &mut self,
        text: &str,
        name: &str,
        value: VariableValue,
        state: &mut ShellState,
    ) {
        self.named(name, text, state);
        self.keep(text, name, value, state);
    }

    /// Updates the known value of a variable.
    fn keep(&mut self, text: &str, name: &str, value: VariableValue, state: &mut ShellState) {
        if is_special(name) {
            let why = format!("`{name}` changes how the rest of the line is read");
            self.unclear(text, &why, state);
        }
        state.set(name, value);
    }

    /// Sets a variable, and adds that as a part.
    pub(super) fn set(
        &mut self,
        text: &str,
        name: &str,
        value: ShellWord,
        scope: VariableScope,
        state: &mut ShellState,
    ) {
        match scope {
            // Builtins see the value too, and some shells keep it after the command.
            VariableScope::Command => state.set(name, VariableValue::Unknown),
            VariableScope::Shell | VariableScope::Exported => {
                self.keep(text, name, known(&value), state);
            }
        }
        let name = name.to_owned();
        self.push(text, PartEffect::Set { name, value, scope }, state);
    }

    /// Handles `export`, `declare` and similar builtins.
    pub(super) fn declaration(
        &mut self,
        name: &str,
        call: &ShellCall<'_>,
        mut state: ShellState,
    ) -> ShellFlow {
        let mut exports = name == "export";
        if name == "readonly" {
            self.unclear(call.text, "later assignments may fail", &state);
        }
        let mut operands = call.argv.iter().skip(1);
        let mut count = 0;
        for argument in operands.by_ref() {
            match argument.literal() {
                Some("--") => {}
                Some(option) if option.starts_with(['-', '+']) => {
                    exports |= option.starts_with('-') && option.contains('x');
                    let letters = option.trim_start_matches(['-', '+']);
                    // Other letters make the variable an integer, a reference or read-only.
                    if !letters.chars().all(|c| "xgaAtp".contains(c)) {
                        self.unclear(call.text, "an option that changes what a name means", &state);
                    }
                }
                _ => {
                    count += 1;
                    let scope =
                        if exports { VariableScope::Exported } else { VariableScope::Shell };
                    self.declared(argument, call.text, scope, &mut state);
                    if name == "local" {
                        // Outside a function `local` fails, so the old values may remain.
                        state.forget_all();
                    }
                }
            }
        }
        if count == 0 {
            self.command(call.text, call.argv.clone(), &state);
        }
        ShellFlow::both(state)
    }

    fn declared(
        &mut self,
        argument: &ShellArg,
        text: &str,
        scope: VariableScope,
        state: &mut ShellState,
    ) {
        let ShellArg::One(ShellWord { pieces }) = argument else {
            return self.unclear(text, "the name of a variable is not literal", state);
        };
        let Some((WordPiece::Text(first), rest)) = pieces.split_first() else {
            return self.unclear(text, "the name of a variable is not literal", state);
        };
        let (name, value) = match first.split_once('=') {
            Some((name, start)) => {
                let mut pieces = vec![WordPiece::Text(start.to_owned())];
                pieces.extend_from_slice(rest);
                (name.trim_end_matches('+'), tidy(pieces))
            }
            None if rest.is_empty() => (first.as_str(), current(first, state)),
            None => return self.unclear(text, "the name of a variable is not literal", state),
        };
        if !is_name(name) {
            return self.unclear(text, "a subscript can run commands", state);
        }
        let is_array = value
            .pieces
            .first()
            .is_some_and(|piece| matches!(piece, WordPiece::Text(text) if text.starts_with('(')));
        if is_array && first.contains('[') {
            self.unclear(text, "an array subscript can run commands", state);
        }
        let value = if is_array || first.contains("+=") { ShellWord::any() } else { value };
        self.set(text, name, value, scope, state);
    }
}

/// Returns the current value of a variable.
fn current(name: &str, state: &ShellState) -> ShellWord {
    match state.variable(name) {
        Some(VariableValue::Text(text)) => ShellWord::text(text.clone()),
        Some(VariableValue::Number) => ShellWord { pieces: vec![WordPiece::Number] },
        Some(VariableValue::Name(word)) => word.clone(),
        Some(VariableValue::Unknown) | None => ShellWord::any(),
    }
}

/// Returns what is known about a variable with this value.
fn known(word: &ShellWord) -> VariableValue {
    match (word.literal(), word.pieces.as_slice()) {
        (Some(text), _) => VariableValue::Text(text.to_owned()),
        (None, [WordPiece::Number]) => VariableValue::Number,
        (None, _) if !word.pieces.contains(&WordPiece::Any) => VariableValue::Name(word.clone()),
        (None, _) => VariableValue::Unknown,
    }
}

/// Splits a raw assignment; a subscript must be a plain number.
fn split(raw: &str) -> Option<(&str, &str)> {
    let (name, value) = raw.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = match name.split_once('[') {
        Some((name, index)) => {
            let index = index.strip_suffix(']')?;
            let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then_some(name)?
        }
        None => name,
    };
    is_name(name).then_some((name, value))
}

/// Whether `text` may be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let is_first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    is_first && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
