//! Splits ACL text into tokens for the parser: names, strings, numbers and marks. Comments are dropped.

use super::rules::{ACL_BROKEN_NAME, ACL_LONE_SLASH, ACL_SYNTAX, ACL_UNCLOSED};
use crate::cursor::TextCursor;
use crate::edit::Fix;
use crate::lexemes::{MarkToken, SourceLexeme};
use crate::problems::{ParseProblems, short};
use crate::source::{SourceFile, Span};
use crate::tree::TreeValue;

/// The kind of a [`SourceLexeme`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AclToken<'s> {
    /// One of `{}[](),`.
    Mark(char),
    /// `=`, or `:`, which means the same.
    Assign,
    /// Bare letters: a name, a word such as `true`, or text.
    Name(&'s str),
    /// A string without its quotes.
    Str(String),
    /// A number.
    Number(TreeValue),
}

impl MarkToken for AclToken<'_> {
    fn mark(&self) -> Option<char> {
        if let Self::Mark(mark) = self { Some(*mark) } else { None }
    }
}

/// Splits the text of `source` into lexemes.
pub(super) fn lex<'s>(
    source: &'s SourceFile,
    problems: &mut ParseProblems,
) -> Vec<SourceLexeme<AclToken<'s>>> {
    let mut lexer =
        AclLexer { cursor: TextCursor::new(&source.text), source, problems, starts_line: true };
    let mut lexemes = Vec::new();
    while let Some(next) = lexer.cursor.peek() {
        let (start, starts_line) = (lexer.cursor.at, lexer.starts_line);
        if let Some(token) = lexer.token(next) {
            lexemes.push(SourceLexeme { token, span: lexer.since(start), starts_line });
            lexer.starts_line = false;
        }
    }
    lexemes
}

/// Reports whether `c` may start a name.
pub(super) fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Reports whether `c` may be inside a name that every reader accepts.
pub(super) fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reports whether `c` may be inside a name for this reader, which accepts more.
pub(super) fn is_wide_name_part(c: char) -> bool {
    is_name_part(c) || matches!(c, '-' | '.')
}

struct AclLexer<'s, 'p> {
    cursor: TextCursor<'s>,
    source: &'s SourceFile,
    problems: &'p mut ParseProblems,
    starts_line: bool,
}

impl<'s> AclLexer<'s, '_> {
    /// Returns the next token; `None` for white space, comments and dropped text.
    fn token(&mut self, next: char) -> Option<AclToken<'s>> {
        match next {
            '{' | '}' | '[' | ']' | '(' | ')' | ',' => {
                self.cursor.next();
                Some(AclToken::Mark(next))
            }
            '=' | ':' => {
                self.cursor.next();
                Some(AclToken::Assign)
            }
            '"' | '\'' => Some(AclToken::Str(self.string(next))),
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

    fn comment(&mut self) -> Option<AclToken<'s>> {
        let start = self.cursor.at;
        // The reference takes a single `/` as a comment as well, so it is one here, with a warning.
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

    fn unknown(&mut self) -> Option<AclToken<'s>> {
        let start = self.cursor.at;
        self.cursor.next();
        let known =
            |c: char| is_name_part(c) || c.is_ascii_whitespace() || "{}[](),=:\"'#/-.+".contains(c);
        self.cursor.take_while(|c| !known(c));
        let message = format!("{} has no meaning in ACL", short(self.cursor.since(start)));
        self.problems.add(&ACL_SYNTAX, self.since(start), message).hint("put text in quotes");
        None
    }

    fn name(&mut self) -> AclToken<'s> {
        let start = self.cursor.at;
        let name = self.cursor.take_while(is_wide_name_part);
        if !name.chars().all(is_name_part) {
            let message = format!("other readers take {} apart", short(name));
            self.problems
                .add(&ACL_BROKEN_NAME, self.since(start), message)
                .hint("put text in quotes, and write `_` in a name");
        }
        AclToken::Name(name)
    }

    fn number_or_append(&mut self) -> AclToken<'s> {
        let start = self.cursor.at;
        // `+=` is read as `=`, so that the value is not lost.
        if self.cursor.eat("+=") {
            let span = self.since(start);
            self.problems
                .add(&ACL_SYNTAX, span, "`+=` does not set a value")
                .hint("write all values after one `=`")
                .fix(Fix::unsafe_("write `=`", span, "="));
            return AclToken::Assign;
        }
        // Letters are taken too, so that `10px` is one wrong number instead of two tokens.
        let written = self.cursor.take_while(|c| is_name_part(c) || matches!(c, '+' | '-' | '.'));
        let value = TreeValue::number(written).unwrap_or_else(|| {
            let message = format!("{} is not a number", short(written));
            self.problems.add(&ACL_SYNTAX, self.since(start), message).hint("put text in quotes");
            TreeValue::Str(written.to_owned())
        });
        AclToken::Number(value)
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

    /// Reads the escape after a backslash. In single quotes only `\'` is one; another backslash is text.
    fn escape(&mut self, quote: char, text: &mut String) {
        let start = self.cursor.at - 1;
        let Some(c) = self.cursor.next_in_line() else { return text.push('\\') };
        match (c, quote) {
            ('n', '"') => text.push('\n'),
            ('r', '"') => text.push('\r'),
            ('t', '"') => text.push('\t'),
            ('\\', '"') => text.push('\\'),
            (c, _) if c == quote => text.push(c),
            // An unknown escape keeps its backslash, so that no character is lost.
            _ => text.extend(['\\', c]),
        }
        if quote == '"' && !"nrt\\\"".contains(c) {
            let message = format!("{} is not an escape of ACL", short(self.cursor.since(start)));
            self.problems
                .add(&ACL_SYNTAX, self.since(start), message)
                .hint("write `\\\\` for a backslash");
        }
    }

    fn since(&self, start: usize) -> Span {
        Span::new(self.source.id, start, self.cursor.at)
    }
}
