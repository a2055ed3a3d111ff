//! What a command prints, if that is known before it runs: the words of `$(find src -name '*.rs')`, and the
//! input of the next command of a pipeline.

use std::rc::Rc;

use agentry_commands::{PrintedWords, passes_lines, printed};
use brush_parser::ast::{Command, Program, SimpleCommand};

use super::analyser::ShellAnalyser;
use super::expand::{ExpansionEffects, WordExpander};
use super::raw_command::{RawCommand, RedirectKind};
use super::state::ShellState;
use crate::argv::{ShellArg, ShellWord};

/// Returns what a program prints, if it is one pipeline.
pub(super) fn of_program(program: &Program, words: &mut WordExpander<'_>) -> Option<PrintedWords> {
    let [list] = program.complete_commands.as_slice() else { return None };
    let [item] = list.0.as_slice() else { return None };
    if !item.0.additional.is_empty() {
        return None;
    }
    let mut commands = item.0.first.seq.iter();
    let mut found = printed(&argv(commands.next()?, words)?)?;
    for command in commands {
        let argv = argv(command, words)?;
        match &found {
            PrintedWords::Paths(_) if passes_lines(&argv) => {}
            _ => found = printed(&argv)?,
        }
    }
    Some(found)
}

/// Returns the words of a simple command that is no function and prints to its output.
fn argv(command: &Command, words: &mut WordExpander<'_>) -> Option<Vec<ShellArg>> {
    let Command::Simple(simple) = command else { return None };
    let raw = raw_words(simple)?;
    // The side effects are collected where the command itself is analysed.
    let mut effects = ExpansionEffects::default();
    let WordExpander { state, context, functions, .. } = words;
    let mut inner =
        WordExpander { state, context, fuel: words.fuel, effects: &mut effects, functions };
    let argv: Vec<ShellArg> = raw.iter().flat_map(|raw| inner.args(raw)).collect();
    let name = argv.first().and_then(ShellArg::literal)?;
    (!functions.contains(name)).then_some(argv)
}

/// Returns the raw words of a command whose output is passed through unchanged.
fn raw_words(simple: &SimpleCommand) -> Option<Vec<String>> {
    let RawCommand { assignments, words, redirects } = RawCommand::new(simple);
    // `2>/dev/null` and `2>&1` do not add names; other redirections may take the output away.
    let is_free = redirects.iter().all(|redirect| {
        redirect.kind == RedirectKind::Write && redirect.target.as_deref() == Some("/dev/null")
    });
    if !is_free || !assignments.is_empty() {
        return None;
    }
    words.into_iter().collect()
}

impl ShellAnalyser<'_> {
    /// Returns the names that a command of a pipeline prints for the next one.
    pub(super) fn printed(
        &mut self,
        command: &Command,
        state: &ShellState,
    ) -> Option<Rc<[ShellWord]>> {
        if state.is_tainted {
            return None;
        }
        let mut effects = ExpansionEffects::default();
        let (context, functions, fuel) = (self.context, &self.functions, &mut self.fuel);
        let mut words = WordExpander { state, context, fuel, effects: &mut effects, functions };
        let argv = argv(command, &mut words)?;
        if passes_lines(&argv) {
            return state.input.clone();
        }
        match printed(&argv)? {
            PrintedWords::Paths(paths) => Some(Rc::from(paths)),
            PrintedWords::Number | PrintedWords::Label => None,
        }
    }
}
