//! Shells that a line starts: the program they are given is part of the line, if it is literal.

use agentry_commands::{ShellKind, program as program_facts};

use super::analyser::Analyser;
use super::builtin::SET_NAMES;
use super::call::Call;
use super::flow::Flow;
use super::simple::Kind;
use super::state::State;
use crate::argv::Arg;

/// What a shell is asked to run.
enum Program<'a> {
    /// `-c TEXT`
    Text(&'a Arg),
    /// A file.
    File(&'a Arg),
    /// Standard input.
    Input,
    /// Nothing: `--version`.
    Nothing,
    /// Not known.
    Unclear(&'static str),
}

impl Analyser<'_> {
    /// A call of a shell.
    pub(super) fn shell(&mut self, kind: ShellKind, call: &Call<'_>, state: State) -> Flow {
        if kind == ShellKind::Own {
            self.unclear(call.text, "a shell that reads lines in its own way", &state);
        }
        match program(&call.argv) {
            Program::Text(text) => {
                self.stands_around(call);
                self.program_text(text, call, &state);
            }
            Program::File(file) => self.program_file(file, call, &state),
            Program::Input => {
                self.stands_around(call);
                self.program_input(call, &state);
            }
            Program::Nothing => {
                self.command(call.text, call.argv.clone(), &state);
            }
            Program::Unclear(why) => {
                self.unclear(call.text, why, &state);
                self.guess(call.argv.get(1..).unwrap_or_default(), 0, call, &state);
            }
        }
        Flow::both(state)
    }

    fn program_text(&mut self, text: &Arg, call: &Call<'_>, state: &State) {
        match text.literal() {
            Some(text) => {
                self.text(text, started(call, state));
            }
            None => self.unclear(call.text, "the program of the shell is not literal", state),
        }
    }

    fn program_file(&mut self, file: &Arg, call: &Call<'_>, state: &State) {
        match file.literal() {
            Some(file) if !file.starts_with("/dev/") && !file.starts_with("/proc/") => {
                let index = self.command(call.text, call.argv.clone(), state);
                self.scripts.push((file.to_owned(), index));
            }
            _ => self.unclear(call.text, "the program of the shell is not literal", state),
        }
    }

    /// Only a literal here-document or here-string is known.
    pub(super) fn program_input(&mut self, call: &Call<'_>, state: &State) {
        let mut inputs = call.redirects.iter().filter(|redirect| redirect.is_input);
        let program = match (inputs.next(), inputs.next()) {
            (Some(input), None) => match (input.kind, &input.target) {
                (Kind::Here { expands: false }, Some(body)) => Some(body.clone()),
                (Kind::Here { expands: true }, Some(body)) => {
                    self.literal(state, |words| words.text(body))
                }
                (Kind::Text, Some(raw)) => self.literal(state, |words| words.value(raw)),
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

/// The base name of the command.
fn name<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    call.argv.first().and_then(Arg::literal)?.rsplit('/').next()
}

/// What the shell that is called would know.
fn started(call: &Call<'_>, state: &State) -> State {
    match name(call).and_then(program_facts).and_then(|facts| facts.shell) {
        Some(ShellKind::Bash) => state.of_child(),
        _ => state.of_posix_child(),
    }
}

/// Finds the program among the arguments.
fn program(argv: &[Arg]) -> Program<'_> {
    let mut words = argv.iter().skip(1);
    let mut has_text = false;
    while let Some(word) = words.next() {
        let Some(option) = word.literal() else {
            let is_text = has_text && matches!(word, Arg::One(_));
            return if is_text { Program::Text(word) } else { Program::File(word) };
        };
        match option {
            "--version" | "--help" => return Program::Nothing,
            "--login" | "--norc" | "--noprofile" | "--posix" | "--restricted" | "--verbose" => {}
            "--" | "-" => return operand(words.next(), has_text),
            option if option.starts_with("--") => {
                return Program::Unclear("an option of the shell");
            }
            option if option.len() > 1 && option.starts_with(['-', '+']) => {
                let letters = option.get(1..).unwrap_or_default();
                if !letters.chars().all(|c| "bcefhlmnopruvxBCEHPTs".contains(c)) {
                    return Program::Unclear("an option of the shell");
                }
                // A `+` does not take the `c` back.
                has_text |= letters.contains('c');
                if letters.contains('s') {
                    return Program::Input;
                }
                let name = letters.contains('o').then(|| words.next().and_then(Arg::literal));
                if name.is_some_and(|name| !name.is_some_and(|name| SET_NAMES.contains(&name))) {
                    return Program::Unclear("an option of the shell");
                }
            }
            _ => return operand(Some(word), has_text),
        }
    }
    operand(None, has_text)
}

fn operand(word: Option<&Arg>, has_text: bool) -> Program<'_> {
    match (word, has_text) {
        (Some(text), true) => Program::Text(text),
        (Some(file), false) => Program::File(file),
        (None, true) => Program::Unclear("`-c` without a text"),
        (None, false) => Program::Input,
    }
}
