//! Collects the parts of a line, and enforces the limits of the whole analysis.

use std::collections::{BTreeMap, BTreeSet};

use agentry_commands::{ProgramTrait, has_trait};
use agentry_text::report::cut;

use brush_parser::ast::Pipeline;

use super::agreement;
use super::assign::is_name;
use super::call::{CommandLookup, ShellCall};
use super::current_dirs::CurrentDirs;
use super::expand::{ExpansionEffects, WordExpander};
use super::posix;
use super::raw_command::{RawCommand, ShellRedirect};
use super::state::{ShellState, VariableValue};
use super::written_names::WrittenNames;
use super::{
    CommandRole, LineAnalysis, LinePart, PartEffect, ShellCommand, ShellContext, redirect,
};
use crate::argv::{ShellArg, ShellWord, WordPiece};

/// How deep texts may be nested: substitutions, `sh -c`, `eval`.
const MAX_DEPTH: usize = 32;
/// How often the bytes of a line may be read, for all of its nested texts together.
const MAX_WORK: usize = 40;
/// How many bytes known variables may insert, per byte of the line.
const MAX_GROWTH: usize = 16;

/// How many characters of a part are stored for display: the parts of a long command must not all repeat it.
const MAX_TEXT: usize = 400;

/// A call of a function, which is a command if the function is gone by then.
pub(super) struct ShellFunctionCall {
    pub(super) text: String,
    pub(super) argv: Vec<ShellArg>,
    pub(super) state: ShellState,
}

/// The state of one analysis.
pub(super) struct ShellAnalyser<'c> {
    /// The home and the start directory.
    pub(super) context: &'c ShellContext,
    /// The parts found so far.
    pub(super) parts: Vec<LinePart>,
    /// Shells and wrappers that are no parts themselves, because the commands that they start are.
    around: Vec<Vec<ShellArg>>,
    /// Every name that is defined as a function somewhere in the line.
    pub(super) functions: BTreeSet<String>,
    /// Names that are removed as functions somewhere in the line.
    pub(super) undefined: BTreeSet<String>,
    /// The functions whose bodies are being analysed, the innermost last.
    pub(super) defining: Vec<String>,
    /// The names that each function calls.
    pub(super) called: BTreeMap<String, BTreeSet<String>>,
    /// Calls of functions, which may be commands instead.
    pub(super) calls: Vec<ShellFunctionCall>,
    /// Files that are run as programs: the name, and the index of the part.
    pub(super) scripts: Vec<(String, usize)>,
    /// Whether `IFS= read` was treated as the builtin `read`.
    pub(super) reads_apart: bool,
    /// How many compound commands are around the current command.
    pub(super) compounds: usize,
    /// How many jobs of builtins in the background were reported.
    pub(super) jobs: usize,
    /// Whether a trap may run at the end of the line.
    pub(super) has_trap: bool,
    /// The last pipeline of the line.
    pub(super) last: Option<*const Pipeline>,
    /// Whether nothing of the line runs after the current command.
    pub(super) is_last: bool,
    /// How many wrappers are around the current command.
    pub(super) wrappers: usize,
    /// How much work was done.
    steps: usize,
    pub(super) depth: usize,
    work: usize,
    pub(super) fuel: usize,
}

impl<'c> ShellAnalyser<'c> {
    pub(super) fn new(line: &str, context: &'c ShellContext) -> Self {
        let size = line.len() + 256;
        Self {
            context,
            parts: Vec::new(),
            around: Vec::new(),
            functions: BTreeSet::new(),
            undefined: BTreeSet::new(),
            defining: Vec::new(),
            called: BTreeMap::new(),
            calls: Vec::new(),
            scripts: Vec::new(),
            reads_apart: false,
            compounds: 0,
            jobs: 0,
            has_trap: false,
            last: None,
            is_last: false,
            wrappers: 0,
            steps: 0,
            depth: 0,
            work: size * MAX_WORK,
            fuel: size * MAX_GROWTH,
        }
    }

    /// Returns the parts of `line`, and how much work the analysis was.
    pub(super) fn run(mut self, line: &str) -> (LineAnalysis, usize) {
        let state = ShellState::new(CurrentDirs::default());
        self.text(line, state);
        self.lost_functions();
        self.fresh_scripts();
        self.recursions();
        (LineAnalysis { parts: self.parts, around: self.around }, self.steps)
    }

    /// Records a call that only starts other commands.
    pub(super) fn stands_around(&mut self, call: &ShellCall<'_>) {
        if !self.around.contains(&call.argv) {
            self.around.push(call.argv.clone());
        }
    }

    /// Analyses a text as a program, and returns the state of the shell after it.
    pub(super) fn text(&mut self, text: &str, state: ShellState) -> ShellState {
        self.text_of_kind(text, state, false)
    }

    fn text_of_kind(&mut self, text: &str, state: ShellState, is_substitution: bool) -> ShellState {
        if text.trim().is_empty() {
            return state;
        }
        let left = self.work.checked_sub(text.len() + 1);
        let Some(left) = left.filter(|_| self.depth < MAX_DEPTH) else {
            self.unclear(text, "too much nesting", &state);
            return state;
        };
        self.work = left;
        if state.is_posix
            && let Some(why) = posix::foreign(text)
        {
            self.unclear(text, why, &state);
        }
        self.depth += 1;
        let state = self.read(text, state, is_substitution);
        self.depth -= 1;
        state
    }

    fn read(&mut self, text: &str, state: ShellState, is_substitution: bool) -> ShellState {
        let reading = agreement::read(text);
        self.steps += reading.work;
        if is_substitution && reading.is_mixed {
            // Bash prints the commands of a substitution again before running them, and loses a `;` here.
            self.unclear(text, "a here-document among the commands of a substitution", &state);
        }
        let Some(why) = reading.trouble else {
            return match &reading.program {
                Some(program) => self.program(program, state),
                None => state,
            };
        };
        self.unclear(text, &why, &state);
        // Order and completeness of the commands are unknown, so variables and directory are too.
        let mut state = state;
        state.forget_all();
        state.bases = CurrentDirs::Unknown;
        if let Some(program) = &reading.program {
            self.program(program, state.clone());
        }
        for simple in &reading.others {
            self.simple(simple, state.clone());
        }
        state
    }

    /// Adds a part, and returns its index.
    pub(super) fn push(&mut self, text: &str, what: PartEffect, state: &ShellState) -> usize {
        self.steps += 1;
        self.parts.push(LinePart { text: cut(text, MAX_TEXT), bases: state.bases.clone(), what });
        self.parts.len() - 1
    }

    /// Adds a part that runs without an end, or after the line.
    pub(super) fn lasting(&mut self, text: &str, why: &str, state: &ShellState) {
        self.push(text, PartEffect::Lasting { why: why.to_owned() }, state);
    }

    /// Adds a part that is not understood.
    pub(super) fn unclear(&mut self, text: &str, why: &str, state: &ShellState) {
        self.push(text, PartEffect::Unclear { why: why.to_owned() }, state);
    }

    /// Adds a command.
    pub(super) fn command(&mut self, text: &str, argv: Vec<ShellArg>, state: &ShellState) -> usize {
        let role = role(state, CommandRole::Own);
        let command = ShellCommand { argv, inner_at: None, behind: state.behind, role };
        self.push(text, PartEffect::Command(command), state)
    }

    /// Adds a command that changes nothing outside the shell.
    pub(super) fn free(&mut self, text: &str, argv: Vec<ShellArg>, state: &ShellState) {
        let role = role(state, CommandRole::Glue);
        let command = ShellCommand { argv, inner_at: None, behind: state.behind, role };
        self.push(text, PartEffect::Command(command), state);
    }

    /// Deducts from the remaining work; returns whether there was enough left.
    pub(super) fn pay(&mut self, price: usize) -> bool {
        let left = self.work.checked_sub(price);
        self.work = left.unwrap_or(self.work);
        left.is_some()
    }

    /// Expands words, and adds the side effects of the expansion.
    pub(super) fn expand<T>(
        &mut self,
        text: &str,
        state: &mut ShellState,
        expand: impl FnOnce(&mut WordExpander<'_>) -> T,
    ) -> T {
        self.steps += 1;
        let mut effects = ExpansionEffects::default();
        let context = self.context;
        let result = {
            // `$(cat file)` is only predictable if `cat` is not a function.
            let (functions, fuel) = (&self.functions, &mut self.fuel);
            expand(&mut WordExpander { state, context, fuel, effects: &mut effects, functions })
        };
        for why in effects.unclear {
            self.unclear(text, &why, state);
        }
        // Whether a command runs before or after an assignment is unknown here.
        effects.assigned.iter().for_each(|name| state.set(name, VariableValue::Unknown));
        for command in effects.commands {
            self.text_of_kind(&command, state.clone(), true);
        }
        for name in effects.assigned {
            self.store(text, &name, VariableValue::Unknown, state);
        }
        result
    }

    /// Adds the effects of redirections.
    pub(super) fn redirects(
        &mut self,
        text: &str,
        redirects: &[ShellRedirect],
        state: &mut ShellState,
    ) {
        for redirect in redirects {
            let found = self.expand(text, state, |words| redirect::effects(redirect, words));
            for what in found {
                self.push(text, what, state);
            }
        }
    }

    /// Returns the arguments that the words of a command become.
    pub(super) fn arguments(
        &mut self,
        simple: &RawCommand,
        text: &str,
        state: &mut ShellState,
    ) -> Vec<ShellArg> {
        let first = simple.words.first().and_then(Option::as_deref).unwrap_or_default();
        let declares = has_trait(first, ProgramTrait::Declares);
        self.expand(text, state, |words| {
            let mut arguments = Vec::with_capacity(simple.words.len());
            for word in &simple.words {
                match word {
                    Some(raw) if declares && is_assignment(raw) => {
                        arguments.push(ShellArg::One(words.value(raw)));
                    }
                    Some(raw) => arguments.extend(words.args(raw)),
                    None => arguments.push(ShellArg::One(process())),
                }
            }
            arguments
        })
    }

    /// Returns the only text of a word; its side effects were added before.
    pub(super) fn literal(
        &mut self,
        state: &ShellState,
        expand: impl FnOnce(&mut WordExpander<'_>) -> ShellWord,
    ) -> Option<String> {
        let mut effects = ExpansionEffects::default();
        let (context, functions, fuel) = (self.context, &self.functions, &mut self.fuel);
        let word =
            expand(&mut WordExpander { state, context, fuel, effects: &mut effects, functions });
        word.literal().map(str::to_owned)
    }

    /// Adds calls of functions that may be undefined by then, so that a command with the same name runs.
    fn lost_functions(&mut self) {
        let is_doubtful =
            self.parts.iter().any(|part| matches!(part.what, PartEffect::Unclear { .. }));
        for ShellFunctionCall { text, argv, state } in std::mem::take(&mut self.calls) {
            let Some(name) = argv.first().and_then(ShellArg::literal).map(str::to_owned) else {
                continue;
            };
            if !self.undefined.contains(&name) && !is_doubtful {
                continue;
            }
            let mut state = state;
            state.is_guess |= !self.undefined.contains(&name);
            let call = ShellCall { text: &text, argv, redirects: &[], by: CommandLookup::Builtin };
            self.call(call, state);
        }
    }

    /// Reports functions that may call themselves, directly or through others.
    fn recursions(&mut self) {
        let state = ShellState::new(CurrentDirs::default());
        let looping: Vec<String> =
            self.functions.iter().filter(|name| self.calls_itself(name)).cloned().collect();
        for name in looping {
            self.lasting(&format!("{name}()"), "a function that calls itself", &state);
        }
    }

    fn calls_itself(&self, name: &str) -> bool {
        let called = |name: &str| self.called.get(name).into_iter().flatten();
        let mut left: Vec<&String> = called(name).collect();
        let mut seen = BTreeSet::new();
        while let Some(next) = left.pop() {
            if next == name {
                return true;
            }
            if seen.insert(next) {
                left.extend(called(next));
            }
        }
        false
    }

    /// Marks programs as not understood if the same line may have written them.
    fn fresh_scripts(&mut self) {
        if self.scripts.is_empty() {
            return;
        }
        let written = WrittenNames::by(&self.parts);
        let scripts = std::mem::take(&mut self.scripts);
        for (name, index) in scripts {
            let part = self.parts.get(index).filter(|part| written.may_be(&name, &part.bases));
            if let Some(LinePart { text, bases, .. }) = part.cloned() {
                let why = "the program that it runs is written in the same line".to_owned();
                self.parts.push(LinePart { text, bases, what: PartEffect::Unclear { why } });
            }
        }
    }
}

/// Returns the role of a command, which may be a guess as a whole.
pub(super) fn role(state: &ShellState, own: CommandRole) -> CommandRole {
    if state.is_guess { CommandRole::Guess } else { own }
}

/// Returns the word that a process substitution becomes.
fn process() -> ShellWord {
    ShellWord { pieces: vec![WordPiece::Text("/dev/fd/".to_owned()), WordPiece::Segment] }
}

/// Whether a raw word is `NAME=value`.
fn is_assignment(raw: &str) -> bool {
    raw.split_once('=').is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
}
