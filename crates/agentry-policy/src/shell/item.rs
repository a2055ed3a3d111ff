//! The tokens of a line in the order of their effect, on which both parsers have to agree.

use std::borrow::Cow;

/// One token that a parser found; two results agree if their lists are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellItem {
    /// The first word of a simple command.
    Name(String),
    /// Any other word.
    Word(String),
    /// An assignment before the command word, or without one.
    Assign(String),
    /// A redirection: descriptor and operator.
    Redirect(String),
    /// The target of the redirection.
    Target(String),
    /// The delimiter and the body of a here-document.
    Here(String, String),
    /// An operator or a keyword.
    Mark(&'static str),
    /// The name of a function, or of a loop variable.
    Bound(String),
    /// The text of a substitution inside the last word.
    Inside(String),
}

/// Removes line continuations, which only one of the parsers keeps.
pub(super) fn joined(text: &str) -> String {
    text.replace("\\\n", "")
}

/// Normalises the body of a here-document: without leading tabs and trailing line breaks.
pub(super) fn body(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(|line| line.trim_start_matches('\t')).collect();
    lines.join("\n").trim_end_matches('\n').to_owned()
}

/// Normalises the value of an array to single spaces, as one of the parsers returns it.
pub(super) fn assignment(text: &str) -> String {
    let text = joined(text);
    match text.split_once("=(") {
        Some((name, value)) if !value.contains(['\'', '"', '`', '\\']) => {
            let value: Vec<&str> = value.split_whitespace().collect();
            let value = value.join(" ").replace("( ", "(").replace(" )", ")");
            format!("{name}=({value}")
        }
        _ => text,
    }
}

/// Returns the interned form of a keyword or an operator.
pub(super) fn mark(text: &str) -> Option<&'static str> {
    const MARKS: &[&str] = &[
        "&&", "||", "|", "&", "!", "{", "}", "(", ")", "if", "then", "elif", "else", "fi", "while",
        "until", "for", "do", "done", "case", "esac", "function",
    ];
    let text = match text {
        "|&" => Cow::Borrowed("|"),
        text => Cow::Borrowed(text),
    };
    MARKS.iter().copied().find(|mark| *mark == text)
}
