//! Tables of lines and their parts, in a compact notation.
//!
//! `run`, `free` (a command without effect), `read`, `write`, `enter`, `set` (`!` marks exported variables,
//! `=` those of the shell), `unclear`. In words `*` is a segment and `…` any text; a trailing `+` means one
//! or more words, `**` any number of them. `@n` is where the inner command starts, `<n` the part of the
//! wrapper, `in d` a directory other than the start.

mod bypasses;
mod everyday;
mod hostile;
mod state;
mod wrappers;

use super::{
    CommandRole, CurrentDirs, LinePart, PartEffect, ShellCommand, ShellContext, VariableScope,
    analyse,
};
use crate::argv::{ShellArg, ShellWord, WordPiece};

/// A table of lines.
pub(super) type Cases = &'static [(&'static str, &'static [&'static str])];

pub(super) fn context() -> ShellContext {
    ShellContext { home: Some("/home/user".to_owned()), directory: Some("/srv/space".to_owned()) }
}

/// Checks every row.
pub(super) fn check(cases: Cases) {
    let mut wrong = Vec::new();
    for (line, expected) in cases {
        let parts: Vec<String> = analyse(line, &context()).iter().map(render).collect();
        if parts != *expected {
            wrong.push(format!("{line:?}\n  found    {parts:?}\n  expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that every row has an unclear part, and the given parts besides.
pub(super) fn check_unclear(cases: Cases) {
    let mut wrong = Vec::new();
    for (line, expected) in cases {
        let parts: Vec<String> = analyse(line, &context()).iter().map(render_bare).collect();
        let has = |wanted: &&str| parts.iter().any(|part| part == wanted);
        if !has(&"unclear") || !expected.iter().all(has) {
            wrong.push(format!("{line:?}\n  found    {parts:?}\n  expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn render_bare(part: &LinePart) -> String {
    let mut part = part.clone();
    part.bases = CurrentDirs::default();
    render(&part)
}

fn render(part: &LinePart) -> String {
    let what = match &part.what {
        PartEffect::Command(command) => render_command(command),
        PartEffect::Read(word) => format!("read {}", render_word(word)),
        PartEffect::Write(word) => format!("write {}", render_word(word)),
        PartEffect::Enter(word) => format!("enter {}", render_word(word)),
        PartEffect::Set { name, value, scope } => {
            let mark = match scope {
                VariableScope::Command => "",
                VariableScope::Shell => "=",
                VariableScope::Exported => "!",
            };
            format!("set{mark} {name}={}", render_word(value))
        }
        PartEffect::Lasting { .. } => return "lasting".to_owned(),
        PartEffect::Unclear { .. } => return "unclear".to_owned(),
    };
    match &part.bases {
        CurrentDirs::Unknown => format!("{what} in ?"),
        CurrentDirs::Known(all) if **all == [".".to_owned()] => what,
        CurrentDirs::Known(all) => format!("{what} in {}", all.join("|")),
    }
}

fn render_command(command: &ShellCommand) -> String {
    let ShellCommand { argv, inner_at, behind, role } = command;
    let words: Vec<String> = argv.iter().map(render_arg).collect();
    let verb = if *role == CommandRole::Own { "run" } else { "free" };
    let inner = inner_at.map(|at| format!(" @{at}")).unwrap_or_default();
    let behind = behind.map(|part| format!(" <{part}")).unwrap_or_default();
    format!("{verb} {}{inner}{behind}", words.join(" "))
}

fn render_arg(argument: &ShellArg) -> String {
    match argument {
        ShellArg::One(word) => render_word(word),
        ShellArg::Some(word) => format!("{}+", render_word(word)),
        ShellArg::Many(word) if *word == ShellWord::any() => "**".to_owned(),
        ShellArg::Many(word) => format!("{}**", render_word(word)),
    }
}

fn render_word(word: &ShellWord) -> String {
    let piece = |piece: &WordPiece| match piece {
        WordPiece::Text(text) => text.clone(),
        WordPiece::Segment | WordPiece::Number => "*".to_owned(),
        WordPiece::Below => "/…".to_owned(),
        WordPiece::Loose => "~".to_owned(),
        WordPiece::Label | WordPiece::Any => "…".to_owned(),
    };
    let text: String = word.pieces.iter().map(piece).collect();
    if text.is_empty() || text.contains([' ', '\n']) { format!("'{text}'") } else { text }
}
