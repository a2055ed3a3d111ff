//! The builtins of the shell.

use agentry_commands::{ProgramTrait, has_trait};

use super::analyser::ShellAnalyser;
use super::call::{CommandLookup, ShellCall};
use super::flow::ShellFlow;
use super::getopt;
use super::state::ShellState;
use super::{CurrentDirs, LinePart, PartEffect};
use crate::argv::{ShellArg, ShellWord};

/// Options of `set` that do not affect the analysis.
const SET_LETTERS: &str = "euxvfhCET";
/// The long names of such options, after `-o`.
pub(super) const SET_NAMES: &[&str] = &[
    "errexit",
    "nounset",
    "xtrace",
    "verbose",
    "noglob",
    "pipefail",
    "noclobber",
    "errtrace",
    "functrace",
];

/// Operators of `[` with two operands.
const BINARY_TESTS: &[&str] = &[
    "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-ef", "-nt", "-ot", "-a",
    "-o",
];

impl ShellAnalyser<'_> {
    /// Analyses a builtin; returns `None` if `name` is not a builtin.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        call: &ShellCall<'_>,
        state: &ShellState,
    ) -> Option<ShellFlow> {
        let state = state.clone();
        Some(match name {
            "wait" if call.argv.len() > 1 => self.names(name, call, state),
            "jobs" => self.jobs(call, state),
            "alias" | "complete" | "compgen" => self.definition(call, state),
            name if has_trait(name, ProgramTrait::FreeBuiltin) => self.harmless(call, state),
            "exit" | "logout" => {
                self.harmless(call, state.clone());
                ShellFlow::end(state)
            }
            "cd" | "chdir" => self.cd(call, state),
            "pushd" => self.pushd(call, state),
            "popd" => {
                let mut state = state;
                state.bases = CurrentDirs::Unknown;
                self.harmless(call, state)
            }
            "[" | "test" => self.test(call, state),
            "eval" => {
                self.stands_around(call);
                self.eval(call, state)
            }
            "source" | "." => self.source(call, state),
            "trap" => self.trap(call, state),
            "set" => self.set_options(call, state),
            "command" | "builtin" | "exec" => self.prefix(name, call, state),
            name if has_trait(name, ProgramTrait::Declares) => self.declaration(name, call, state),
            "unset" | "read" | "getopts" | "mapfile" | "readarray" => self.names(name, call, state),
            "printf" => self.printf(call, state),
            "hash" if call.argv.len() > 1 => self.opaque_builtin(call, state),
            name if has_trait(name, ProgramTrait::OpaqueBuiltin) => {
                self.opaque_builtin(call, state)
            }
            _ => return None,
        })
    }

    pub(super) fn harmless(&mut self, call: &ShellCall<'_>, state: ShellState) -> ShellFlow {
        self.free(call.text, call.argv.clone(), &state);
        ShellFlow::both(state)
    }

    pub(super) fn opaque_builtin(
        &mut self,
        call: &ShellCall<'_>,
        mut state: ShellState,
    ) -> ShellFlow {
        self.unclear(call.text, "it can change what later commands mean", &state);
        state.forget_all();
        ShellFlow::both(state)
    }

    fn cd(&mut self, call: &ShellCall<'_>, state: ShellState) -> ShellFlow {
        let mut physical = false;
        let mut rest = call.argv.get(1..).unwrap_or_default();
        while let Some(option) = rest.first().and_then(ShellArg::literal)
            && matches!(option, "-L" | "-P" | "-e" | "-@" | "--")
        {
            physical |= option != "-L" && option != "--";
            rest = rest.get(1..).unwrap_or_default();
        }
        let target = match rest {
            [] => self
                .context
                .home
                .clone()
                .filter(|_| state.variable("HOME").is_none())
                .map(ShellWord::text),
            [ShellArg::One(word)] if word.literal() != Some("-") => Some(word.clone()),
            [_] => self.previous(&state),
            _ => None,
        };
        let target = target.unwrap_or_else(ShellWord::any);
        let mut state = state;
        if self.is_last
            && !self.has_trap
            && let Some(hoped) = &state.hoped
        {
            // Nothing runs after it, so a failed earlier `cd` does not matter.
            state.bases = hoped.clone();
        }
        let entered = match target.literal() {
            Some("") => state.bases.clone(),
            Some(path) if !physical && !path.starts_with('-') => state.bases.enter(path),
            _ => CurrentDirs::Unknown,
        };
        self.push(call.text, PartEffect::Enter(target.clone()), &state);
        let mut ok = state.clone();
        ok.hoped = Some(match target.literal() {
            Some(path) if !physical => state.hoped.as_ref().unwrap_or(&state.bases).enter(path),
            _ => CurrentDirs::Unknown,
        });
        ok.previous = Some(state.bases.clone()).filter(|_| state.variable("OLDPWD").is_none());
        ok.bases = entered;
        ShellFlow { ok: Some(ok), fail: Some(state.clone()), last: state }
    }

    /// Returns the directory that `cd -` returns to, as an absolute path.
    fn previous(&self, state: &ShellState) -> Option<ShellWord> {
        state.variable("OLDPWD").is_none().then_some(())?;
        let previous = state.previous.as_ref()?.single()?;
        let start = self.context.directory.as_deref();
        match previous {
            path if path.starts_with('/') => Some(ShellWord::text(path)),
            "." => start.map(ShellWord::text),
            path => start.map(|start| ShellWord::text(format!("{start}/{path}"))),
        }
    }

    fn pushd(&mut self, call: &ShellCall<'_>, state: ShellState) -> ShellFlow {
        let flow = match call.argv.as_slice() {
            [_, ShellArg::One(_)] => self.cd(call, state),
            _ => {
                self.push(call.text, PartEffect::Enter(ShellWord::any()), &state);
                ShellFlow::both(state)
            }
        };
        let target = call.argv.get(1).and_then(ShellArg::literal);
        // `pushd +1` and `pushd -1` rotate the directory stack, which is not tracked.
        if target.is_some_and(|path| !path.starts_with(['+', '-'])) {
            return flow;
        }
        let mut state = flow.after();
        state.bases = CurrentDirs::Unknown;
        ShellFlow::both(state)
    }

    /// Analyses `[`, which evaluates only the subscript after `-v`.
    fn test(&mut self, call: &ShellCall<'_>, state: ShellState) -> ShellFlow {
        let mut arguments = call.argv.get(1..).unwrap_or_default();
        if call.argv.first().and_then(ShellArg::literal) == Some("[") {
            arguments = arguments.split_last().map(|(_, rest)| rest).unwrap_or_default();
        }
        if is_plain_test(arguments) {
            return self.harmless(call, state);
        }
        self.unclear(call.text, "a test whose operators are not known", &state);
        ShellFlow::both(state)
    }

    fn eval(&mut self, call: &ShellCall<'_>, mut state: ShellState) -> ShellFlow {
        let words = match call.argv.get(1..).unwrap_or_default() {
            [first, rest @ ..] if first.literal() == Some("--") => rest,
            words => words,
        };
        match crate::argv::literal(words) {
            Some(words) => ShellFlow::both(self.text(&words.join(" "), state)),
            None => {
                self.unclear(call.text, "the text that `eval` runs is not literal", &state);
                state.forget_all();
                state.bases = CurrentDirs::Unknown;
                ShellFlow::both(state)
            }
        }
    }

    fn source(&mut self, call: &ShellCall<'_>, mut state: ShellState) -> ShellFlow {
        let index = self.command(call.text, call.argv.clone(), &state);
        let found = getopt::read(&call.argv, "", "");
        let file = found.operands.first().and_then(ShellArg::literal).filter(|_| found.is_known);
        match file {
            Some(file) if !file.starts_with("/dev/") && !file.starts_with("/proc/") => {
                self.scripts.push((file.to_owned(), index));
            }
            _ => self.unclear(call.text, "the file that it runs is not literal", &state),
        }
        // The file may change any variable and the directory.
        state.forget_all();
        state.bases = CurrentDirs::Unknown;
        ShellFlow::both(state)
    }

    fn trap(&mut self, call: &ShellCall<'_>, state: ShellState) -> ShellFlow {
        self.has_trap = true;
        let mut operands = call.argv.iter().skip(1).skip_while(|word| word.literal() == Some("--"));
        let action = operands.next();
        match action.map(ShellArg::literal) {
            None | Some(Some("" | "-" | "-l" | "-p")) => self.harmless(call, state),
            Some(Some(text)) => {
                // The trap runs at an unknown time, so variables and directory are unknown.
                let mut later = state.clone();
                later.forget_all();
                later.bases = CurrentDirs::Unknown;
                let found = self.parts.len();
                let after = self.text(text, later.clone());
                let changes = |part: &LinePart| {
                    matches!(
                        part.what,
                        PartEffect::Set { .. } | PartEffect::Enter(_) | PartEffect::Unclear { .. }
                    )
                };
                let changes = after != later || self.parts.iter().skip(found).any(changes);
                let mut signals = operands.map(ShellArg::literal);
                if changes && !signals.all(|signal| matches!(signal, Some("EXIT" | "0"))) {
                    self.unclear(call.text, "it may change anything between two commands", &state);
                }
                ShellFlow::both(state)
            }
            Some(None) => {
                self.unclear(call.text, "the text that `trap` runs is not literal", &state);
                ShellFlow::both(state)
            }
        }
    }

    /// Records that a function may be undefined.
    pub(super) fn undefined(&mut self, name: &str, is_variable: bool) {
        if !is_variable {
            self.undefined.insert(name.to_owned());
        }
    }

    /// Analyses `alias` and similar builtins: the commands that their texts would run.
    fn definition(&mut self, call: &ShellCall<'_>, state: ShellState) -> ShellFlow {
        let mut later = state.clone();
        later.forget_all();
        later.bases = CurrentDirs::Unknown;
        later.is_guess = true;
        let words = call.argv.iter().skip(1).filter_map(ShellArg::literal);
        let texts: Vec<String> = words
            .map(|word| {
                let attached = word.strip_prefix("-C").filter(|text| !text.is_empty());
                let value = word.split_once('=').filter(|(name, _)| !name.contains(' '));
                attached.or(value.map(|(_, value)| value)).unwrap_or(word).to_owned()
            })
            .collect();
        for text in texts.iter().filter(|text| !text.starts_with('-')) {
            self.text(text, later.clone());
        }
        self.opaque_builtin(call, state)
    }

    fn set_options(&mut self, call: &ShellCall<'_>, state: ShellState) -> ShellFlow {
        let mut words = call.argv.iter().skip(1);
        let mut is_harmless = call.argv.len() > 1;
        while let Some(word) = words.next() {
            match word.literal() {
                Some("--" | "-") => break,
                Some(option) if option.starts_with(['-', '+']) => {
                    let letters = option.trim_start_matches(['-', '+']);
                    is_harmless &= letters.chars().all(|c| c == 'o' || SET_LETTERS.contains(c));
                    if letters.contains('o') {
                        let name = words.next().and_then(ShellArg::literal);
                        is_harmless &= name.is_some_and(|name| SET_NAMES.contains(&name));
                    }
                }
                Some(_) => break,
                None => is_harmless = false,
            }
        }
        match (is_harmless, call.argv.len()) {
            (true, _) => self.harmless(call, state),
            (false, 1) => {
                self.command(call.text, call.argv.clone(), &state);
                ShellFlow::both(state)
            }
            (false, _) => self.opaque_builtin(call, state),
        }
    }

    /// Analyses `command`, `builtin` and `exec`, which run the remaining words.
    fn prefix(&mut self, name: &str, call: &ShellCall<'_>, mut state: ShellState) -> ShellFlow {
        let (flags, valued, by) = match name {
            "command" => ("pvV", "", CommandLookup::Builtin),
            "exec" => ("cl", "a", CommandLookup::Program),
            _ => ("", "", CommandLookup::Builtin),
        };
        let found = getopt::read(&call.argv, flags, valued);
        if !found.is_known {
            self.unclear(call.text, "an option that is not known", &state);
            self.guess(call.argv.get(1..).unwrap_or_default(), 0, call, &state);
            state.forget_all();
            state.bases = CurrentDirs::Unknown;
            return ShellFlow::both(state);
        }
        // `command -v` only looks a name up.
        if found.has('v') || found.has('V') || found.operands.is_empty() {
            return self.harmless(call, state);
        }
        let argv = found.operands.to_vec();
        self.stands_around(call);
        let flow = self.call(call.with(argv, by), state);
        // After a successful `exec`, nothing else of the line runs.
        if name == "exec" { ShellFlow { ok: None, ..flow } } else { flow }
    }

    /// Analyses `jobs -x command`.
    fn jobs(&mut self, call: &ShellCall<'_>, mut state: ShellState) -> ShellFlow {
        let found = getopt::read(&call.argv, "lnprsx", "");
        if found.is_known && !found.has('x') {
            self.command(call.text, call.argv.clone(), &state);
            return ShellFlow::both(state);
        }
        self.unclear(call.text, "a command with the numbers of jobs", &state);
        self.guess(found.operands, 0, call, &state);
        state.forget_all();
        state.bases = CurrentDirs::Unknown;
        ShellFlow::both(state)
    }
}

/// Whether every operator of a test is literal and harmless.
fn is_plain_test(arguments: &[ShellArg]) -> bool {
    if let [ShellArg::One(_)] = arguments {
        return true;
    }
    let literal =
        |at: Option<usize>| at.and_then(|at| arguments.get(at)).and_then(ShellArg::literal);
    arguments.iter().enumerate().all(|(at, argument)| match argument {
        ShellArg::One(word) => match word.literal() {
            Some(text) => !matches!(text, "-v" | "-R"),
            None => {
                let before = literal(at.checked_sub(1));
                let after = literal(Some(at + 1));
                let is_operand = before.is_some_and(|text| {
                    BINARY_TESTS.contains(&text) && !matches!(text, "-a" | "-o") || is_unary(text)
                });
                is_operand || after.is_some_and(|text| BINARY_TESTS.contains(&text))
            }
        },
        ShellArg::Some(_) | ShellArg::Many(_) => false,
    })
}

/// Whether the text is an operator with one operand, such as `-f`.
fn is_unary(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next() == Some('-')
        && chars.next().is_some_and(|c| "bcdefghknprstuwxzGLNOS".contains(c))
        && chars.next().is_none()
}
