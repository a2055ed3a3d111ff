//! A line as brush sees it: the tree that the analysis walks, and its flat list.
//!
//! Brush recurses, and backtracks without a memory: what would make it run away is kept from it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast::Program;
use brush_parser::{ParserOptions, Token};

mod documents;
mod items;

use super::item::ShellItem;
use super::screen::nesting;

/// So many openings are read on the caller's stack.
const SHALLOW: usize = 24;
/// With more than so many, nothing is read.
const MAX_OPENINGS: usize = 10_000;
/// Nor with so many inside of each other.
const MAX_NESTING: usize = 250;
/// Stack for one level of nesting, in the worst case of an unoptimised build.
const LEVEL: usize = 64 * 1024;

/// Deeper trees are not walked.
const MAX_DEPTH: usize = 32;

/// A program and its flat list.
pub(super) struct BrushTree {
    /// What to walk.
    pub(super) program: Program,
    /// What to compare.
    pub(super) items: Vec<ShellItem>,
}

/// Reads `text`.
pub(super) fn read(text: &str) -> Result<BrushTree, String> {
    let openings = openings(text);
    if openings <= SHALLOW {
        return caught(text);
    }
    if openings > MAX_OPENINGS || nesting(text) > MAX_NESTING {
        return Err("too much nesting".to_owned());
    }
    let stack = LEVEL * (openings + SHALLOW);
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(stack);
        let thread = builder.spawn_scoped(scope, || caught(text));
        let result = thread.ok().and_then(|thread| thread.join().ok());
        result.unwrap_or_else(|| Err("too much nesting".to_owned()))
    })
}

/// How deep the text may nest at most, whatever its quotes mean.
fn openings(text: &str) -> usize {
    const WORDS: &[&str] =
        &["if", "elif", "while", "until", "for", "case", "coproc", "function", "!"];
    let brackets = text.bytes().filter(|byte| matches!(byte, b'(' | b'{' | b'['));
    let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '('));
    brackets.count() + words.by_ref().filter(|word| WORDS.contains(word)).count()
}

/// Reads on the current stack. A panic of the parser is an answer too: not understood.
fn caught(text: &str) -> Result<BrushTree, String> {
    let result = catch_unwind(AssertUnwindSafe(|| direct(text)));
    result.unwrap_or_else(|_| Err("the line cannot be parsed".to_owned()))
}

fn direct(text: &str) -> Result<BrushTree, String> {
    // Extended globs are off in scripts, and then `!(rm x)` runs `rm`.
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
    // A tree that is too deep is dropped here, where there is stack enough.
    match items::flat(&program) {
        (items, depth) if depth <= MAX_DEPTH => Ok(BrushTree { program, items }),
        _ => Err("too much nesting".to_owned()),
    }
}

/// Finds what the grammar would try in exponentially many ways, or panic about.
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
