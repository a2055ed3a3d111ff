//! Follows wrappers, the commands that run another command; their rows define where it is in the arguments.

mod options;
mod search;

use agentry_commands::{
    InnerForm, InnerSyntax, ProgramFacts, WrapperOption, WrapperReach, WrapperRow, program,
};
use options::{WrappedCommand, WrapperOptions};

use super::analyser::{ShellAnalyser, role};
use super::call::{CommandLookup, ShellCall};
use super::state::ShellState;
use super::{CommandRole, CurrentDirs, PartEffect, ShellCommand, VariableScope};
use crate::argv::{ShellArg, ShellWord, WordPiece};

impl ShellAnalyser<'_> {
    /// Follows a wrapper; returns whether the call needs no part of its own.
    pub(super) fn wrapped(&mut self, base: &str, call: &ShellCall<'_>, state: &ShellState) -> bool {
        let Some(facts) = program(base) else { return false };
        match facts.syntax {
            Some(InnerSyntax::Find) => self.find(call, state),
            Some(InnerSyntax::Fd) => self.fd(call, state),
            Some(InnerSyntax::Input) => {
                self.unclear(call.text, "it reads the commands that it runs", state);
                false
            }
            Some(InnerSyntax::Later) => self.at(call, state),
            Some(InnerSyntax::Table) => {
                if call.argv.get(1).and_then(ShellArg::literal).is_none_or(|word| word == "-") {
                    self.unclear(call.text, "it reads commands to run later", state);
                }
                false
            }
            Some(InnerSyntax::Git) | None => match row_of(facts, &call.argv) {
                Some((entry, at)) => self.follow(entry, at, call, state),
                None => false,
            },
        }
    }

    /// Follows the wrapper `entry`, whose options start at `at`.
    fn follow(
        &mut self,
        entry: &WrapperRow,
        at: usize,
        call: &ShellCall<'_>,
        state: &ShellState,
    ) -> bool {
        let found = WrapperOptions { entry, argv: &call.argv }.read(at);
        for why in &found.unclear {
            self.unclear(call.text, why, state);
        }
        let is_done = self.followed(entry, &found, call, state.clone());
        // With unknown options the command may start elsewhere, so all candidates are added too.
        if !found.unclear.is_empty() {
            self.guess(call.argv.get(at..).unwrap_or_default(), entry.operands, call, state);
        }
        is_done
    }

    fn followed(
        &mut self,
        entry: &WrapperRow,
        found: &WrappedCommand,
        call: &ShellCall<'_>,
        mut state: ShellState,
    ) -> bool {
        let has = |wanted| found.extras.iter().any(|(extra, _)| *extra == wanted);
        let texts: Vec<&ShellArg> = found.of(WrapperOption::Text).collect();
        let nothing = texts.is_empty() && found.split.is_none();
        let is_bare = found.inner_at >= call.argv.len() && nothing && !has(WrapperOption::Entry);
        if is_bare || has(WrapperOption::Nothing) {
            self.without_command(entry, found, call, &state);
            return false;
        }
        if entry.reach == WrapperReach::Same {
            self.stands_around(call);
        } else {
            state.behind = Some(self.outer(Some(found.inner_at), call, &state));
            if entry.reach == WrapperReach::Place {
                state.bases = CurrentDirs::Unknown;
            }
        }
        self.extras(found, call, &mut state);
        for text in &texts {
            self.text_of(text, call, &state);
        }
        if texts.is_empty() {
            self.inner(entry, found, call, &state);
        }
        true
    }

    /// Adds the part of a wrapper that needs its own rule, and returns its index.
    pub(super) fn outer(
        &mut self,
        at: Option<usize>,
        call: &ShellCall<'_>,
        state: &ShellState,
    ) -> usize {
        let command = ShellCommand {
            argv: call.argv.clone(),
            inner_at: at.map(|at| at.min(call.argv.len())),
            behind: state.behind,
            role: role(state, CommandRole::Own),
        };
        self.push(call.text, PartEffect::Command(command), state)
    }

    /// Handles a wrapper without a command.
    fn without_command(
        &mut self,
        entry: &WrapperRow,
        found: &WrappedCommand,
        call: &ShellCall<'_>,
        state: &ShellState,
    ) {
        let starts_shell = found.extras.iter().any(|(extra, _)| *extra == WrapperOption::Shell)
            || entry.starts_shell;
        if starts_shell || entry.inner == InnerForm::Template {
            self.unclear(call.text, "it reads the commands that it runs", state);
        }
        let mut state = state.clone();
        self.extras(found, call, &mut state);
    }

    /// Adds the additional effects of the options.
    fn extras(&mut self, found: &WrappedCommand, call: &ShellCall<'_>, state: &mut ShellState) {
        for (name, value) in &found.assignments {
            let (name, value) = (name.clone(), value.clone());
            self.push(
                call.text,
                PartEffect::Set { name, value, scope: VariableScope::Command },
                state,
            );
        }
        for (extra, value) in &found.extras {
            let Some(ShellArg::One(word)) = value else { continue };
            match extra {
                WrapperOption::Read => {
                    self.push(call.text, PartEffect::Read(word.clone()), state);
                }
                WrapperOption::Write if runs(word) => {
                    self.unclear(call.text, "the output may go to a command", state);
                }
                WrapperOption::Write => {
                    self.push(call.text, PartEffect::Write(word.clone()), state);
                }
                WrapperOption::Enter => {
                    self.push(call.text, PartEffect::Enter(word.clone()), state);
                    state.bases = match word.literal() {
                        Some(path) => state.bases.enter(path),
                        None => CurrentDirs::Unknown,
                    };
                }
                _ => {}
            }
        }
    }

    /// Analyses a text that is given to a shell.
    pub(super) fn text_of(&mut self, text: &ShellArg, call: &ShellCall<'_>, state: &ShellState) {
        match text.literal() {
            Some(text) => {
                self.text(text, state.of_posix_child());
            }
            None => self.unclear(call.text, "the text that a shell runs is not literal", state),
        }
    }

    fn inner(
        &mut self,
        entry: &WrapperRow,
        found: &WrappedCommand,
        call: &ShellCall<'_>,
        state: &ShellState,
    ) {
        let words = call.argv.get(found.inner_at..).unwrap_or_default();
        let exact = found.extras.iter().any(|(extra, _)| *extra == WrapperOption::Exact);
        let argv = match entry.inner {
            InnerForm::Text if !exact => return self.joined(words, call, state),
            InnerForm::Option => {
                return self.unclear(call.text, "an operand is not understood", state);
            }
            InnerForm::Fed => fed(words, found, state.input.as_deref(), is_exact(call, found)),
            InnerForm::Template => return self.template(words, call, state),
            InnerForm::Words | InnerForm::Text => {
                let mut argv: Vec<ShellArg> = match &found.split {
                    // The split text may contain options of the wrapper, so everything is parsed again.
                    Some(split) => call.argv.iter().take(1).chain(split).cloned().collect(),
                    None => found.of(WrapperOption::Entry).last().cloned().into_iter().collect(),
                };
                argv.extend_from_slice(words);
                argv
            }
        };
        self.call(call.with(argv, CommandLookup::Program), state.clone());
    }

    /// Analyses words that a shell gets as one text.
    fn joined(&mut self, words: &[ShellArg], call: &ShellCall<'_>, state: &ShellState) {
        match crate::argv::literal(words) {
            Some(words) => {
                self.text(&words.join(" "), state.of_posix_child());
            }
            None => self.unclear(call.text, "the text that a shell runs is not literal", state),
        }
    }

    /// Analyses `parallel`, which inserts its quoted arguments into a text for a shell.
    fn template(&mut self, words: &[ShellArg], call: &ShellCall<'_>, state: &ShellState) {
        let is_separator =
            |word: &ShellArg| word.literal().is_some_and(|text| text.starts_with(":::"));
        let end = words.iter().position(is_separator).unwrap_or(words.len());
        let (words, _) = words.split_at(end);
        let is_word = |text: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./={}:,+@%".contains(&byte);
            text.bytes().all(plain)
        };
        let is_plain = |word: &ShellArg| word.literal().is_some_and(is_word);
        if words.is_empty() || !words.iter().all(is_plain) {
            self.unclear(call.text, "a template that a shell runs", state);
            return self.joined(words, call, state);
        }
        let braces = |word: &ShellArg| word.literal().is_some_and(|text| text.contains('{'));
        let mut argv: Vec<ShellArg> = words
            .iter()
            .map(|word| if braces(word) { ShellArg::One(ShellWord::any()) } else { word.clone() })
            .collect();
        argv.push(ShellArg::Many(ShellWord::any()));
        self.call(call.with(argv, CommandLookup::Program), state.clone());
    }

    /// Analyses `at` and `batch`, which run their input later.
    fn at(&mut self, call: &ShellCall<'_>, state: &ShellState) -> bool {
        let index = self.command(call.text, call.argv.clone(), state);
        let mut later = state.of_posix_child();
        later.behind = Some(index);
        self.program_input(call, &later);
        true
    }
}

/// Returns the row of a wrapper, and where its options start: after the subcommand, if it has one.
fn row_of<'f>(facts: &'f ProgramFacts, argv: &[ShellArg]) -> Option<(&'f WrapperRow, usize)> {
    // An option before the subcommand may have a value, so a few words are tried; the outer rule still
    // applies.
    const MAX_WORDS: usize = 9;
    let words = argv.iter().enumerate().skip(1).take(MAX_WORDS);
    for (at, word) in words {
        let Some(word) = word.literal() else { continue };
        if let Some(entry) = facts.wrappers.iter().find(|row| row.subcommands.has(word)) {
            return Some((entry, at + 1));
        }
    }
    facts.wrappers.iter().find(|row| row.subcommands.is_empty()).map(|row| (row, 1))
}

/// Whether `xargs` takes each name as it is, without splitting it at blanks.
fn is_exact(call: &ShellCall<'_>, found: &WrappedCommand) -> bool {
    let options = call.argv.get(1..found.inner_at).unwrap_or_default();
    let words: Vec<&str> = options.iter().filter_map(ShellArg::literal).collect();
    // Another delimiter would cut a name into pieces.
    let by_line = words.windows(2).any(|pair| matches!(pair, ["-d", r"\n" | "\n"]));
    let has_delimiter = words.iter().any(|word| word.starts_with("-d") || word.starts_with("--d"));
    let by_null = words.iter().any(|word| matches!(*word, "-0" | "--null" | "-r0" | "-0r"));
    by_line || (by_null && !has_delimiter)
}

/// Returns the command of `xargs` with its input: the names in `input`, or any words.
fn fed(
    words: &[ShellArg],
    found: &WrappedCommand,
    input: Option<&[ShellWord]>,
    is_exact: bool,
) -> Vec<ShellArg> {
    let mut argv = words.to_vec();
    let replaced: Vec<&str> =
        found.of(WrapperOption::Replace).filter_map(ShellArg::literal).collect();
    let names: Vec<ShellArg> = match input {
        Some(words) => words.iter().map(|word| listed(word, is_exact)).collect(),
        None => vec![ShellArg::Many(ShellWord::any())],
    };
    if replaced.is_empty() {
        argv.extend(names);
        return argv;
    }
    for mark in replaced.iter().filter(|mark| !mark.is_empty()) {
        argv = with_names(argv, mark, &names);
    }
    argv
}

fn listed(word: &ShellWord, is_exact: bool) -> ShellArg {
    let mut word = word.clone();
    if !is_exact {
        word.pieces.push(WordPiece::Loose);
    }
    ShellArg::Many(word)
}

/// Replaces an argument that is exactly `mark` by the names, and `mark` inside another one by any text.
pub(super) fn with_names(argv: Vec<ShellArg>, mark: &str, names: &[ShellArg]) -> Vec<ShellArg> {
    let mut replaced = Vec::with_capacity(argv.len());
    for mut argument in argv {
        if argument.literal() == Some(mark) {
            replaced.extend_from_slice(names);
        } else {
            replace(&mut argument, mark);
            replaced.push(argument);
        }
    }
    replaced
}

/// Replaces `mark` in a word by any text.
pub(super) fn replace(argument: &mut ShellArg, mark: &str) {
    let (ShellArg::One(word) | ShellArg::Some(word) | ShellArg::Many(word)) = argument;
    let has_mark =
        |piece: &WordPiece| matches!(piece, WordPiece::Text(text) if text.contains(mark));
    if !word.pieces.iter().any(has_mark) {
        return;
    }
    let mut pieces = Vec::new();
    for piece in word.pieces.drain(..) {
        match piece {
            WordPiece::Text(text) => {
                for (index, part) in text.split(mark).enumerate() {
                    if index > 0 {
                        pieces.push(WordPiece::Any);
                    }
                    pieces.push(WordPiece::Text(part.to_owned()));
                }
            }
            piece => pieces.push(piece),
        }
    }
    *word = super::expand::tidy(pieces);
}

/// Whether an output file is actually a command: `strace -o '|cmd'`.
fn runs(word: &ShellWord) -> bool {
    match word.pieces.first() {
        Some(WordPiece::Text(text)) => text.starts_with(['|', '!']),
        Some(_) => true,
        None => false,
    }
}
