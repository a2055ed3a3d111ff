//! Aliases and settings that a command line defines for a program: `git -c alias.p=push p`.

use agentry_commands::{ProgramTrait, has_trait};

use super::analyser::ShellAnalyser;
use super::call::{CommandLookup, ShellCall};
use super::state::ShellState;
use crate::argv::{ShellArg, ShellWord, WordPiece};

/// The last part of the names of settings whose value is run, in lower case.
const RUN: &[&str] = &[
    "askpass",
    "clean",
    "cmd",
    "command",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "helper",
    "pager",
    "path",
    "process",
    "program",
    "receivepack",
    "smudge",
    "sshcommand",
    "ssh",
    "textconv",
    "uploadpack",
];

/// How many settings of one command are analysed.
const MAX_SETTINGS: usize = 32;

/// A setting, and its value if that is literal.
struct AliasSetting<'a> {
    key: String,
    value: Option<&'a str>,
}

impl ShellAnalyser<'_> {
    /// Adds the commands that the settings of a call of `base` run, now or later; only deny and ask rules
    /// apply.
    pub(super) fn settings(&mut self, base: &str, call: &ShellCall<'_>, state: &ShellState) {
        if !has_trait(base, ProgramTrait::Aliases) {
            return;
        }
        let mut inside = state.clone();
        inside.is_guess = true;
        // An alias may define an alias; two levels are followed.
        inside.guesses += 1;
        if inside.guesses > 2 {
            return self.unclear(call.text, "too much nesting", state);
        }
        let found = settings(base, &call.argv);
        if found.len() > MAX_SETTINGS {
            self.unclear(call.text, "too many settings", state);
        }
        for AliasSetting { key, value } in found.into_iter().take(MAX_SETTINGS) {
            let key = key.to_ascii_lowercase();
            let last = key.rsplit('.').next().unwrap_or_default();
            if key.starts_with("alias.") || key.starts_with("aliases.") {
                self.unclear(call.text, "it gives a command another name", state);
                self.alias(base, value.unwrap_or_default(), call, &inside);
            } else if RUN.contains(&last) {
                match value {
                    Some(text) => {
                        self.text(text.trim_start_matches('!'), inside.of_posix_child());
                    }
                    None => self.unclear(call.text, "a program that is not literal", state),
                }
            }
        }
    }

    /// Adds the command of an alias: a text for a shell, or arguments of the program itself.
    fn alias(&mut self, base: &str, value: &str, call: &ShellCall<'_>, state: &ShellState) {
        let value = value.trim_matches(['"', '\'', ' ']);
        if let Some(text) = value.strip_prefix('!') {
            self.text(text, state.of_posix_child());
            return;
        }
        let words = value.split(|c: char| c.is_whitespace() || "[]\"',".contains(c));
        let words = words.filter(|word| !word.is_empty()).map(ShellArg::text);
        let mut argv: Vec<ShellArg> = std::iter::once(ShellArg::text(base)).chain(words).collect();
        // The arguments of the call are appended to the alias.
        argv.push(ShellArg::Many(ShellWord::any()));
        self.call(call.with(argv, CommandLookup::Program), state.clone());
    }
}

/// Finds the settings among the arguments.
fn settings<'a>(base: &str, argv: &'a [ShellArg]) -> Vec<AliasSetting<'a>> {
    let words: Vec<Option<&str>> = argv.iter().map(ShellArg::literal).collect();
    let (has_alias, has_config) = (words.contains(&Some("alias")), words.contains(&Some("config")));
    let mut found = Vec::new();
    let mut before = None;
    for (at, arg) in argv.iter().enumerate().skip(1) {
        let word = start(arg);
        let joined = ["--config=", "--config-env="].iter().find_map(|it| word.strip_prefix(it));
        let is_setting = matches!(before, Some("-c" | "--config" | "--config-env"));
        let next = words.get(at + 1).copied().flatten();
        let setting = joined.or(is_setting.then_some(word));
        if let Some((key, value)) = setting.and_then(|setting| setting.split_once('=')) {
            let is_literal = arg.literal().is_some() && !word.starts_with("--config-env");
            let value = Some(value).filter(|_| is_literal && before != Some("--config-env"));
            found.push(AliasSetting { key: key.trim().to_owned(), value });
        } else if base == "gh" && before == Some("set") && has_alias {
            found.push(AliasSetting { key: format!("alias.{word}"), value: next });
        } else if base != "gh" && has_config && is_key(word) && at + 1 < argv.len() {
            // Covers `git config alias.p push`; without a value the setting is only shown.
            found.push(AliasSetting { key: word.to_owned(), value: next });
        }
        before = words.get(at).copied().flatten();
    }
    found
}

fn is_key(word: &str) -> bool {
    word.contains('.') && !word.starts_with('-')
}

/// Returns the literal text that a word starts with.
fn start(arg: &ShellArg) -> &str {
    let (ShellArg::One(word) | ShellArg::Some(word) | ShellArg::Many(word)) = arg;
    match word.pieces.first() {
        Some(WordPiece::Text(text)) => text,
        _ => "",
    }
}
