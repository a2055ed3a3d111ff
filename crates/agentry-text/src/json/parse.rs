//! Builds the tree from the pieces of a JSON text, mending what it can on the way.

use super::lex::{Lexeme, Token, quoted};
use super::{JSON_SYNTAX, JsonDialect};
use crate::diagnostic::Diagnostic;
use crate::edit::Fix;
use crate::near::did_you_mean;
use crate::problems::{Problems, short};
use crate::source::{Source, Span};
use crate::tree::{Entry, Key, Map, Node, Value};

/// Reads lexemes from the first to the last.
pub(super) struct Parser<'s, 'p> {
    dialect: JsonDialect,
    source: &'s Source,
    lexemes: &'p [Lexeme<'s>],
    at: usize,
    problems: &'p mut Problems,
    /// The marks that will close the lists and maps around here.
    open: Vec<char>,
}

impl<'s, 'p> Parser<'s, 'p> {
    pub(super) fn new(
        dialect: JsonDialect,
        source: &'s Source,
        lexemes: &'p [Lexeme<'s>],
        problems: &'p mut Problems,
    ) -> Self {
        Self { dialect, source, lexemes, at: 0, problems, open: Vec::new() }
    }

    /// The one value of the document, and nothing after it.
    pub(super) fn document(mut self) -> Node {
        let Some(first) = self.lexemes.first() else {
            self.problem(self.source.whole(), "there is no value").hint("write `{ … }`");
            return Node::new(Value::Null, self.source.whole());
        };
        let null = Node::new(Value::Null, first.span);
        let node = self.value().unwrap_or(null);
        if let (Some(next), false) = (self.peek(), self.problems.full()) {
            self.problem(next.span, format!("{} after the end of the document", self.found()))
                .hint("a JSON file holds one value");
        }
        node
    }

    /// The next value; takes nothing if there is none.
    fn value(&mut self) -> Option<Node> {
        let Lexeme { token, span } = self.peek()?;
        let value = match token {
            Token::Mark('{' | '[') => return self.container(*span),
            Token::Mark(_) => {
                self.problem(*span, format!("{} where a value should be", self.found()));
                return None;
            }
            Token::Str(text) | Token::OpenStr(text) => Value::Str(text.clone()),
            Token::Number(value) => value.clone(),
            Token::Word(word) => self.word(word, *span),
        };
        self.at += 1;
        self.problems.count(*span).then(|| Node::new(value, *span))
    }

    /// A bare word: one of the three that JSON has, or a problem.
    fn word(&mut self, word: &str, span: Span) -> Value {
        match word {
            "true" => return Value::Bool(true),
            "false" => return Value::Bool(false),
            "null" => return Value::Null,
            _ => {}
        }
        let near = did_you_mean(word, ["true", "false", "null"]);
        self.problem(span, format!("{} needs double quotes", short(word)))
            .fix(Fix::unsafe_("put it in quotes", span, quoted(word)))
            .hint_opt(near);
        Value::Str(word.to_owned())
    }

    /// A list or a map that opens at `span`.
    fn container(&mut self, span: Span) -> Option<Node> {
        if !self.problems.count(span) {
            return None;
        }
        if !self.problems.fits(self.open.len() + 1, span) {
            self.skip();
            return None;
        }
        let is_map = self.is_mark('{');
        let close = if is_map { '}' } else { ']' };
        self.at += 1;
        self.open.push(close);
        let value = if is_map { Value::Map(self.entries()) } else { Value::List(self.items()) };
        self.open.pop();
        if self.is_mark(close) {
            self.at += 1;
        } else if !self.problems.full() {
            let what = if is_map { "{" } else { "[" };
            self.problem(span, format!("`{what}` is never closed")).hint(format!("add `{close}`"));
        }
        Some(Node::new(value, span.to(self.last_span())))
    }

    fn items(&mut self) -> Vec<Node> {
        let mut items = Vec::new();
        while self.goes_on() {
            let before = self.at;
            items.extend(self.value());
            if self.at == before {
                self.at += 1;
            } else {
                self.comma();
            }
        }
        items
    }

    fn entries(&mut self) -> Map {
        let mut map = Map::default();
        while self.goes_on() {
            let Some(key) = self.key() else {
                self.skip();
                continue;
            };
            if let Some(value) = self.entry_value(&key) {
                map.entries.push(Entry { key, value });
            }
            self.comma();
        }
        self.problems.duplicates(&map);
        map
    }

    fn key(&mut self) -> Option<Key> {
        let Lexeme { token, span } = self.peek()?;
        let text = match token {
            Token::Str(text) | Token::OpenStr(text) => text.clone(),
            Token::Word(_) | Token::Number(_) => {
                let written = self.source.slice(*span);
                self.problem(*span, format!("the key {} needs double quotes", short(written)))
                    .fix(Fix::unsafe_("put the key in quotes", *span, quoted(written)));
                written.to_owned()
            }
            Token::Mark(_) => {
                self.problem(*span, format!("{} where a key should be", self.found()))
                    .hint("write `\"key\": value`");
                return None;
            }
        };
        self.at += 1;
        Some(Key::string(text, *span))
    }

    /// The value after `key`, with the colon that must stand between.
    fn entry_value(&mut self, key: &Key) -> Option<Node> {
        if self.is_mark(':') {
            self.at += 1;
        } else if self.starts_value() && !self.is_cut() {
            let span = self.before_next();
            self.problem(span, format!("no `:` after the key {}", short(&key.text)))
                .fix(Fix::unsafe_("add the colon", span, ":"));
        }
        if self.starts_value() {
            return self.value();
        }
        if !self.is_cut() {
            self.problem(key.span, format!("{} has no value", short(&key.text)))
                .hint("write `\"key\": value`");
        }
        None
    }

    /// The comma between two values; none may follow the last.
    fn comma(&mut self) {
        let Some(next) = self.peek() else { return };
        match next.token {
            Token::Mark(',') => {
                self.at += 1;
                let is_last = self.is_mark('}') || self.is_mark(']');
                if is_last && self.dialect == JsonDialect::Strict {
                    self.problem(next.span, "a comma after the last value").fix(Fix::safe(
                        "remove the comma",
                        next.span,
                        "",
                    ));
                }
            }
            Token::Mark('}' | ']' | ':') => {}
            _ if self.is_cut() || self.problems.full() => {}
            _ => {
                let span = self.before_next();
                // The file may mean something else here: a quote that was not escaped, say.
                self.problem(span, "no comma between two values").fix(Fix::unsafe_(
                    "add the comma",
                    span,
                    ",",
                ));
            }
        }
    }

    /// Whether the list or map here has more; a mark that closes nothing is reported and passed over.
    fn goes_on(&mut self) -> bool {
        while let Some(Lexeme { token: Token::Mark(mark @ ('}' | ']')), span }) = self.peek() {
            if self.open.contains(mark) {
                return false;
            }
            self.problem(*span, format!("`{mark}` closes nothing"));
            self.at += 1;
        }
        self.peek().is_some() && !self.problems.full()
    }

    /// Passes over the next lexeme, and over all that it opens.
    fn skip(&mut self) {
        let mut depth = 0_usize;
        while let Some(lexeme) = self.peek() {
            self.at += 1;
            match lexeme.token {
                Token::Mark('{' | '[') => depth += 1,
                Token::Mark('}' | ']') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn peek(&self) -> Option<&'p Lexeme<'s>> {
        self.lexemes.get(self.at)
    }

    fn is_mark(&self, mark: char) -> bool {
        self.peek().is_some_and(|next| next.token == Token::Mark(mark))
    }

    fn starts_value(&self) -> bool {
        self.peek().is_some_and(|next| !matches!(next.token, Token::Mark(',' | ':' | '}' | ']')))
    }

    fn last(&self) -> Option<&'p Lexeme<'s>> {
        self.lexemes.get(self.at.checked_sub(1)?)
    }

    /// Whether the lexeme before was cut off, which was reported and explains what is missing now.
    fn is_cut(&self) -> bool {
        self.last().is_some_and(|last| matches!(last.token, Token::OpenStr(_)))
    }

    fn last_span(&self) -> Span {
        self.last().map_or_else(|| self.source.whole(), |last| last.span)
    }

    /// The empty place right after the lexeme before.
    fn before_next(&self) -> Span {
        let end = self.last_span().range().end;
        Span::new(self.source.id, end, end)
    }

    /// What comes next, in backticks.
    fn found(&self) -> String {
        short(self.peek().map_or("", |next| self.source.slice(next.span)))
    }

    fn problem(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.problems.add(&JSON_SYNTAX, span, message)
    }
}
