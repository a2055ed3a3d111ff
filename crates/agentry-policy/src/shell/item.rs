//! What both parsers must agree on: the tokens of a line in the order of their effect.

use std::borrow::Cow;

/// One thing that a parser saw. Two readings are the same when their lists are.
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
    /// Where it leads.
    Target(String),
    /// The delimiter and the body of a here-document.
    Here(String, String),
    /// An operator or a keyword.
    Mark(&'static str),
    /// The name of a function or of the variable of a loop.
    Bound(String),
    /// The text of a substitution inside of the last word.
    Inside(String),
}

/// Takes the line continuations out, which one parser keeps and the other one does not.
pub(super) fn joined(text: &str) -> String {
    text.replace("\\\n", "")
}

/// A here-document's body as both parsers give it: without indentation and the last line break.
pub(super) fn body(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(|line| line.trim_start_matches('\t')).collect();
    lines.join("\n").trim_end_matches('\n').to_owned()
}

/// An array's value with single spaces, which is how one of the parsers gives it.
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

/// The interned form of a keyword or an operator.
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
