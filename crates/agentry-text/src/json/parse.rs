//! Builds the tree from JSON lexemes. It continues after a syntax error, so that one run reports
//! all of them.

use super::lex::{JsonToken, quoted};
use super::{JSON_SYNTAX, JsonDialect};
use crate::edit::Fix;
use crate::lexemes::{LexemeReader, SourceLexeme};
use crate::problems::{ParseProblems, short};
use crate::source::{SourceFile, Span};
use crate::suggestion::did_you_mean;
use crate::tree::{TreeEntry, TreeKey, TreeMap, TreeNode, TreeValue};

/// Parses lexemes from the first to the last.
pub(super) struct JsonParser<'s, 'p> {
    tokens: LexemeReader<'s, 'p, JsonToken<'s>>,
    dialect: JsonDialect,
}

impl<'s, 'p> JsonParser<'s, 'p> {
    pub(super) fn new(
        source: &'s SourceFile,
        lexemes: &'p [SourceLexeme<JsonToken<'s>>],
        dialect: JsonDialect,
        problems: &'p mut ParseProblems,
    ) -> Self {
        Self { tokens: LexemeReader::new(source, lexemes, &JSON_SYNTAX, problems), dialect }
    }

    /// Parses the one value of the document, and reports anything after it.
    pub(super) fn document(mut self) -> TreeNode {
        let Some(first) = self.tokens.peek() else {
            self.tokens
                .problem(self.tokens.source.whole(), "there is no value")
                .hint("write `{ … }`");
            return TreeNode::new(TreeValue::Null, self.tokens.source.whole());
        };
        // The first token can be a stray mark; the document is then null at that place.
        let null = TreeNode::new(TreeValue::Null, first.span);
        let node = self.value().unwrap_or(null);
        if let (Some(next), false) = (self.tokens.peek(), self.tokens.problems.full()) {
            self.tokens
                .problem(
                    next.span,
                    format!("{} after the end of the document", self.tokens.found()),
                )
                .hint("a JSON file holds one value");
        }
        node
    }

    /// Parses the next value; takes nothing if there is none.
    fn value(&mut self) -> Option<TreeNode> {
        let SourceLexeme { token, span, .. } = self.tokens.peek()?;
        let value = match token {
            JsonToken::Mark('{' | '[') => return self.container(*span),
            JsonToken::Mark(_) => {
                self.tokens.unexpected("a value");
                return None;
            }
            JsonToken::Str(text) | JsonToken::OpenStr(text) => TreeValue::Str(text.clone()),
            JsonToken::Number(value) => value.clone(),
            JsonToken::Word(word) => self.word(word, *span),
        };
        self.tokens.at += 1;
        // A document that is over the limit of values gets no further nodes.
        self.tokens.problems.count(*span).then(|| TreeNode::new(value, *span))
    }

    /// Parses a bare word: `true`, `false` or `null`, or else a problem.
    fn word(&mut self, word: &str, span: Span) -> TreeValue {
        match word {
            "true" => return TreeValue::Bool(true),
            "false" => return TreeValue::Bool(false),
            "null" => return TreeValue::Null,
            _ => {}
        }
        let near = did_you_mean(word, ["true", "false", "null"]);
        self.tokens
            .problem(span, format!("{} needs double quotes", short(word)))
            .fix(Fix::unsafe_("put it in quotes", span, quoted(word)))
            .hint_opt(near);
        TreeValue::Str(word.to_owned())
    }

    /// Parses a list or map that opens at `span`.
    fn container(&mut self, span: Span) -> Option<TreeNode> {
        if !self.tokens.problems.count(span) {
            // Too many values: the limit is reported already.
            return None;
        }
        if !self.tokens.problems.fits(self.tokens.open.len() + 1, span) {
            // Too deep: the whole container is skipped, so that no recursion follows.
            self.tokens.skip();
            return None;
        }
        let is_map = self.tokens.is_mark('{');
        let close = if is_map { '}' } else { ']' };
        self.tokens.at += 1;
        self.tokens.open.push(close);
        let value =
            if is_map { TreeValue::Map(self.entries()) } else { TreeValue::List(self.items()) };
        self.tokens.open.pop();
        if self.tokens.is_mark(close) {
            self.tokens.at += 1;
        } else if !self.tokens.problems.full() {
            let what = if is_map { "{" } else { "[" };
            self.tokens
                .problem(span, format!("`{what}` is never closed"))
                .hint(format!("add `{close}`"));
        }
        Some(TreeNode::new(value, span.to(self.tokens.last_span())))
    }

    fn items(&mut self) -> Vec<TreeNode> {
        let mut items = Vec::new();
        while self.tokens.goes_on() {
            let before = self.tokens.at;
            items.extend(self.value());
            if self.tokens.at == before {
                // Nothing was taken, so the token is skipped; otherwise the loop would not end.
                self.tokens.at += 1;
            } else {
                self.comma();
            }
        }
        items
    }

    fn entries(&mut self) -> TreeMap {
        let mut map = TreeMap::default();
        while self.tokens.goes_on() {
            let Some(key) = self.key() else {
                self.tokens.skip();
                continue;
            };
            if let Some(value) = self.entry_value(&key) {
                map.entries.push(TreeEntry { key, value });
            }
            self.comma();
        }
        self.tokens.problems.duplicates(&map);
        map
    }

    fn key(&mut self) -> Option<TreeKey> {
        let SourceLexeme { token, span, .. } = self.tokens.peek()?;
        let text = match token {
            JsonToken::Str(text) | JsonToken::OpenStr(text) => text.clone(),
            JsonToken::Word(_) | JsonToken::Number(_) => {
                let written = self.tokens.source.slice(*span);
                self.tokens
                    .problem(*span, format!("the key {} needs double quotes", short(written)))
                    .fix(Fix::unsafe_("put the key in quotes", *span, quoted(written)));
                written.to_owned()
            }
            JsonToken::Mark(_) => {
                self.tokens.unexpected("a key").hint("write `\"key\": value`");
                return None;
            }
        };
        self.tokens.at += 1;
        Some(TreeKey::string(text, *span))
    }

    /// Parses the value after `key`, with the colon before it.
    fn entry_value(&mut self, key: &TreeKey) -> Option<TreeNode> {
        if self.tokens.is_mark(':') {
            self.tokens.at += 1;
        // After a cut-off string the missing colon is a consequence, not a second mistake.
        } else if self.starts_value() && !self.is_cut() {
            let span = self.before_next();
            self.tokens
                .problem(span, format!("no `:` after the key {}", short(&key.text)))
                .fix(Fix::unsafe_("add the colon", span, ":"));
        }
        if self.starts_value() {
            return self.value();
        }
        if !self.is_cut() {
            self.tokens
                .problem(key.span, format!("{} has no value", short(&key.text)))
                .hint("write `\"key\": value`");
        }
        None
    }

    /// Takes the comma between two values and reports a trailing one.
    fn comma(&mut self) {
        let Some(next) = self.tokens.peek() else { return };
        match next.token {
            JsonToken::Mark(',') => {
                self.tokens.at += 1;
                let last = self.tokens.is_mark('}') || self.tokens.is_mark(']');
                if last && self.dialect == JsonDialect::Strict {
                    self.tokens.problem(next.span, "a comma after the last value").fix(Fix::safe(
                        "remove the comma",
                        next.span,
                        "",
                    ));
                }
            }
            JsonToken::Mark('}' | ']' | ':') => {}
            _ if self.is_cut() || self.tokens.problems.full() => {}
            _ => {
                let span = self.before_next();
                // Unsafe, because the mistake may be another one, such as a quote that was not escaped.
                self.tokens.problem(span, "no comma between two values").fix(Fix::unsafe_(
                    "add the comma",
                    span,
                    ",",
                ));
            }
        }
    }

    fn starts_value(&self) -> bool {
        self.tokens
            .peek()
            .is_some_and(|next| !matches!(next.token, JsonToken::Mark(',' | ':' | '}' | ']')))
    }

    /// Reports whether the previous lexeme is a cut-off string. Its report explains what is missing now.
    fn is_cut(&self) -> bool {
        self.tokens.last().is_some_and(|last| matches!(last.token, JsonToken::OpenStr(_)))
    }

    /// Returns the empty span right after the previous lexeme.
    fn before_next(&self) -> Span {
        let end = self.tokens.last_span().range().end;
        Span::new(self.tokens.source.id, end, end)
    }
}
