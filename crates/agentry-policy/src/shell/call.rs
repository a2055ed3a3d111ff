//! Analyses a simple command with expanded words: which program runs, and with which arguments.

use agentry_commands::variables::is_special;
use agentry_commands::{ProgramTrait, ShellKind, has_trait, program};

use super::analyser::{ShellAnalyser, ShellFunctionCall};
use super::flow::ShellFlow;
use super::raw_command::{RawCommand, ShellRedirect};
use super::state::ShellState;
use super::{CurrentDirs, VariableScope};
use crate::argv::ShellArg;

/// One call of a command.
#[derive(Debug, Clone)]
pub(super) struct ShellCall<'a> {
    /// The text as written.
    pub(super) text: &'a str,
    /// The expanded words.
    pub(super) argv: Vec<ShellArg>,
    /// Redirections, which may provide its input.
    pub(super) redirects: &'a [ShellRedirect],
    /// How the command name is looked up.
    pub(super) by: CommandLookup,
}

impl ShellCall<'_> {
    /// Makes another call that replaces this one.
    pub(super) fn with(&self, argv: Vec<ShellArg>, by: CommandLookup) -> Self {
        Self { text: self.text, argv, redirects: self.redirects, by }
    }
}

/// How a command name is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandLookup {
    /// By the shell: functions, then builtins, then programs.
    Shell,
    /// By the shell, without functions.
    Builtin,
    /// By a program, which finds only programs.
    Program,
}

/// Directories whose programs are known by their names.
const SYSTEM: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
];

/// How many nested wrappers are followed.
const MAX_WRAPPERS: usize = 32;

impl ShellAnalyser<'_> {
    /// Analyses a simple command.
    pub(super) fn simple(&mut self, simple: &RawCommand, mut state: ShellState) -> ShellFlow {
        let text = simple.text();
        self.named_descriptors(simple, &text, &state);
        self.lists_apart(simple, &text, &state);
        let argv = self.arguments(simple, &text, &mut state);
        let scope = if argv.is_empty() { VariableScope::Shell } else { VariableScope::Command };
        let before = state.clone();
        for raw in &simple.assignments {
            match raw.strip_prefix("IFS=").filter(|_| self.is_own_read(&argv)) {
                Some(value) => {
                    self.reads_apart = true;
                    self.expand(&text, &mut state, |words| words.value(value));
                }
                None => self.assignment(raw, &text, scope, &mut state),
            }
        }
        if argv.is_empty() && !simple.assignments.is_empty() && !simple.redirects.is_empty() {
            // Some shells apply the redirections before the assignments.
            state = state.or(&before);
        }
        self.redirects(&text, &simple.redirects, &mut state);
        let input = state.input.clone();
        if simple.redirects.iter().any(|redirect| redirect.is_input) {
            state.input = None;
        }
        self.special_prefixes(simple, &argv, &text, &state);
        if argv.is_empty() {
            return ShellFlow::both(state);
        }
        let redirects = &simple.redirects;
        let call = ShellCall { text: &text, argv, redirects, by: CommandLookup::Shell };
        let mut flow = self.call(call, state);
        // A redirection of one command does not change the input of the next.
        for state in [&mut flow.ok, &mut flow.fail].into_iter().flatten() {
            state.input.clone_from(&input);
        }
        flow.last.input = input;
        flow
    }

    /// Whether a command is the builtin `read` and no function with that name.
    fn is_own_read(&self, argv: &[ShellArg]) -> bool {
        let name = argv.first().and_then(ShellArg::literal);
        name == Some("read") && !self.functions.contains("read")
    }

    /// Reports variables such as `IFS` before a command. `IFS=, read a b` splits only the input; before
    /// another builtin it may change how the text of that builtin is parsed.
    fn special_prefixes(
        &mut self,
        simple: &RawCommand,
        argv: &[ShellArg],
        text: &str,
        state: &ShellState,
    ) {
        let Some(name) = argv.first() else { return };
        let is_special =
            |raw: &String| raw.split_once('=').is_some_and(|(name, _)| is_special(name));
        if name.literal() != Some("read") && simple.assignments.iter().any(is_special) {
            self.unclear(text, "a variable that changes how a line is read", state);
        }
    }

    /// Analyses a command, which may come from a wrapper.
    pub(super) fn call(&mut self, call: ShellCall<'_>, state: ShellState) -> ShellFlow {
        if self.wrappers >= MAX_WRAPPERS {
            self.unclear(call.text, "too much nesting", &state);
            return ShellFlow::both(state);
        }
        self.wrappers += 1;
        let flow = self.dispatch(call, state);
        self.wrappers -= 1;
        flow
    }

    fn dispatch(&mut self, call: ShellCall<'_>, mut state: ShellState) -> ShellFlow {
        let Some(name) = call.argv.first().and_then(ShellArg::literal).map(str::to_owned) else {
            self.unclear(call.text, "the command is not literal", &state);
            // The unknown word may be empty, or a program that runs the remaining words.
            self.guess(call.argv.get(1..).unwrap_or_default(), 0, &call, &state);
            state.forget_all();
            state.bases = CurrentDirs::Unknown;
            return ShellFlow::both(state);
        };
        if let Some(caller) = self.defining.last() {
            self.called.entry(caller.clone()).or_default().insert(name.clone());
        }
        if name.starts_with('-') {
            // Covers `time -- command`.
            self.guess(call.argv.get(1..).unwrap_or_default(), 0, &call, &state);
        }
        if call.by == CommandLookup::Shell && self.functions.contains(&name) {
            return self.function_call(&name, call, state);
        }
        self.known(&name, call, state)
    }

    /// Analyses a command that is no function.
    fn known(&mut self, name: &str, call: ShellCall<'_>, state: ShellState) -> ShellFlow {
        if call.by != CommandLookup::Program
            && let Some(flow) = self.builtin(name, &call, &state)
        {
            return flow;
        }
        let (base, is_system) = match name.rsplit_once('/') {
            Some((directory, base)) => (base, SYSTEM.contains(&directory)),
            None => (name, true),
        };
        if !is_system {
            // The program itself is unknown, but its arguments may still contain a command.
            let index = self.command(call.text, call.argv.clone(), &state);
            self.scripts.push((name.to_owned(), index));
        }
        self.settings(base, &call, &state);
        let shell = program(base).and_then(|facts| facts.shell);
        if shell == Some(ShellKind::Other) && call.argv.len() > 1 {
            self.unclear(call.text, "a shell of another language", &state);
        } else if let Some(kind) = shell.filter(|kind| *kind != ShellKind::Other) {
            return self.shell(kind, &call, state);
        } else if self.wrapped(base, &call, &state) || self.runner(base, &call, &state) {
            return ShellFlow::both(state);
        }
        if is_system && has_trait(base, ProgramTrait::Glue) {
            self.free(call.text, call.argv, &state);
        } else if is_system {
            self.command(call.text, call.argv, &state);
        }
        ShellFlow::both(state)
    }

    /// Analyses a call of a function, whose body was analysed at its definition.
    fn function_call(
        &mut self,
        name: &str,
        call: ShellCall<'_>,
        mut state: ShellState,
    ) -> ShellFlow {
        if state.is_function(name) {
            let (text, argv) = (call.text.to_owned(), call.argv);
            self.calls.push(ShellFunctionCall { text, argv, state: state.clone() });
        } else {
            // The function may not be defined yet, so the command with that name may run.
            self.known(name, call, state.clone());
        }
        state.forget_all();
        state.bases = CurrentDirs::Unknown;
        ShellFlow::both(state)
    }
}
