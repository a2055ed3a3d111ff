//! Commands of the shell itself.

use super::analyser::Analyser;
use super::assign::is_name;
use super::call::{By, Call};
use super::flow::Flow;
use super::state::{State, Value};
use super::{Bases, Part, What};
use crate::argv::{Arg, Piece, Word};
use crate::tables::builtins::{BINARY_TESTS, DECLARATIONS, FREE, OPAQUE, SET_LETTERS, SET_NAMES};

impl Analyser<'_> {
    /// What a command of the shell does. Nothing if `name` is none.
    pub(super) fn builtin(&mut self, name: &str, call: &Call<'_>, state: &State) -> Option<Flow> {
        self.names_of(name, call, state);
        let state = state.clone();
        Some(match name {
            "wait" if call.argv.len() > 1 => self.wait(call, state),
            name if FREE.contains(&name) => self.harmless(call, state),
            "exit" | "logout" => {
                self.harmless(call, state.clone());
                Flow::end(state)
            }
            "cd" | "chdir" => self.cd(call, state),
            "pushd" => self.pushd(call, state),
            "popd" => {
                let mut state = state;
                state.bases = Bases::Unknown;
                self.harmless(call, state)
            }
            "[" | "test" => self.test(call, state),
            "eval" => self.eval(call, state),
            "source" | "." => self.source(call, state),
            "trap" => self.trap(call, state),
            "set" => self.set_options(call, state),
            "command" | "builtin" | "exec" => self.prefix(name, call, state),
            name if DECLARATIONS.contains(&name) => self.declaration(name, call, state),
            "unset" | "read" | "getopts" | "mapfile" | "readarray" => self.names(name, call, state),
            "printf" => self.printf(call, state),
            "hash" if call.argv.len() > 1 => self.opaque_builtin(call, state),
            name if OPAQUE.contains(&name) => self.opaque_builtin(call, state),
            _ => return None,
        })
    }

    fn harmless(&mut self, call: &Call<'_>, state: State) -> Flow {
        self.free(call.text, call.argv.clone(), &state);
        Flow::both(state)
    }

    fn opaque_builtin(&mut self, call: &Call<'_>, mut state: State) -> Flow {
        self.unclear(call.text, "it can change what later commands mean", &state);
        state.forget_all();
        Flow::both(state)
    }

    fn cd(&mut self, call: &Call<'_>, state: State) -> Flow {
        let mut physical = false;
        let mut rest = call.argv.get(1..).unwrap_or_default();
        while let Some(option) = rest.first().and_then(Arg::literal)
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
                .map(Word::text),
            [Arg::One(word)] if word.literal() != Some("-") => Some(word.clone()),
            _ => None,
        };
        let target = target.unwrap_or_else(Word::any);
        let entered = match target.literal() {
            Some("") => state.bases.clone(),
            Some(path) if !physical && !path.starts_with('-') => state.bases.enter(path),
            _ => Bases::Unknown,
        };
        self.push(call.text, What::Enter(target), &state);
        let mut ok = state.clone();
        ok.bases = entered;
        Flow { ok: Some(ok), fail: Some(state.clone()), last: state }
    }

    fn pushd(&mut self, call: &Call<'_>, state: State) -> Flow {
        let flow = match call.argv.as_slice() {
            [_, Arg::One(_)] => self.cd(call, state),
            _ => {
                self.push(call.text, What::Enter(Word::any()), &state);
                Flow::both(state)
            }
        };
        let target = call.argv.get(1).and_then(Arg::literal);
        if target.is_some_and(|path| !path.starts_with(['+', '-'])) {
            return flow;
        }
        let mut state = flow.after();
        state.bases = Bases::Unknown;
        Flow::both(state)
    }

    /// `[` evaluates nothing but the subscript behind `-v`.
    fn test(&mut self, call: &Call<'_>, state: State) -> Flow {
        let mut arguments = call.argv.get(1..).unwrap_or_default();
        if call.argv.first().and_then(Arg::literal) == Some("[") {
            arguments = arguments.split_last().map(|(_, rest)| rest).unwrap_or_default();
        }
        if is_plain_test(arguments) {
            return self.harmless(call, state);
        }
        self.unclear(call.text, "a test whose operators are not known", &state);
        Flow::both(state)
    }

    fn eval(&mut self, call: &Call<'_>, mut state: State) -> Flow {
        let words = match call.argv.get(1..).unwrap_or_default() {
            [first, rest @ ..] if first.literal() == Some("--") => rest,
            words => words,
        };
        match crate::argv::literal(words) {
            Some(words) => Flow::both(self.text(&words.join(" "), state)),
            None => {
                self.unclear(call.text, "the text that `eval` runs is not literal", &state);
                state.forget_all();
                state.bases = Bases::Unknown;
                Flow::both(state)
            }
        }
    }

    fn source(&mut self, call: &Call<'_>, mut state: State) -> Flow {
        let index = self.command(call.text, call.argv.clone(), &state);
        match call.argv.get(1).and_then(Arg::literal) {
            Some(file) if !file.starts_with("/dev/") && !file.starts_with("/proc/") => {
                self.scripts.push((file.to_owned(), index));
            }
            _ => self.unclear(call.text, "the file that it runs is not literal", &state),
        }
        state.forget_all();
        state.bases = Bases::Unknown;
        Flow::both(state)
    }

    fn trap(&mut self, call: &Call<'_>, state: State) -> Flow {
        let mut operands = call.argv.iter().skip(1).skip_while(|word| word.literal() == Some("--"));
        let action = operands.next();
        match action.map(Arg::literal) {
            None | Some(Some("" | "-" | "-l" | "-p")) => self.harmless(call, state),
            Some(Some(text)) => {
                let mut later = state.clone();
                later.forget_all();
                later.bases = Bases::Unknown;
                let found = self.parts.len();
                let after = self.text(text, later.clone());
                let changes = |part: &Part| {
                    matches!(part.what, What::Set { .. } | What::Enter(_) | What::Unclear { .. })
                };
                let changes = after != later || self.parts.iter().skip(found).any(changes);
                let mut signals = operands.map(Arg::literal);
                if changes && !signals.all(|signal| matches!(signal, Some("EXIT" | "0"))) {
                    self.unclear(call.text, "it may change anything between two commands", &state);
                }
                Flow::both(state)
            }
            Some(None) => {
                self.unclear(call.text, "the text that `trap` runs is not literal", &state);
                Flow::both(state)
            }
        }
    }

    /// `wait -p NAME` sets a variable, and so may any argument that is not known.
    fn wait(&mut self, call: &Call<'_>, mut state: State) -> Flow {
        let is_number = |word: &Arg| match word {
            Arg::One(word) => matches!(word.pieces.as_slice(), [Piece::Segment]),
            Arg::Some(_) | Arg::Many(_) => false,
        };
        let is_harmless = |word: &Arg| match word.literal() {
            Some(text) => !text.contains('p') && is_name(text.trim_start_matches(['-', '%'])),
            None => is_number(word),
        };
        let is_job = |word: &Arg| {
            let digits = word.literal().map(|text| text.trim_start_matches('%'));
            digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        };
        if !call.argv.iter().skip(1).all(|word| is_harmless(word) || is_job(word)) {
            state.forget_all();
        }
        self.harmless(call, state)
    }

    fn set_options(&mut self, call: &Call<'_>, state: State) -> Flow {
        let mut words = call.argv.iter().skip(1);
        let mut is_harmless = call.argv.len() > 1;
        while let Some(word) = words.next() {
            match word.literal() {
                Some("--" | "-") => break,
                Some(option) if option.starts_with(['-', '+']) => {
                    let letters = option.trim_start_matches(['-', '+']);
                    is_harmless &= letters.chars().all(|c| c == 'o' || SET_LETTERS.contains(c));
                    if letters.contains('o') {
                        let name = words.next().and_then(Arg::literal);
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
                Flow::both(state)
            }
            (false, _) => self.opaque_builtin(call, state),
        }
    }

    /// `command`, `builtin` and `exec` run the rest.
    fn prefix(&mut self, name: &str, call: &Call<'_>, state: State) -> Flow {
        let mut rest = call.argv.get(1..).unwrap_or_default();
        let by = if name == "exec" { By::Program } else { By::Builtin };
        loop {
            match (name, rest.first().and_then(Arg::literal)) {
                ("command", Some("-v" | "-V" | "-pv" | "-pV")) => {
                    self.command(call.text, call.argv.clone(), &state);
                    return Flow::both(state);
                }
                ("command", Some("-p")) | ("exec", Some("-c" | "-l" | "-cl")) | (_, Some("--")) => {
                    rest = rest.get(1..).unwrap_or_default();
                }
                ("exec", Some("-a")) => rest = rest.get(2..).unwrap_or_default(),
                _ => break,
            }
        }
        if rest.is_empty() {
            return self.harmless(call, state);
        }
        let argv = rest.to_vec();
        let flow = self.call(Call { argv, by, ..call.clone() }, state);
        if name == "exec" { Flow { ok: None, ..flow } } else { flow }
    }

    /// Commands that set the variables they name.
    fn names(&mut self, name: &str, call: &Call<'_>, mut state: State) -> Flow {
        let words: Option<Vec<&str>> = call.argv.iter().skip(1).map(Arg::literal).collect();
        let Some(words) = words else {
            return self.opaque_builtin(call, state);
        };
        let valued = match name {
            "read" => "adinNptu",
            "mapfile" | "readarray" => "dnOsuc",
            _ => "",
        };
        let mut words = words.into_iter();
        let mut is_harmless = true;
        while let Some(word) = words.next() {
            if let Some(letters) = word.strip_prefix('-') {
                is_harmless &= !(name == "unset" && letters.contains('f'));
                is_harmless &= !(matches!(name, "mapfile" | "readarray") && letters.contains('C'));
                let last = letters.chars().last().filter(|c| valued.contains(*c));
                let value = last.and_then(|_| words.next());
                if last == Some('a') {
                    is_harmless &= value.is_some_and(is_name);
                    self.store(call.text, value.unwrap_or_default(), Value::Unknown, &mut state);
                }
            } else if is_name(word) {
                is_harmless &= !self.functions.contains(word);
                self.store(call.text, word, Value::Unknown, &mut state);
            } else {
                is_harmless &= name == "getopts";
            }
        }
        if is_harmless { self.harmless(call, state) } else { self.opaque_builtin(call, state) }
    }

    fn printf(&mut self, call: &Call<'_>, mut state: State) -> Flow {
        let first = call.argv.get(1);
        match first.map(Arg::literal) {
            Some(Some(option)) if option.starts_with("-v") => {
                let name = option.strip_prefix("-v").filter(|name| !name.is_empty());
                let name = name.or_else(|| call.argv.get(2).and_then(Arg::literal));
                match name.filter(|name| is_name(name)) {
                    Some(name) => self.store(call.text, name, Value::Unknown, &mut state),
                    None => return self.opaque_builtin(call, state),
                }
                self.harmless(call, state)
            }
            // It may become `-v` with a subscript.
            Some(None) if !is_certainly_text(first) => self.opaque_builtin(call, state),
            _ => {
                self.command(call.text, call.argv.clone(), &state);
                Flow::both(state)
            }
        }
    }
}

/// Whether an argument is one word that does not start with `-`.
fn is_certainly_text(argument: Option<&Arg>) -> bool {
    let Some(Arg::One(word) | Arg::Some(word)) = argument else { return false };
    match word.pieces.first() {
        Some(crate::argv::Piece::Text(text)) => !text.starts_with('-'),
        _ => false,
    }
}

/// Whether every operator of a test is literal and harmless.
fn is_plain_test(arguments: &[Arg]) -> bool {
    if let [Arg::One(_)] = arguments {
        return true;
    }
    let literal = |at: Option<usize>| at.and_then(|at| arguments.get(at)).and_then(Arg::literal);
    arguments.iter().enumerate().all(|(at, argument)| match argument {
        Arg::One(word) => match word.literal() {
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
        Arg::Some(_) | Arg::Many(_) => false,
    })
}

/// `-f` and its like.
fn is_unary(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next() == Some('-')
        && chars.next().is_some_and(|c| "bcdefghknprstuwxzGLNOS".contains(c))
        && chars.next().is_none()
}
