//! Builds the tree from the pieces of an ACL text, mending what it can on the way.

use super::body::Body;
use super::lex::{Lexeme, Token};
use super::rules::{ACL_SYNTAX, ACL_UNCLOSED};
use crate::diagnostic::Diagnostic;
use crate::edit::Fix;
use crate::problems::{Problems, short};
use crate::source::{Source, Span};
use crate::tree::{Key, Map, Node, Value};

/// Reads lexemes from the first to the last.
pub(super) struct Parser<'s, 'p> {
    source: &'s Source,
    lexemes: &'p [Lexeme<'s>],
    at: usize,
    problems: &'p mut Problems,
    /// The marks that will close what is around here, the document first.
    open: Vec<char>,
    /// Where the last strings and names in a row end.
    labels_end: usize,
}

/// Stands in [`Parser::open`] for the document, which no mark closes.
const DOCUMENT: char = '\0';

impl<'s, 'p> Parser<'s, 'p> {
    pub(super) fn new(
        source: &'s Source,
        lexemes: &'p [Lexeme<'s>],
        problems: &'p mut Problems,
    ) -> Self {
        Self { source, lexemes, at: 0, problems, open: vec![DOCUMENT], labels_end: 0 }
    }

    /// Everything.
    pub(super) fn document(mut self) -> Node {
        let map = self.items();
        Node::new(Value::Map(map), self.source.whole())
    }

    /// Attributes and blocks, up to the mark that closes them.
    fn items(&mut self) -> Map {
        let mut body = Body::default();
        while self.goes_on() {
            let Some(next) = self.peek() else { break };
            match &next.token {
                Token::Name(name) => self.item(Key::string(*name, next.span), &mut body),
                Token::Str(name) => self.item(Key::string(name, next.span), &mut body),
                Token::Mark(',') if self.open.len() > 1 => self.at += 1,
                _ => {
                    self.problem(next.span, format!("{} where a name should be", self.found()))
                        .hint("write `name = value` or `name { … }`");
                    self.skip();
                }
            }
        }
        body.into_map(self.problems)
    }

    /// One attribute or block; its name comes next.
    fn item(&mut self, key: Key, body: &mut Body) {
        let quoted = self.peek().is_some_and(|next| matches!(next.token, Token::Str(_)));
        self.at += 1;
        let labels = self.labels();
        if self.is_mark('{') {
            self.check_name(&key, quoted);
            return self.block(key, labels, body);
        }
        if let Some((first, rest)) = labels.split_first() {
            return self.stray_labels(key, first, rest, body);
        }
        if self.is_assign() {
            self.check_name(&key, quoted);
            self.at += 1;
        } else if self.starts_value() {
            self.no_assign(&key);
        } else {
            self.problem(key.span, format!("{} has no value", short(&key.text)))
                .hint("write `name = value` or `name { … }`");
            return;
        }
        self.attribute(key, body);
    }

    /// The value that comes next, for `key`.
    fn attribute(&mut self, key: Key, body: &mut Body) {
        let missing = !self.starts_value_anywhere() || self.starts_item();
        if missing {
            self.problem(key.span, format!("{} has no value", short(&key.text)))
                .hint("write `name = value`");
        } else if let Some(value) = self.value() {
            body.add(key, value);
        }
    }

    /// A document's names have no quotes.
    fn check_name(&mut self, key: &Key, quoted: bool) {
        if quoted && self.open.len() == 1 {
            self.problem(key.span, format!("the name {} has quotes", short(&key.text)))
                .hint("write the name without quotes")
                .fix(Fix::unsafe_("remove the quotes", key.span, key.text.clone()));
        }
    }

    /// The labels after a name: before a block strings and names, else only strings.
    fn labels(&mut self) -> Vec<Key> {
        let end = self.labels_end();
        let block = self.lexemes.get(end).is_some_and(|next| next.token == Token::Mark('{'));
        let mut labels = Vec::new();
        while let Some(next) = self.peek().filter(|_| self.at < end) {
            let text = match &next.token {
                Token::Str(text) => text.clone(),
                Token::Name(name) if block => (*name).to_owned(),
                _ => break,
            };
            labels.push(Key::string(text, next.span));
            self.at += 1;
        }
        labels
    }

    /// Where the strings and names that come next on this line end. Found once for all of them.
    fn labels_end(&mut self) -> usize {
        if self.at >= self.labels_end {
            let label = |next: &Lexeme<'_>| {
                !next.starts_line && matches!(next.token, Token::Str(_) | Token::Name(_))
            };
            let rest = self.lexemes.get(self.at..).unwrap_or_default();
            self.labels_end = self.at + rest.iter().take_while(|next| label(next)).count();
        }
        self.labels_end
    }

    fn is_quoted(&self, key: &Key) -> bool {
        self.source.slice(key.span).starts_with(['"', '\''])
    }

    /// Labels that no block follows: the `=` was forgotten, or the block.
    fn stray_labels(&mut self, key: Key, first: &Key, rest: &[Key], body: &mut Body) {
        if rest.is_empty() {
            self.no_assign(&key);
            if self.problems.count(first.span) {
                body.add(key, Node::new(Value::Str(first.text.clone()), first.span));
            }
        } else {
            self.problem(key.span, format!("{} has labels but no block", short(&key.text)))
                .hint("write `name \"label\" { … }`");
        }
    }

    fn no_assign(&mut self, key: &Key) {
        let end = key.span.range().end;
        let place = Span::new(self.source.id, end, end);
        self.problem(key.span, format!("no `=` after {}", short(&key.text)))
            .hint("write `name = value`")
            .fix(Fix::safe("add `=`", place, " ="));
    }

    /// A block; its `{` comes next.
    fn block(&mut self, key: Key, labels: Vec<Key>, body: &mut Body) {
        for label in &labels {
            if !self.is_quoted(label) {
                let quoted = format!("\"{}\"", label.text);
                self.problem(label.span, format!("the label {} needs quotes", short(&label.text)))
                    .fix(Fix::safe("put the label in quotes", label.span, quoted));
            }
        }
        let room = labels.iter().all(|label| self.problems.count(label.span));
        let depth = labels.len();
        if let (Some(block), true) = (self.braces(depth), room) {
            body.add_labelled(key, labels, block);
        }
    }

    /// The next value; takes nothing if there is none.
    fn value(&mut self) -> Option<Node> {
        let next = self.peek()?;
        let value = match &next.token {
            Token::Mark('{') => return self.braces(0),
            Token::Mark('[') => return self.list(next.span),
            Token::Name(name) if self.is_call() => return self.call(name, next.span),
            Token::Mark(_) | Token::Assign => {
                self.problem(next.span, format!("{} where a value should be", self.found()));
                return None;
            }
            Token::Name("true") => Value::Bool(true),
            Token::Name("false") => Value::Bool(false),
            Token::Name("null") => Value::Null,
            Token::Name(name) => Value::Str((*name).to_owned()),
            Token::Str(text) => Value::Str(text.clone()),
            Token::Number(value) => value.clone(),
        };
        let plain = matches!(next.token, Token::Name(_)) && matches!(value, Value::Str(_));
        self.at += 1;
        self.problems.count(next.span).then(|| Node { plain, ..Node::new(value, next.span) })
    }

    /// An object or a block's body, inside `labels` maps more than the marks show.
    fn braces(&mut self, labels: usize) -> Option<Node> {
        let span = self.peek()?.span;
        if !self.enter('}', labels) {
            return None;
        }
        // Each label is a level of its own; a mark that closes nothing keeps the count.
        self.open.extend(std::iter::repeat_n('}', labels));
        let map = self.items();
        self.open.truncate(self.open.len() - labels);
        self.leave(span).map(|span| Node::new(Value::Map(map), span))
    }

    fn list(&mut self, span: Span) -> Option<Node> {
        if !self.enter(']', 0) {
            return None;
        }
        let items = self.values();
        self.leave(span).map(|span| Node::new(Value::List(items), span))
    }

    fn call(&mut self, name: &str, span: Span) -> Option<Node> {
        self.at += 1;
        let open = self.peek()?.span;
        if !self.enter(')', 0) {
            return None;
        }
        let arguments = self.values();
        let end = self.leave(open)?;
        Some(Node::new(Value::Call(name.to_owned(), arguments), span.to(end)))
    }

    /// Values with or without commas between them.
    fn values(&mut self) -> Vec<Node> {
        let mut values = Vec::new();
        // An item inside a list means that the list was never closed.
        while self.goes_on() && !self.starts_item() {
            if self.is_mark(',') {
                self.at += 1;
            } else if self.starts_value_anywhere() {
                values.extend(self.value());
            } else {
                self.problem(self.next_span(), format!("{} where a value should be", self.found()));
                self.skip();
            }
        }
        values
    }

    /// Goes into what the next lexeme opens and `close` ends; passes over it if that is too deep.
    fn enter(&mut self, close: char, labels: usize) -> bool {
        let span = self.next_span();
        let fits = self.problems.fits(self.open.len() + 1 + labels, span);
        if !fits || !self.problems.count(span) {
            self.skip();
            return false;
        }
        self.at += 1;
        self.open.push(close);
        true
    }

    /// Goes out of what opened at `span`; gives the whole of it.
    fn leave(&mut self, span: Span) -> Option<Span> {
        let close = self.open.pop()?;
        if self.is_mark(close) {
            self.at += 1;
        } else if !self.problems.full() {
            let open = short(self.source.slice(span));
            self.problems
                .add(&ACL_UNCLOSED, span, format!("{open} is never closed"))
                .hint(format!("add `{close}`"));
        }
        Some(span.to(self.last_span()))
    }

    /// Whether there is more before the next closing mark; one that closes nothing is passed over.
    fn goes_on(&mut self) -> bool {
        while let Some(Lexeme { token: Token::Mark(mark @ ('}' | ']' | ')')), span, .. }) =
            self.peek()
        {
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
                Token::Mark('{' | '[' | '(') => depth += 1,
                Token::Mark('}' | ']' | ')') => depth = depth.saturating_sub(1),
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

    fn after_next(&self) -> Option<&'p Lexeme<'s>> {
        self.lexemes.get(self.at + 1)
    }

    fn is_mark(&self, mark: char) -> bool {
        self.peek().is_some_and(|next| next.token == Token::Mark(mark))
    }

    fn is_assign(&self) -> bool {
        self.peek().is_some_and(|next| next.token == Token::Assign)
    }

    /// Whether the name that comes next is that of a call.
    fn is_call(&self) -> bool {
        self.after_next().is_some_and(|next| next.token == Token::Mark('(') && !next.starts_line)
    }

    /// Whether a line begins with `name =`.
    fn starts_item(&self) -> bool {
        let name = |next: &Lexeme<'_>| next.starts_line && matches!(next.token, Token::Name(_));
        self.peek().is_some_and(name)
            && self.after_next().is_some_and(|next| next.token == Token::Assign)
    }

    /// Whether a value follows on the same line, and not another item.
    fn starts_value(&self) -> bool {
        self.starts_value_anywhere()
            && self.peek().is_some_and(|next| !next.starts_line)
            && self.after_next().is_none_or(|next| next.token != Token::Assign)
    }

    fn starts_value_anywhere(&self) -> bool {
        let no_value = |next: &Lexeme<'_>| {
            matches!(next.token, Token::Assign | Token::Mark(',' | '}' | ']' | '(' | ')'))
        };
        self.peek().is_some_and(|next| !no_value(next))
    }

    fn next_span(&self) -> Span {
        self.peek().map_or_else(|| self.last_span(), |next| next.span)
    }

    fn last_span(&self) -> Span {
        let last = self.at.checked_sub(1).and_then(|at| self.lexemes.get(at));
        last.map_or_else(|| self.source.whole(), |last| last.span)
    }

    /// What comes next, in backticks.
    fn found(&self) -> String {
        short(self.source.slice(self.next_span()))
    }

    fn problem(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.problems.add(&ACL_SYNTAX, span, message)
    }
}
