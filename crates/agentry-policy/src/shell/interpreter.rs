//! Analyses shells that a line starts; their program is part of the line if it is literal.

use agentry_commands::{ShellKind, program as program_facts};

use super::analyser::ShellAnalyser;
use super::builtin::SET_NAMES;
use super::call::ShellCall;
use super::flow::ShellFlow;
use super::raw_command::RedirectKind;
use super::state::ShellState;
use crate::argv::ShellArg;

/// The program that a shell runs.
enum InterpreterProgram<'a> {
    /// The text after `-c`.
    Text(&'a ShellArg),
    /// A file.
    File(&'a ShellArg),
    /// Standard input.
    Input,
    /// No program: `--version`.
    Nothing,
    /// Unknown, for this reason.
    Unclear(&'static str),
}

impl ShellAnalyser<'_> {
    /// Analyses a call of a shell.
    pub(super) fn shell(
        &mut self,
        kind: ShellKind,
        call: &ShellCall<'_>,
        state: ShellState,
    ) -> ShellFlow {
        if kind == ShellKind::Own {
            self.unclear(call.text, "a shell that reads lines in its own way", &state);
        }
        match program(&call.argv) {
            InterpreterProgram::Text(text) => {
                self.stands_around(call);
                self.program_text(text, call, &state);
            }
            InterpreterProgram::File(file) => self.program_file(file, call, &state),
            InterpreterProgram::Input => {
                self.stands_around(call);
                self.program_input(call, &state);
            }
            InterpreterProgram::Nothing => {
                self.command(call.text, call.argv.clone(), &state);
            }
            InterpreterProgram::Unclear(why) => {
                self.unclear(call.text, why, &state);
                self.guess(call.argv.get(1..).unwrap_or_default(), 0, call, &state);
            }
        }
        ShellFlow::both(state)
    }

    fn program_text(&mut self, text: &ShellArg, call: &ShellCall<'_>, state: &ShellState) {
        match text.literal() {
            Some(text) => {
                self.text(text, started(call, state));
            }
            None => self.unclear(call.text, "the program of the shell is not literal", state),
        }
    }

    fn program_file(&mut self, file: &ShellArg, call: &ShellCall<'_>, state: &ShellState) {
        match file.literal() {
            // `/dev/stdin` and `/proc/self/fd/0` are input, not a fixed file.
            Some(file) if !file.starts_with("/dev/") && !file.starts_with("/proc/") => {
                let index = self.command(call.text, call.argv.clone(), state);
                self.scripts.push((file.to_owned(), index));
            }
            _ => self.unclear(call.text, "the program of the shell is not literal", state),
        }
    }

    /// Analyses standard input as a program; only a literal here-document or here-string is known.
    pub(super) fn program_input(&mut self, call: &ShellCall<'_>, state: &ShellState) {
        let mut inputs = call.redirects.iter().filter(|redirect| redirect.is_input);
        // With more than one input redirection, the program is unknown.
        let program = match (inputs.next(), inputs.next()) {
            (Some(input), None) => match (input.kind, &input.target) {
                (RedirectKind::Here { expands: false }, Some(body)) => Some(body.clone()),
                (RedirectKind::Here { expands: true }, Some(body)) => {
                    self.literal(state, |words| words.text(body))
                }
                (RedirectKind::Text, Some(raw)) => self.literal(state, |words| words.value(raw)),
                _ => None,
            },
            _ => None,
        };
        match program {
            Some(program) => {
                self.text(&program, started(call, state));
            }
            None => self.unclear(call.text, "a shell that reads its program", state),
        }
    }
}

/// Returns the base name of the command.
fn name<'a>(call: &'a ShellCall<'_>) -> Option<&'a str> {
    call.argv.first().and_then(ShellArg::literal)?.rsplit('/').next()
}

/// Returns the initial state of the shell that is started.
fn started(call: &ShellCall<'_>, state: &ShellState) -> ShellState {
    match name(call).and_then(program_facts).and_then(|facts| facts.shell) {
        Some(ShellKind::Bash) => state.of_child(),
        _ => state.of_posix_child(),
    }
}

/// Finds the program among the arguments.
fn program(argv: &[ShellArg]) -> InterpreterProgram<'_> {
    let mut words = argv.iter().skip(1);
    let mut has_text = false;
    while let Some(word) = words.next() {
        let Some(option) = word.literal() else {
            let is_text = has_text && matches!(word, ShellArg::One(_));
            return if is_text {
                InterpreterProgram::Text(word)
            } else {
                InterpreterProgram::File(word)
            };
        };
        match option {
            "--version" | "--help" => return InterpreterProgram::Nothing,
            "--login" | "--norc" | "--noprofile" | "--posix" | "--restricted" | "--verbose" => {}
            "--" | "-" => return operand(words.next(), has_text),
            option if option.starts_with("--") => {
                return InterpreterProgram::Unclear("an option of the shell");
            }
            option if option.len() > 1 && option.starts_with(['-', '+']) => {
                let letters = option.get(1..).unwrap_or_default();
                if !letters.chars().all(|c| "bcefhlmnopruvxBCEHPTs".contains(c)) {
                    return InterpreterProgram::Unclear("an option of the shell");
                }
                // `+c` also enables `-c`.
                has_text |= letters.contains('c');
                // `-s` reads the program from standard input.
                if letters.contains('s') {
                    return InterpreterProgram::Input;
                }
                // `-o` takes the next word as its value.
                let name = letters.contains('o').then(|| words.next().and_then(ShellArg::literal));
                if name.is_some_and(|name| !name.is_some_and(|name| SET_NAMES.contains(&name))) {
                    return InterpreterProgram::Unclear("an option of the shell");
                }
            }
            _ => return operand(Some(word), has_text),
        }
    }
    operand(None, has_text)
}

fn operand(word: Option<&ShellArg>, has_text: bool) -> InterpreterProgram<'_> {
    match (word, has_text) {
        (Some(text), true) => InterpreterProgram::Text(text),
        (Some(file), false) => InterpreterProgram::File(file),
        (None, true) => InterpreterProgram::Unclear("`-c` without a text"),
        (None, false) => InterpreterProgram::Input,
    }
}
