//! Lines and their parts, in a compact notation.
//!
//! `run`, `free` (a command without effect), `read`, `write`, `enter`, `set` (`!` marks exported ones,
//! `=` those of the shell), `unclear`. In words `*` is a segment, `…` anything; a trailing `+` is one
//! or more words, `**` any number of them. `@n` is where the inner command starts, `<n` the part
//! that a command is behind, `in d` a directory other than the start.

mod bypasses;
mod everyday;
mod hostile;
mod state;
mod wrappers;

use super::{Bases, Command, Context, Part, Scope, What, analyse};
use crate::argv::{Arg, Piece, Word};

/// A table of lines.
pub(super) type Cases = &'static [(&'static str, &'static [&'static str])];

pub(super) fn context() -> Context {
    Context { home: Some("/home/user".to_owned()), directory: Some("/srv/space".to_owned()) }
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

/// Checks that every row has an unclear part, and the given ones among the others.
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

fn render_bare(part: &Part) -> String {
    let mut part = part.clone();
    part.bases = Bases::default();
    render(&part)
}

fn render(part: &Part) -> String {
    let what = match &part.what {
        What::Command(command) => render_command(command),
        What::Read(word) => format!("read {}", render_word(word)),
        What::Write(word) => format!("write {}", render_word(word)),
        What::Enter(word) => format!("enter {}", render_word(word)),
        What::Set { name, value, scope } => {
            let mark = match scope {
                Scope::Command => "",
                Scope::Shell => "=",
                Scope::Exported => "!",
            };
            format!("set{mark} {name}={}", render_word(value))
        }
        What::Unclear { .. } => return "unclear".to_owned(),
    };
    match &part.bases {
        Bases::Unknown => format!("{what} in ?"),
        Bases::Known(all) if **all == [".".to_owned()] => what,
        Bases::Known(all) => format!("{what} in {}", all.join("|")),
    }
}

fn render_command(command: &Command) -> String {
    let Command { argv, inner_at, behind, free } = command;
    let words: Vec<String> = argv.iter().map(render_arg).collect();
    let verb = if *free { "free" } else { "run" };
    let inner = inner_at.map(|at| format!(" @{at}")).unwrap_or_default();
    let behind = behind.map(|part| format!(" <{part}")).unwrap_or_default();
    format!("{verb} {}{inner}{behind}", words.join(" "))
}

fn render_arg(argument: &Arg) -> String {
    match argument {
        Arg::One(word) => render_word(word),
        Arg::Some(word) => format!("{}+", render_word(word)),
        Arg::Many(word) if *word == Word::any() => "**".to_owned(),
        Arg::Many(word) => format!("{}**", render_word(word)),
    }
}

fn render_word(word: &Word) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Segment => "*".to_owned(),
        Piece::Any => "…".to_owned(),
    };
    let text: String = word.pieces.iter().map(piece).collect();
    if text.is_empty() || text.contains([' ', '\n']) { format!("'{text}'") } else { text }
}
