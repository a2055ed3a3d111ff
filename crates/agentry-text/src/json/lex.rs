//! Splits JSON text into tokens for the parser. Comments are reported, unless the dialect has them,
//! and dropped.

use super::{JSON_SYNTAX, JsonDialect};
use crate::cursor::{TextCursor, is_line_end};
use crate::diagnostic::Diagnostic;
use crate::edit::Fix;
use crate::lexemes::{MarkToken, SourceLexeme};
use crate::problems::{ParseProblems, short};
use crate::source::{SourceFile, Span};
use crate::tree::TreeValue;

/// The kind of a [`SourceLexeme`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum JsonToken<'s> {
    /// One of `{}[],:`.
    // `OpenStr` and `Word` are errors in most places; they let the parser go on.
    Mark(char),
    /// A string without its quotes.
    Str(String),
    /// A string that the end of the line cut off.
    OpenStr(String),
    /// A number.
    Number(TreeValue),
    /// Bare letters: `true`, or a string without its quotes.
    Word(&'s str),
}

impl MarkToken for JsonToken<'_> {
    fn mark(&self) -> Option<char> {
        if let Self::Mark(mark) = self { Some(*mark) } else { None }
    }
}

/// Splits the text of `source` into lexemes.
pub(super) fn lex<'s>(
    source: &'s SourceFile,
    dialect: JsonDialect,
    problems: &mut ParseProblems,
) -> Vec<SourceLexeme<JsonToken<'s>>> {
    let mut lexer = JsonLexer { cursor: TextCursor::new(&source.text), source, dialect, problems };
    let mut lexemes = Vec::new();
    while let Some(lexeme) = lexer.lexeme() {
        lexemes.push(lexeme);
    }
    lexemes
}

struct JsonLexer<'s, 'p> {
    cursor: TextCursor<'s>,
    source: &'s SourceFile,
    dialect: JsonDialect,
    problems: &'p mut ParseProblems,
}

impl<'s> JsonLexer<'s, '_> {
    fn lexeme(&mut self) -> Option<SourceLexeme<JsonToken<'s>>> {
        loop {
            self.cursor.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
            let start = self.cursor.at;
            if let Some(token) = self.token(self.cursor.peek()?) {
                // Line starts do not matter in JSON.
                return Some(SourceLexeme { token, span: self.since(start), starts_line: false });
            }
        }
    }

    /// Returns the next token, or `None` if the text was dropped.
    fn token(&mut self, next: char) -> Option<JsonToken<'s>> {
        match next {
            '{' | '}' | '[' | ']' | ',' | ':' => {
                self.cursor.next();
                Some(JsonToken::Mark(next))
            }
            '"' | '\'' => Some(self.string(next)),
            '/' | '#' => self.comment(),
            '0'..='9' | '-' | '+' | '.' => Some(self.number()),
            c if is_word(c) => Some(JsonToken::Word(self.cursor.take_while(is_word))),
            _ => self.unknown(),
        }
    }

    fn comment(&mut self) -> Option<JsonToken<'s>> {
        let start = self.cursor.at;
        let rest = self.cursor.rest();
        let mut allowed = self.dialect == JsonDialect::Relaxed;
        if let Some(block) = rest.strip_prefix("/*") {
            let end = block.find("*/");
            // An unclosed comment hides the rest of the file, so every dialect reports it.
            allowed &= end.is_some();
            self.cursor.at += end.map_or(rest.len(), |end| end + 4);
        } else if rest.starts_with("//") || rest.starts_with('#') {
            allowed &= !rest.starts_with('#');
            self.cursor.take_line();
        } else {
            return self.unknown();
        }
        if allowed {
            return None;
        }
        let span = self.since(start);
        self.problem(span, "JSON has no comments")
            .hint("move the remark to another file")
            .fix(Fix::unsafe_("remove the comment", span, ""));
        None
    }

    fn unknown(&mut self) -> Option<JsonToken<'s>> {
        // A run of unknown characters is one problem, not one for each character.
        let start = self.cursor.at;
        self.cursor.next();
        let known = |c: char| is_word(c) || c.is_ascii_whitespace() || "{}[],:\"'/#-+.".contains(c);
        self.cursor.take_while(|c| !known(c));
        let message = format!("{} has no meaning in JSON", short(self.cursor.since(start)));
        let span = self.since(start);
        self.problem(span, message).hint("put text in double quotes");
        None
    }

    fn string(&mut self, quote: char) -> JsonToken<'s> {
        let start = self.cursor.at;
        self.cursor.next();
        let mut text = String::new();
        loop {
            match self.cursor.peek() {
                Some(c) if c == quote => break,
                Some('\\') => self.escape(&mut text),
                Some(c) if !is_line_end(c) => {
                    self.character(c);
                    text.push(c);
                }
                _ => {
                    let span = self.since(start);
                    self.problem(span, "the string is not closed on its line")
                        .hint("close it, and write a line break as `\\n`");
                    return JsonToken::OpenStr(text);
                }
            }
        }
        self.cursor.next();
        if quote == '\'' {
            let span = self.since(start);
            self.problem(span, "JSON strings have double quotes").fix(Fix::unsafe_(
                "use double quotes",
                span,
                quoted(&text),
            ));
        }
        JsonToken::Str(text)
    }

    /// Takes one character of a string and reports it if it is a control character.
    fn character(&mut self, c: char) {
        let start = self.cursor.at;
        self.cursor.next();
        if c < ' ' {
            let span = self.since(start);
            let escaped = if c == '\t' { "\\t".to_owned() } else { format!("\\u{:04x}", c as u32) };
            self.problem(span, "the string holds a raw control character")
                .hint(format!("write `{escaped}`"))
                .fix(Fix::unsafe_("escape the character", span, escaped));
        }
    }

    fn escape(&mut self, text: &mut String) {
        let start = self.cursor.at;
        self.cursor.next();
        let simple = match self.cursor.peek() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                self.cursor.next();
                text.push(self.code_point(start));
                return;
            }
            Some(c) if !is_line_end(c) => {
                self.cursor.next();
                let message = format!("`\\{}` is not an escape of JSON", c.escape_debug());
                let span = self.since(start);
                self.problem(span, message).hint("write `\\\\` for a backslash");
                text.push(c);
                return;
            }
            // The line ends after the backslash: `string` reports that the string is not closed.
            _ => return,
        };
        self.cursor.next();
        text.push(simple);
    }

    /// Returns the character of a `\u` escape that began at byte `start`.
    fn code_point(&mut self, start: usize) -> char {
        let unit = self.hex();
        let found = match unit {
            Some(high @ 0xD800..=0xDBFF) => self.low_surrogate(high),
            Some(unit) => char::from_u32(unit),
            None => None,
        };
        found.unwrap_or_else(|| {
            let span = self.since(start);
            let found = self.cursor.since(start);
            let message = match unit {
                Some(_) => format!("`{found}` is half of a surrogate pair"),
                None => format!("`{found}` does not have four hexadecimal digits"),
            };
            self.problem(span, message).hint("write the character itself");
            char::REPLACEMENT_CHARACTER
        })
    }

    /// Combines `high` with the low surrogate that must follow; takes nothing if none does.
    fn low_surrogate(&mut self, high: u32) -> Option<char> {
        let before = self.cursor.at;
        let low = self.cursor.eat("\\u").then(|| self.hex()).flatten();
        if let Some(low @ 0xDC00..=0xDFFF) = low {
            return char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
        }
        self.cursor.at = before;
        None
    }

    /// Takes four hexadecimal digits; if there are fewer, takes those and returns `None`.
    fn hex(&mut self) -> Option<u32> {
        let start = self.cursor.at;
        for _ in 0..4 {
            if !self.cursor.peek()?.is_ascii_hexdigit() {
                return None;
            }
            self.cursor.next();
        }
        u32::from_str_radix(self.cursor.since(start), 16).ok()
    }

    fn number(&mut self) -> JsonToken<'s> {
        let start = self.cursor.at;
        // Letters are taken too, so that `1abc` is one wrong number instead of two tokens.
        let written = self.cursor.take_while(|c| is_word(c) || matches!(c, '+' | '-' | '.'));
        let strict = is_number(written).then(|| TreeValue::number(written)).flatten();
        let value = strict.unwrap_or_else(|| {
            let span = self.since(start);
            let loose = loose_number(written);
            let found = self.problem(span, format!("{} is not a number of JSON", short(written)));
            match &loose {
                Some(TreeValue::Int(value)) => {
                    found.fix(Fix::unsafe_("write it as JSON does", span, value.to_string()))
                }
                Some(TreeValue::Float(value)) => {
                    found.fix(Fix::unsafe_("write it as JSON does", span, format!("{value:?}")))
                }
                _ => found.hint("put text in double quotes"),
            };
            loose.unwrap_or_else(|| TreeValue::Str(written.to_owned()))
        });
        JsonToken::Number(value)
    }

    fn problem(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.problems.add(&JSON_SYNTAX, span, message)
    }

    fn since(&self, start: usize) -> Span {
        Span::new(self.source.id, start, self.cursor.at)
    }
}

/// Returns `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// Reports whether `text` is a number by the grammar: `-? int frac? exp?`.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (text, "0"),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    digits(whole) && digits(fraction) && digits(exponent) && !leading_zero
}

/// Returns the value of a number that only other dialects accept: `+1`, `.5`, `5.`, `007`, `0xff`.
fn loose_number(text: &str) -> Option<TreeValue> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return TreeValue::whole(digits, 16);
    }
    TreeValue::number(text)
}
