//! Parses a line with brush, into the tree that the analysis walks and a flat list for comparison.
//!
//! Brush is recursive, and backtracks without memoisation, so inputs that would take too long are rejected
//! first.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast::Program;
use brush_parser::{ParserOptions, Token};

mod documents;
mod items;

use super::item::ShellItem;
use super::screen::nesting;

/// Up to this many openings are parsed on the caller's stack.
const SHALLOW: usize = 24;
/// Beyond this many openings, nothing is parsed.
const MAX_OPENINGS: usize = 10_000;
/// Beyond this depth, nothing is parsed.
const MAX_NESTING: usize = 250;
/// Stack for one level of nesting, in the worst case of an unoptimised build.
const LEVEL: usize = 64 * 1024;

/// Deeper trees are not walked.
const MAX_DEPTH: usize = 32;

/// A program and its flat list.
pub(super) struct BrushTree {
    /// The tree to walk.
    pub(super) program: Program,
    /// The list to compare with tree-sitter.
    pub(super) items: Vec<ShellItem>,
}

/// Parses `text`.
pub(super) fn read(text: &str) -> Result<BrushTree, String> {
    let openings = openings(text);
    if openings <= SHALLOW {
        return caught(text);
    }
    if openings > MAX_OPENINGS || nesting(text) > MAX_NESTING {
        return Err("too much nesting".to_owned());
    }
    // Deep input gets its own thread, whose stack is large enough for the worst case.
    let stack = LEVEL * (openings + SHALLOW);
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(stack);
        let thread = builder.spawn_scoped(scope, || caught(text));
        let result = thread.ok().and_then(|thread| thread.join().ok());
        result.unwrap_or_else(|| Err("too much nesting".to_owned()))
    })
}

/// Returns an upper bound of the nesting, without regard to quotes.
fn openings(text: &str) -> usize {
    const WORDS: &[&str] =
        &["if", "elif", "while", "until", "for", "case", "coproc", "function", "!"];
    let brackets = text.bytes().filter(|byte| matches!(byte, b'(' | b'{' | b'['));
    let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '('));
    brackets.count() + words.by_ref().filter(|word| WORDS.contains(word)).count()
}

/// Parses on the current stack; a panic of the parser means that the text is not understood.
fn caught(text: &str) -> Result<BrushTree, String> {
    let result = catch_unwind(AssertUnwindSafe(|| direct(text)));
    result.unwrap_or_else(|_| Err("the line cannot be parsed".to_owned()))
}

fn direct(text: &str) -> Result<BrushTree, String> {
    // Extended globs are off in scripts, where `!(rm x)` therefore runs `rm`.
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    if documents::may_hang(text) {
        return Err("brackets beside a here-document".to_owned());
    }
    let tokens = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options());
    let tokens = tokens.map_err(|error| error.to_string())?;
    if let Some(reason) = runs_away(&tokens) {
        return Err(reason.to_owned());
    }
    let program = brush_parser::parse_tokens(&tokens, &options);
    let program = program.map_err(|error| error.to_string())?;
    // A tree that is too deep is dropped here, where the stack is large enough.
    match items::flat(&program) {
        (items, depth) if depth <= MAX_DEPTH => Ok(BrushTree { program, items }),
        _ => Err("too much nesting".to_owned()),
    }
}

/// Detects tokens for which the grammar needs exponential time or panics.
fn runs_away(tokens: &[Token]) -> Option<&'static str> {
    let pairs = tokens.iter().zip(tokens.iter().skip(1));
    let mut cases = 0;
    let mut parentheses = 0;
    let mut regexes = false;
    for (token, next) in pairs {
        match (token, next) {
            (Token::Operator(a, _), Token::Operator(b, _)) if a == "(" && b == "(" => {
                return Some("arithmetic");
            }
            (Token::Word(a, _), Token::Operator(..)) if is_huge_number(a) => {
                return Some("a descriptor out of range");
            }
            (Token::Word(a, _), _) if a == "case" => cases += 1,
            (Token::Word(a, _), _) if a == "=~" => regexes = true,
            (Token::Word(a, _), _) if is_odd_subscript(a) => return Some("an array subscript"),
            (Token::Operator(a, _), _) if a == "(" => parentheses += 1,
            _ => {}
        }
    }
    let last = tokens.last().filter(|token| is_odd_subscript(token.to_str()));
    match last {
        Some(_) => Some("an array subscript"),
        None if cases > 8 => Some("too many `case` statements"),
        None if regexes && parentheses > 8 => Some("too much nesting"),
        None => None,
    }
}

fn is_huge_number(text: &str) -> bool {
    text.len() > 9 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word starts like an array element whose subscript is more than a plain word.
fn is_odd_subscript(word: &str) -> bool {
    let Some((name, rest)) = word.split_once('[') else { return false };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let index = rest.split(']').next().unwrap_or_default();
    is_name && !name.is_empty() && index.contains(['[', '(', '$', '`', '{', '"', '\'', '\\'])
}
