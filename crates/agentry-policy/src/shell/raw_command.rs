//! A simple command in raw words, from either parser.

use brush_parser::ast::{
    CommandPrefixOrSuffixItem, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, SimpleCommand,
};

use super::item::ShellItem;

/// The assignments, words and redirections of a simple command, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RawCommand {
    /// Assignments of the form `NAME=value`.
    pub(super) assignments: Vec<String>,
    /// The command and its arguments; `None` for a process substitution.
    pub(super) words: Vec<Option<String>>,
    /// The redirections.
    pub(super) redirects: Vec<ShellRedirect>,
}

/// A redirection in raw words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellRedirect {
    /// The kind of redirection.
    pub(super) kind: RedirectKind,
    /// The target, or the body of a here-document; `None` for a process substitution.
    pub(super) target: Option<String>,
    /// Whether it concerns standard input.
    pub(super) is_input: bool,
}

/// The kind of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`
    Write,
    /// `<>`
    Both,
    /// `>&`, `<&`
    Duplicate,
    /// `<<<`
    Text,
    /// `<<`
    Here { expands: bool },
    /// `<<` whose end the shell and the parsers may find in different places.
    Endless,
}

impl RawCommand {
    /// Converts a command of brush.
    pub(super) fn new(command: &SimpleCommand) -> Self {
        let mut simple = Self::default();
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                    simple.assignments.push(word.value.clone());
                }
                item => simple.part(item),
            }
        }
        simple.words.extend(command.word_or_name.iter().map(|word| Some(word.value.clone())));
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            simple.part(item);
        }
        simple
    }

    fn part(&mut self, item: &CommandPrefixOrSuffixItem) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                self.redirects.push(ShellRedirect::new(redirect));
            }
            CommandPrefixOrSuffixItem::Word(word)
            | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                self.words.push(Some(word.value.clone()));
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(..) => self.words.push(None),
        }
    }

    /// Collects every simple command of a flat list.
    pub(super) fn all(items: &[ShellItem]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut current = Self::default();
        let mut operator = String::new();
        for item in items {
            match item {
                // A name, an operator or a keyword ends the command before it.
                ShellItem::Name(_) | ShellItem::Mark(_) | ShellItem::Bound(_)
                    if !current.words.is_empty() =>
                {
                    all.push(std::mem::take(&mut current));
                }
                _ => {}
            }
            match item {
                ShellItem::Name(word) | ShellItem::Word(word) => {
                    current.words.push(Some(word.clone()));
                }
                ShellItem::Assign(word) => current.assignments.push(word.clone()),
                ShellItem::Redirect(text) => operator.clone_from(text),
                ShellItem::Target(word) => {
                    current.redirects.push(ShellRedirect::parse(&operator, word));
                }
                ShellItem::Here(delimiter, body) => {
                    let expands = !delimiter.contains(['\'', '"', '\\']);
                    let (kind, target) = (RedirectKind::Here { expands }, Some(body.clone()));
                    current.redirects.push(ShellRedirect { kind, target, is_input: true });
                }
                ShellItem::Mark(_) | ShellItem::Bound(_) | ShellItem::Inside(_) => {}
            }
        }
        all.push(current);
        all.retain(|simple| *simple != Self::default());
        all
    }

    /// Returns approximately the text as written.
    pub(super) fn text(&self) -> String {
        let mut parts: Vec<String> = self.assignments.clone();
        let words = self.words.iter().map(|word| word.clone().unwrap_or_else(|| "<(…)".to_owned()));
        parts.extend(words);
        parts.extend(self.redirects.iter().map(ShellRedirect::text));
        parts.join(" ")
    }
}

impl ShellRedirect {
    /// Converts a redirection of brush.
    pub(super) fn new(redirect: &IoRedirect) -> Self {
        match redirect {
            IoRedirect::File(descriptor, kind, target) => Self::file(*descriptor, kind, target),
            IoRedirect::OutputAndError(word, _) => Self {
                kind: RedirectKind::Write,
                target: Some(word.value.clone()),
                is_input: false,
            },
            IoRedirect::HereString(descriptor, word) => Self {
                kind: RedirectKind::Text,
                target: Some(word.value.clone()),
                is_input: descriptor.is_none_or(|number| number == 0),
            },
            IoRedirect::HereDocument(descriptor, here) => Self {
                kind: if here.requires_expansion && hides_end(&here.doc.value, &here.here_end.value)
                {
                    RedirectKind::Endless
                } else {
                    RedirectKind::Here { expands: here.requires_expansion }
                },
                target: Some(here.doc.value.clone()),
                is_input: descriptor.is_none_or(|number| number == 0),
            },
        }
    }

    fn file(
        descriptor: Option<i32>,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
    ) -> Self {
        let (kind, standard) = match kind {
            IoFileRedirectKind::Read => (RedirectKind::Read, 0),
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Append
            | IoFileRedirectKind::Clobber => (RedirectKind::Write, 1),
            IoFileRedirectKind::ReadAndWrite => (RedirectKind::Both, 0),
            IoFileRedirectKind::DuplicateInput => (RedirectKind::Duplicate, 0),
            IoFileRedirectKind::DuplicateOutput => (RedirectKind::Duplicate, 1),
        };
        let target = match target {
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                Some(word.value.clone())
            }
            IoFileRedirectTarget::Fd(number) => Some(number.to_string()),
            IoFileRedirectTarget::ProcessSubstitution(..) => None,
        };
        Self { kind, target, is_input: descriptor.unwrap_or(standard) == 0 }
    }

    /// Parses an operator with its descriptor.
    fn parse(operator: &str, target: &str) -> Self {
        // The descriptor comes before the operator: `2>`.
        let descriptor: Option<i32> =
            operator.trim_end_matches(['<', '>', '&', '|', '-']).parse().ok();
        let operator = operator.trim_start_matches(|c: char| c.is_ascii_digit());
        let (kind, standard) = match operator {
            "<" => (RedirectKind::Read, 0),
            "<&" => (RedirectKind::Duplicate, 0),
            "<>" => (RedirectKind::Both, 0),
            "<<<" => (RedirectKind::Text, 0),
            ">&" => (RedirectKind::Duplicate, 1),
            _ => (RedirectKind::Write, 1),
        };
        let is_input = descriptor.unwrap_or(standard) == 0;
        Self { kind, target: Some(target.to_owned()), is_input }
    }

    fn text(&self) -> String {
        let target = self.target.as_deref().unwrap_or("<(…)");
        match self.kind {
            RedirectKind::Read => format!("< {target}"),
            RedirectKind::Write => format!("> {target}"),
            RedirectKind::Both => format!("<> {target}"),
            RedirectKind::Duplicate => format!(">&{target}"),
            RedirectKind::Text => format!("<<< {target}"),
            RedirectKind::Here { .. } | RedirectKind::Endless => "<< …".to_owned(),
        }
    }
}

/// Whether a backslash at the end of a line changes where a here-document ends. The shell joins such lines
/// before it looks for the end; the parsers do not.
fn hides_end(body: &str, end: &str) -> bool {
    // An odd number of backslashes escapes the line break.
    let is_joined = |line: &str| (line.len() - line.trim_end_matches('\\').len()) % 2 == 1;
    let mut joined = String::new();
    for line in body.lines() {
        joined.push_str(line);
        if is_joined(line) {
            joined.pop();
            continue;
        }
        if joined.len() > line.len() && joined.trim_start_matches('\t') == end {
            return true;
        }
        joined.clear();
    }
    body.lines().last().is_some_and(is_joined)
}
