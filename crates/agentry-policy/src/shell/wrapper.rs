//! Commands that run another command: the table says where in their arguments it is.

mod options;
mod search;

use options::{Found, Options};

use super::analyser::Analyser;
use super::call::{By, Call};
use super::state::State;
use super::{Bases, Command, Scope, What};
use crate::argv::{Arg, Piece, Word};
use crate::tables::wrappers::{CONTAINERS, Extra, Inner, Reach, Wrapper, wrapper};

impl Analyser<'_> {
    /// Follows a wrapper. Answers whether the call needs no part of its own any more.
    pub(super) fn wrapped(&mut self, base: &str, call: &Call<'_>, state: &State) -> bool {
        match base {
            "find" | "gfind" => self.find(call, state),
            "fd" | "fdfind" => self.fd(call, state),
            "newgrp" => {
                self.unclear(call.text, "it reads the commands that it runs", state);
                false
            }
            "at" | "batch" => self.at(call, state),
            "crontab" => {
                if call.argv.get(1).and_then(Arg::literal).is_none_or(|word| word == "-") {
                    self.unclear(call.text, "it reads commands to run later", state);
                }
                false
            }
            _ => match container(base, &call.argv) {
                Some((entry, at)) => self.follow(entry, at, call, state),
                None => wrapper(base).is_some_and(|entry| self.follow(entry, 1, call, state)),
            },
        }
    }

    /// Follows the wrapper `entry`, whose options start at `at`.
    fn follow(&mut self, entry: &Wrapper, at: usize, call: &Call<'_>, state: &State) -> bool {
        let found = Options { entry, argv: &call.argv }.read(at);
        for why in &found.unclear {
            self.unclear(call.text, why, state);
        }
        let is_done = self.followed(entry, &found, call, state.clone());
        if !found.unclear.is_empty() {
            self.guess(call.argv.get(at..).unwrap_or_default(), entry.operands, call, state);
        }
        is_done
    }

    fn followed(
        &mut self,
        entry: &Wrapper,
        found: &Found,
        call: &Call<'_>,
        mut state: State,
    ) -> bool {
        let has = |wanted| found.extras.iter().any(|(extra, _)| *extra == wanted);
        let texts: Vec<&Arg> = found.of(Extra::Text).collect();
        let nothing = texts.is_empty() && found.split.is_none();
        let is_bare = found.inner_at >= call.argv.len() && nothing && !has(Extra::Entry);
        if is_bare || has(Extra::Nothing) {
            self.without_command(entry, found, call, &state);
            return false;
        }
        if entry.reach == Reach::Same {
            self.stands_around(call);
        } else {
            state.behind = Some(self.outer(Some(found.inner_at), call, &state));
            if entry.reach == Reach::Place {
                state.bases = Bases::Unknown;
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

    /// The part of a wrapper that needs a rule of its own.
    pub(super) fn outer(&mut self, at: Option<usize>, call: &Call<'_>, state: &State) -> usize {
        let command = Command {
            argv: call.argv.clone(),
            inner_at: at.map(|at| at.min(call.argv.len())),
            behind: state.behind,
            free: state.is_guess,
        };
        self.push(call.text, What::Command(command), state)
    }

    /// A wrapper that was given nothing to run.
    fn without_command(&mut self, entry: &Wrapper, found: &Found, call: &Call<'_>, state: &State) {
        let starts_shell = found.extras.iter().any(|(extra, _)| *extra == Extra::Shell)
            || matches!(entry.name, "su" | "runuser" | "script" | "chroot" | "unshare" | "nsenter");
        if starts_shell || entry.inner == Inner::Template {
            self.unclear(call.text, "it reads the commands that it runs", state);
        }
        let mut state = state.clone();
        self.extras(found, call, &mut state);
    }

    /// What the options do besides.
    fn extras(&mut self, found: &Found, call: &Call<'_>, state: &mut State) {
        for (name, value) in &found.assignments {
            let (name, value) = (name.clone(), value.clone());
            self.push(call.text, What::Set { name, value, scope: Scope::Command }, state);
        }
        for (extra, value) in &found.extras {
            let Some(Arg::One(word)) = value else { continue };
            match extra {
                Extra::Read => {
                    self.push(call.text, What::Read(word.clone()), state);
                }
                Extra::Write if runs(word) => {
                    self.unclear(call.text, "the output may go to a command", state);
                }
                Extra::Write => {
                    self.push(call.text, What::Write(word.clone()), state);
                }
                Extra::Enter => {
                    self.push(call.text, What::Enter(word.clone()), state);
                    state.bases = match word.literal() {
                        Some(path) => state.bases.enter(path),
                        None => Bases::Unknown,
                    };
                }
                _ => {}
            }
        }
    }

    /// A text that is given to a shell.
    pub(super) fn text_of(&mut self, text: &Arg, call: &Call<'_>, state: &State) {
        match text.literal() {
            Some(text) => {
                self.text(text, state.of_posix_child());
            }
            None => self.unclear(call.text, "the text that a shell runs is not literal", state),
        }
    }

    fn inner(&mut self, entry: &Wrapper, found: &Found, call: &Call<'_>, state: &State) {
        let words = call.argv.get(found.inner_at..).unwrap_or_default();
        let exact = found.extras.iter().any(|(extra, _)| *extra == Extra::Exact);
        let argv = match entry.inner {
            Inner::Text if !exact => return self.joined(words, call, state),
            Inner::Option => return self.unclear(call.text, "an operand is not understood", state),
            Inner::Fed => fed(words, found),
            Inner::Template => return self.template(words, call, state),
            Inner::Words | Inner::Text => {
                let mut argv: Vec<Arg> = match &found.split {
                    // What was split is read once more, with all that follows.
                    Some(split) => call.argv.iter().take(1).chain(split).cloned().collect(),
                    None => found.of(Extra::Entry).last().cloned().into_iter().collect(),
                };
                argv.extend_from_slice(words);
                argv
            }
        };
        self.call(call.with(argv, By::Program), state.clone());
    }

    /// Words that a shell gets as one text.
    fn joined(&mut self, words: &[Arg], call: &Call<'_>, state: &State) {
        match crate::argv::literal(words) {
            Some(words) => {
                self.text(&words.join(" "), state.of_posix_child());
            }
            None => self.unclear(call.text, "the text that a shell runs is not literal", state),
        }
    }

    /// `parallel` puts its arguments into a text, quoted, and gives that to a shell.
    fn template(&mut self, words: &[Arg], call: &Call<'_>, state: &State) {
        let is_separator = |word: &Arg| word.literal().is_some_and(|text| text.starts_with(":::"));
        let end = words.iter().position(is_separator).unwrap_or(words.len());
        let (words, _) = words.split_at(end);
        let is_word = |text: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./={}:,+@%".contains(&byte);
            text.bytes().all(plain)
        };
        let is_plain = |word: &Arg| word.literal().is_some_and(is_word);
        if words.is_empty() || !words.iter().all(is_plain) {
            self.unclear(call.text, "a template that a shell runs", state);
            return self.joined(words, call, state);
        }
        let braces = |word: &Arg| word.literal().is_some_and(|text| text.contains('{'));
        let mut argv: Vec<Arg> = words
            .iter()
            .map(|word| if braces(word) { Arg::One(Word::any()) } else { word.clone() })
            .collect();
        argv.push(Arg::Many(Word::any()));
        self.call(call.with(argv, By::Program), state.clone());
    }

    /// `at` and `batch` run their input later.
    fn at(&mut self, call: &Call<'_>, state: &State) -> bool {
        let index = self.command(call.text, call.argv.clone(), state);
        let mut later = state.of_posix_child();
        later.behind = Some(index);
        self.program_input(call, &later);
        true
    }
}

/// `docker exec` and its like: the entry, and where its options start.
fn container(base: &str, argv: &[Arg]) -> Option<(&'static Wrapper, usize)> {
    let rows = CONTAINERS.iter().filter(|(name, _, _)| *name == base);
    let words = argv.iter().enumerate().skip(1);
    for (at, word) in words {
        let Some(word) = word.literal() else { continue };
        // An option before the subcommand may take a value: look on, a rule for the whole remains.
        if let Some((_, _, entry)) = rows.clone().find(|(_, subcommand, _)| *subcommand == word) {
            return Some((entry, at + 1));
        }
        if at > 8 {
            break;
        }
    }
    None
}

/// The command of `xargs` with its input.
fn fed(words: &[Arg], found: &Found) -> Vec<Arg> {
    let mut argv = words.to_vec();
    let replaced: Vec<&str> = found.of(Extra::Replace).filter_map(Arg::literal).collect();
    if replaced.is_empty() {
        argv.push(Arg::Many(Word::any()));
        return argv;
    }
    for mark in replaced.iter().filter(|mark| !mark.is_empty()) {
        for word in &mut argv {
            replace(word, mark);
        }
    }
    argv
}

/// Replaces `mark` in a word by anything.
pub(super) fn replace(argument: &mut Arg, mark: &str) {
    let (Arg::One(word) | Arg::Some(word) | Arg::Many(word)) = argument;
    let has_mark = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains(mark));
    if !word.pieces.iter().any(has_mark) {
        return;
    }
    let mut pieces = Vec::new();
    for piece in word.pieces.drain(..) {
        match piece {
            Piece::Text(text) => {
                for (index, part) in text.split(mark).enumerate() {
                    if index > 0 {
                        pieces.push(Piece::Any);
                    }
                    pieces.push(Piece::Text(part.to_owned()));
                }
            }
            piece => pieces.push(piece),
        }
    }
    *word = super::expand::tidy(pieces);
}

/// Whether an output file is a command in disguise: `strace -o '|cmd'`.
fn runs(word: &Word) -> bool {
    match word.pieces.first() {
        Some(Piece::Text(text)) => text.starts_with(['|', '!']),
        Some(_) => true,
        None => false,
    }
}
