//! Takes ACL apart into names, strings, numbers and marks; comments are dropped.

use super::rules::{ACL_BROKEN_NAME, ACL_LONE_SLASH, ACL_SYNTAX, ACL_UNCLOSED};
use crate::cursor::Cursor;
use crate::edit::Fix;
use crate::lexemes::{Lexeme, MarkToken};
use crate::problems::{Problems, short};
use crate::source::{Source, Span};
use crate::tree::Value;

/// What a [`Lexeme`] is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'s> {
    /// One of `{}[](),`.
    Mark(char),
    /// `=`, or `:`, which means the same.
    Assign,
    /// Bare letters: a name, a word such as `true`, or text.
    Name(&'s str),
    /// A string without its quotes.
    Str(String),
    /// A number.
    Number(Value),
}

impl MarkToken for Token<'_> {
    fn mark(&self) -> Option<char> {
        if let Self::Mark(mark) = self { Some(*mark) } else { None }
    }
}

/// Takes the text of `source` apart.
pub(super) fn lex<'s>(source: &'s Source, problems: &mut Problems) -> Vec<Lexeme<Token<'s>>> {
    let mut lexer =
        Lexer { cursor: Cursor::new(&source.text), source, problems, starts_line: true };
    let mut lexemes = Vec::new();
    while let Some(next) = lexer.cursor.peek() {
        let (start, starts_line) = (lexer.cursor.at, lexer.starts_line);
        if let Some(token) = lexer.token(next) {
            lexemes.push(Lexeme { token, span: lexer.since(start), starts_line });
            lexer.starts_line = false;
        }
    }
    lexemes
}

/// Whether `c` may begin a name.
pub(super) fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Whether `c` may be inside a name that every reader takes whole.
pub(super) fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `c` may be inside a name here.
pub(super) fn is_wide_name_part(c: char) -> bool {
    is_name_part(c) || matches!(c, '-' | '.')
}

struct Lexer<'s, 'p> {
    cursor: Cursor<'s>,
    source: &'s Source,
    problems: &'p mut Problems,
    starts_line: bool,
}

impl<'s> Lexer<'s, '_> {
    /// The next token; `None` for what means nothing.
    fn token(&mut self, next: char) -> Option<Token<'s>> {
        match next {
            '{' | '}' | '[' | ']' | '(' | ')' | ',' => {
                self.cursor.next();
                Some(Token::Mark(next))
            }
            '=' | ':' => {
                self.cursor.next();
                Some(Token::Assign)
            }
            '"' | '\'' => Some(Token::Str(self.string(next))),
            '0'..='9' | '-' | '.' | '+' => Some(self.number_or_append()),
            c if is_name_start(c) => Some(self.name()),
            '#' | '/' => self.comment(),
            '\n' | '\r' => {
                self.cursor.next();
                self.starts_line = true;
                None
            }
            ' ' | '\t' => {
                self.cursor.next();
                None
            }
            _ => self.unknown(),
        }
    }

    fn comment(&mut self) -> Option<Token<'s>> {
        let start = self.cursor.at;
        let lone = !self.cursor.eat("#") && !self.cursor.eat("//");
        self.cursor.take_line();
        if lone {
            let slash = Span::new(self.source.id, start, start + 1);
            self.problems
                .add(&ACL_LONE_SLASH, self.since(start), "`/` makes the rest of the line a comment")
                .hint("put text in quotes, and begin a comment with `#`")
                .fix(Fix::unsafe_("begin the comment with `#`", slash, "#"));
        }
        None
    }

    fn unknown(&mut self) -> Option<Token<'s>> {
        let start = self.cursor.at;
        self.cursor.next();
        let known =
            |c: char| is_name_part(c) || c.is_ascii_whitespace() || "{}[](),=:\"'#/-.+".contains(c);
        self.cursor.take_while(|c| !known(c));
        let message = format!("{} has no meaning in ACL", short(self.cursor.since(start)));
        self.problems.add(&ACL_SYNTAX, self.since(start), message).hint("put text in quotes");
        None
    }

    fn name(&mut self) -> Token<'s> {
        let start = self.cursor.at;
        let name = self.cursor.take_while(is_wide_name_part);
        if !name.chars().all(is_name_part) {
            let message = format!("other readers take {} apart", short(name));
            self.problems
                .add(&ACL_BROKEN_NAME, self.since(start), message)
                .hint("put text in quotes, and write `_` in a name");
        }
        Token::Name(name)
    }

    fn number_or_append(&mut self) -> Token<'s> {
        let start = self.cursor.at;
        if self.cursor.eat("+=") {
            let span = self.since(start);
            self.problems
                .add(&ACL_SYNTAX, span, "`+=` does not set a value")
                .hint("write all values after one `=`")
                .fix(Fix::unsafe_("write `=`", span, "="));
            return Token::Assign;
        }
        let written = self.cursor.take_while(|c| is_name_part(c) || matches!(c, '+' | '-' | '.'));
        let value = Value::number(written).unwrap_or_else(|| {
            let message = format!("{} is no number", short(written));
            self.problems.add(&ACL_SYNTAX, self.since(start), message).hint("put text in quotes");
            Value::Str(written.to_owned())
        });
        Token::Number(value)
    }

    fn string(&mut self, quote: char) -> String {
        let start = self.cursor.at;
        self.cursor.next();
        let mut text = String::new();
        loop {
            match self.cursor.next_in_line() {
                Some(c) if c == quote => return text,
                Some('\\') => self.escape(quote, &mut text),
                Some(c) => text.push(c),
                None => {
                    self.problems
                        .add(
                            &ACL_UNCLOSED,
                            self.since(start),
                            "the string is not closed on its line",
                        )
                        .hint("add the closing quote, and write a line break as `\\n`");
                    return text;
                }
            }
        }
    }

    /// What follows a backslash. Single quotes know only `\'`; there a backslash is mostly itself.
    fn escape(&mut self, quote: char, text: &mut String) {
        let start = self.cursor.at - 1;
        let Some(c) = self.cursor.next_in_line() else { return text.push('\\') };
        match (c, quote) {
            ('n', '"') => text.push('\n'),
            ('r', '"') => text.push('\r'),
            ('t', '"') => text.push('\t'),
            ('\\', '"') => text.push('\\'),
            (c, _) if c == quote => text.push(c),
            _ => text.extend(['\\', c]),
        }
        if quote == '"' && !"nrt\\\"".contains(c) {
            let message = format!("{} is no escape of ACL", short(self.cursor.since(start)));
            self.problems
                .add(&ACL_SYNTAX, self.since(start), message)
                .hint("write `\\\\` for a backslash");
        }
    }

    fn since(&self, start: usize) -> Span {
        Span::new(self.source.id, start, self.cursor.at)
    }
}
