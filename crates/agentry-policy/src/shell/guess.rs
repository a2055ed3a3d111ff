//! Guesses where a command may start among the arguments, so that deny rules apply to every candidate.

use agentry_commands::{RunnerRow, RunnerTrust, program};

use super::CurrentDirs;
use super::analyser::ShellAnalyser;
use super::assign::is_name;
use super::call::{CommandLookup, ShellCall};
use super::state::ShellState;
use crate::argv::ShellArg;

/// How deep guesses may be nested.
const MAX_DEPTH: usize = 2;
/// How many candidates are analysed.
const MAX_STARTS: usize = 64;

impl ShellAnalyser<'_> {
    /// Adds every command that may start in `words`, after options and `operands` operands; only deny and ask
    /// rules apply.
    pub(super) fn guess(
        &mut self,
        words: &[ShellArg],
        operands: usize,
        call: &ShellCall<'_>,
        state: &ShellState,
    ) {
        let mut inside = state.clone();
        inside.is_guess = true;
        self.starts(words, operands, call, &inside);
    }

    fn starts(
        &mut self,
        words: &[ShellArg],
        operands: usize,
        call: &ShellCall<'_>,
        state: &ShellState,
    ) {
        if state.guesses >= MAX_DEPTH {
            return;
        }
        let mut inside = state.clone();
        inside.guesses += 1;
        for text in
            words.iter().filter_map(ShellArg::literal).filter_map(command_of).take(MAX_STARTS)
        {
            self.text(text, inside.of_posix_child());
        }
        for start in starts(words, operands) {
            let argv = words.get(start..).unwrap_or_default().to_vec();
            // Each candidate copies the remaining words, so it counts as work.
            if !self.pay(argv.len() * 8) {
                return self.unclear(call.text, "too much nesting", state);
            }
            // A quoted word with spaces may be a text for a shell.
            let text = argv.first().and_then(ShellArg::literal).filter(|text| text.contains(' '));
            if let Some(text) = text.map(str::to_owned) {
                self.text(&text, inside.of_posix_child());
            } else {
                self.call(call.with(argv, CommandLookup::Program), inside.clone());
            }
        }
    }

    /// Analyses a program that runs others in its own way; returns whether `base` is one.
    pub(super) fn runner(&mut self, base: &str, call: &ShellCall<'_>, state: &ShellState) -> bool {
        let words = call.argv.get(1..).unwrap_or_default();
        let found = runners(base)
            .iter()
            .find_map(|runner| Some((runner, behind_subcommand(runner, words)?)));
        let Some((runner, at)) = found else { return false };
        let rest = words.get(at..).unwrap_or_default();
        let first = starts(rest, runner.operands).first().map(|start| 1 + at + start);
        let mut inside = state.clone();
        inside.behind = Some(self.outer(first, call, state));
        // Only `Same` is certain to keep the current directory.
        if runner.trust != RunnerTrust::Same {
            inside.bases = CurrentDirs::Unknown;
        }
        match runner.trust {
            RunnerTrust::Package => self.guess(rest, runner.operands, call, &inside),
            RunnerTrust::Same | RunnerTrust::Elsewhere => {
                self.starts(rest, runner.operands, call, &inside);
            }
        }
        true
    }
}

/// Returns the runner rows of a program; the dynamic linker has many names.
fn runners(base: &str) -> &'static [RunnerRow] {
    let is_loader =
        base.starts_with("ld-linux") || base.starts_with("ld-musl") || base == "ld64.so.2";
    program(if is_loader { "ld.so" } else { base }).map_or(&[], |facts| &facts.runners)
}

/// Returns the index after the subcommand, or `None` if the subcommand is another one.
fn behind_subcommand(runner: &RunnerRow, words: &[ShellArg]) -> Option<usize> {
    let mut at = 0;
    for wanted in runner.subcommand.iter() {
        let rest = words.get(at..).unwrap_or_default();
        let is_wanted =
            |start: &usize| rest.get(*start).and_then(ShellArg::literal) == Some(wanted);
        at += starts(rest, 0).into_iter().find(is_wanted)? + 1;
    }
    Some(at)
}

/// Returns the command in `--run=command`.
fn command_of(option: &str) -> Option<&str> {
    let (name, value) = option.strip_prefix("--")?.split_once('=')?;
    matches!(name, "call" | "cmd" | "command" | "coreutils-prog" | "exec" | "run").then_some(value)
}

/// Lists the indices at which a command may start: after options, their values, and operands.
fn starts(words: &[ShellArg], operands: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut certain = 0;
    let mut is_ended = false;
    let mut may_be_value = false;
    for (at, word) in words.iter().enumerate() {
        let literal = word.literal();
        match literal {
            Some("--") if !is_ended => {
                is_ended = true;
                may_be_value = false;
                continue;
            }
            Some(option) if option.starts_with(['-', '+']) && !is_ended => {
                may_be_value =
                    option.len() > 1 && !(option.starts_with("--") && option.contains('='));
                continue;
            }
            // An assignment comes before the command.
            Some(word) if word.split_once('=').is_some_and(|(name, _)| is_name(name)) => {
                may_be_value = false;
                continue;
            }
            _ => found.push(at),
        }
        let is_one = matches!(word, ShellArg::One(_));
        match literal {
            Some(_) if !may_be_value => {
                certain += 1;
                if certain > operands || found.len() >= MAX_STARTS {
                    break;
                }
            }
            Some(_) => may_be_value = false,
            // An unknown word may be an option itself.
            None => may_be_value = !(is_one && may_be_value),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argv::ShellWord;

    #[test]
    fn the_dynamic_linker_runs_programs() {
        assert_eq!(runners("ld-linux-x86-64.so.2").len(), 1);
        assert_eq!(runners("ls").len(), 0);
    }

    #[test]
    fn possible_command_starts_are_found() {
        let cases: &[(&str, usize, &[usize])] = &[
            ("rm x", 0, &[0]),
            ("-z rm x", 0, &[1, 2]),
            ("--zap=1 rm x", 0, &[1]),
            ("-z -y rm x y", 0, &[2, 3]),
            ("5 rm x", 1, &[0, 1]),
            ("-- rm x", 0, &[1]),
            ("A=1 rm x", 0, &[1]),
            ("? rm x", 0, &[0, 1, 2]),
            ("-z ? rm x", 0, &[1, 2]),
            ("c -- rm x", 1, &[0, 2]),
        ];
        for (line, operands, expected) in cases {
            let word = |text: &str| match text {
                "?" => ShellArg::One(ShellWord::any()),
                text => ShellArg::text(text),
            };
            let words: Vec<ShellArg> = line.split(' ').map(word).collect();
            assert_eq!(starts(&words, *operands), *expected, "{line}");
        }
    }
}
