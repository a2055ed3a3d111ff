//! Follows programs that search for files and run a command on each.

use agentry_commands::{PrintedWords, printed};

use super::{replace, with_names};
use crate::argv::{ShellArg, ShellWord, WordPiece};
use crate::shell::CurrentDirs;
use crate::shell::analyser::ShellAnalyser;
use crate::shell::call::{CommandLookup, ShellCall};
use crate::shell::state::ShellState;

impl ShellAnalyser<'_> {
    /// Follows `find … -exec command {} ;`; `find` itself is judged as well.
    pub(super) fn find(&mut self, call: &ShellCall<'_>, state: &ShellState) -> bool {
        let mut at = 1;
        let mut own: Vec<ShellArg> = call.argv.first().cloned().into_iter().collect();
        let conditions: Vec<ShellArg> =
            call.argv.iter().take_while(|arg| !starts_action(arg)).cloned().collect();
        let found = printed(&conditions);
        while let Some(argument) = call.argv.get(at) {
            at += 1;
            if may_become(argument, &["-exec", "-ok"]) {
                self.unclear(call.text, "a word may become an action of `find`", state);
            }
            let Some(action @ ("-exec" | "-execdir" | "-ok" | "-okdir")) = argument.literal()
            else {
                own.push(argument.clone());
                continue;
            };
            let rest = call.argv.get(at..).unwrap_or_default();
            let end = end_of_command(rest);
            let Some(end) = end.filter(|end| *end > 0) else {
                self.unclear(call.text, "the command that `find` runs does not end", state);
                self.guess(rest, 0, call, state);
                own.push(argument.clone());
                continue;
            };
            let mut argv = rest.get(..end).unwrap_or_default().to_vec();
            let is_batch = rest.get(end).and_then(ShellArg::literal) == Some("+");
            let mut inside = state.clone();
            let any = if is_batch { ShellArg::Many } else { ShellArg::One }(ShellWord::any());
            let mut names = vec![any];
            if action.ends_with("dir") {
                // `-execdir` runs the command in the directory of each file.
                inside.bases = CurrentDirs::Unknown;
            } else if let Some(PrintedWords::Paths(paths)) = &found {
                names = paths.iter().cloned().map(ShellArg::Many).collect();
            }
            argv = with_names(argv, "{}", &names);
            self.call(call.with(argv, CommandLookup::Program), inside);
            at += end + 1;
        }
        if own.len() == call.argv.len() {
            return false;
        }
        // Deny and ask rules apply to the whole as well; its commands were already added separately.
        let mut whole = state.clone();
        whole.is_guess = true;
        self.command(call.text, call.argv.clone(), &whole);
        self.command(call.text, own, state);
        true
    }

    /// Follows `fd pattern -x command {}`.
    pub(super) fn fd(&mut self, call: &ShellCall<'_>, state: &ShellState) -> bool {
        let is_action = |word: &ShellArg| {
            matches!(word.literal(), Some("-x" | "-X" | "--exec" | "--exec-batch"))
        };
        let mut rest = call.argv.as_slice();
        while let Some(at) = rest.iter().position(is_action) {
            rest = rest.get(at + 1..).unwrap_or_default();
            let end = rest.iter().position(|word| word.literal() == Some(";"));
            let end = end.unwrap_or(rest.len());
            let mut argv = rest.get(..end).unwrap_or_default().to_vec();
            rest = rest.get(end..).unwrap_or_default();
            let before = argv.clone();
            for mark in ["{}", "{/}", "{//}", "{.}", "{/.}"] {
                argv.iter_mut().for_each(|word| replace(word, mark));
            }
            // Without a placeholder `fd` appends the path.
            if argv == before {
                argv.push(ShellArg::Many(ShellWord::any()));
            }
            self.call(call.with(argv, CommandLookup::Program), state.clone());
        }
        let is_hidden = |word: &&ShellArg| {
            word.literal().is_some_and(|text| {
                let is_cluster = text.starts_with('-') && !text.starts_with("--") && text.len() > 2;
                (is_cluster && text.contains(['x', 'X'])) || text.starts_with("--exec")
            })
        };
        let is_unknown = |word: &ShellArg| may_become(word, &["-", "--exec"]);
        if call.argv.iter().skip(1).any(is_unknown)
            || call.argv.iter().filter(is_hidden).any(|word| !is_action(word))
        {
            self.unclear(call.text, "an option that runs a command", state);
        }
        false
    }
}

/// Whether an argument of `find` starts an action that runs a command.
fn starts_action(arg: &ShellArg) -> bool {
    arg.literal().is_some_and(|text| text.starts_with("-exec") || text.starts_with("-ok"))
}

/// Returns where the command of `find` ends: at `;`, or at a `+` after `{}`.
fn end_of_command(words: &[ShellArg]) -> Option<usize> {
    let mut before = None;
    words.iter().position(|word| {
        let ends = match word.literal() {
            Some(";") => true,
            Some("+") => before == Some("{}"),
            _ => false,
        };
        before = word.literal();
        ends
    })
}

/// Whether an argument that is not literal may be a word with one of these prefixes.
fn may_become(argument: &ShellArg, starts: &[&str]) -> bool {
    if argument.literal().is_some() {
        return false;
    }
    let (ShellArg::One(word) | ShellArg::Some(word) | ShellArg::Many(word)) = argument;
    match word.pieces.first() {
        Some(WordPiece::Text(text)) if !word.is_loose() => {
            starts.iter().any(|start| start.starts_with(text.as_str()) || text.starts_with(start))
        }
        Some(WordPiece::Label | WordPiece::Number) | None => word.is_loose(),
        Some(
            WordPiece::Text(_)
            | WordPiece::Segment
            | WordPiece::Below
            | WordPiece::Loose
            | WordPiece::Any,
        ) => true,
    }
}
