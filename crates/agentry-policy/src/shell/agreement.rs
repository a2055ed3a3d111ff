//! Parses one text with two parsers. Only text that both parse in the same way counts as understood.

use std::collections::HashSet;

use brush_parser::ast::Program;

use super::item::ShellItem;
use super::raw_command::RawCommand;
use super::{brush, screen, tree_sitter};

/// The result of both parsers.
pub(super) struct ShellReading {
    /// The tree to walk, if brush could parse the text.
    pub(super) program: Option<Program>,
    /// Commands that only tree-sitter found, or that were guessed.
    pub(super) others: Vec<RawCommand>,
    /// Why the text as a whole is not understood.
    pub(super) trouble: Option<String>,
    /// How much work the parsing was.
    pub(super) work: usize,
    /// Whether there is a here-document and more than one command.
    pub(super) is_mixed: bool,
}

/// Keywords that come before a command.
const KEYWORDS: &[&str] = &["if", "then", "elif", "else", "while", "until", "do", "!", "time"];

/// Parses `text` with both parsers.
pub(super) fn read(text: &str) -> ShellReading {
    let screened = screen::trouble(text);
    if text.len() > screen::MAX_BYTES {
        return ShellReading {
            program: None,
            others: Vec::new(),
            trouble: screened,
            work: 0,
            is_mixed: false,
        };
    }
    let other = tree_sitter::read(text);
    let (program, items, problem) = match brush::read(text) {
        Ok(brush::BrushTree { program, items }) => (Some(program), items, None),
        Err(error) => (None, Vec::new(), Some(format!("the line cannot be parsed: {error}"))),
    };
    let problem = problem.or_else(|| difference(&items, other.as_ref()));
    let trouble = screened.or(problem);
    let work = items.len() + other.as_ref().map_or(0, |other| other.work);
    let is_mixed = is_mixed(&items);
    let others = match (&trouble, other) {
        (Some(_), Some(other)) => {
            let mut others = missing(&items, &other.items);
            if program.is_none() {
                others.extend(guessed(text));
            }
            others
        }
        (Some(_), None) => guessed(text),
        (None, _) => Vec::new(),
    };
    ShellReading { program, others, trouble, work, is_mixed }
}

/// Describes how the second result differs from the first.
fn difference(items: &[ShellItem], other: Option<&tree_sitter::TreeSitterItems>) -> Option<String> {
    match other {
        None => Some("the line is too much work to parse".to_owned()),
        Some(other) if !other.is_sound => Some("the line cannot be parsed".to_owned()),
        Some(other) if other.items == items => None,
        Some(_) => Some("two parsers read the line differently".to_owned()),
    }
}

fn is_mixed(items: &[ShellItem]) -> bool {
    let commands = items.iter().filter(|item| matches!(item, ShellItem::Name(_))).count();
    commands > 1 && items.iter().any(|item| matches!(item, ShellItem::Here(..)))
}

/// Guesses the commands of a text that no parser can read, so that deny rules still apply.
fn guessed(text: &str) -> Vec<RawCommand> {
    let breaks = ['\n', ';', '&', '|', '(', ')', '{', '}', '`'];
    let is_keyword = |word: &&str| KEYWORDS.contains(word);
    let words = |part: &str| {
        let words = part.split_whitespace().skip_while(is_keyword);
        words.map(|word| Some(word.to_owned())).collect()
    };
    let parts = text.split(breaks).filter(|part| !part.trim().is_empty());
    parts.map(|part| RawCommand { words: words(part), ..RawCommand::default() }).collect()
}

/// Returns the commands that only the second parser found.
fn missing(items: &[ShellItem], other: &[ShellItem]) -> Vec<RawCommand> {
    let known: HashSet<String> = RawCommand::all(items).iter().map(RawCommand::text).collect();
    let mut found = RawCommand::all(other);
    found.retain(|simple| !known.contains(&simple.text()));
    found
}
