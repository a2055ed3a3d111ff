//! Builds the tree from ACL lexemes. It continues after a syntax error, so that one run reports all
//! of them.

use super::body::AclBody;
use super::lex::AclToken;
use super::rules::{ACL_SYNTAX, ACL_UNCLOSED};
use crate::edit::Fix;
use crate::lexemes::{LexemeReader, SourceLexeme};
use crate::problems::{ParseProblems, short};
use crate::source::{SourceFile, Span};
use crate::tree::{TreeKey, TreeMap, TreeNode, TreeValue};

/// Parses lexemes from the first to the last.
pub(super) struct AclParser<'s, 'p> {
    tokens: LexemeReader<'s, 'p, AclToken<'s>>,
    /// The index after the last run of strings and names.
    labels_end: usize,
}

/// The entry in [`LexemeReader::open`] for the document, which no mark closes.
const DOCUMENT: char = '\0';

impl<'s, 'p> AclParser<'s, 'p> {
    pub(super) fn new(
        source: &'s SourceFile,
        lexemes: &'p [SourceLexeme<AclToken<'s>>],
        problems: &'p mut ParseProblems,
    ) -> Self {
        let mut tokens = LexemeReader::new(source, lexemes, &ACL_SYNTAX, problems);
        tokens.open.push(DOCUMENT);
        Self { tokens, labels_end: 0 }
    }

    /// Parses the whole document.
    pub(super) fn document(mut self) -> TreeNode {
        let map = self.items();
        TreeNode::new(TreeValue::Map(map), self.tokens.source.whole())
    }

    /// Parses attributes and blocks, up to the mark that closes them.
    fn items(&mut self) -> TreeMap {
        let mut body = AclBody::default();
        while self.tokens.goes_on() {
            let Some(next) = self.tokens.peek() else { break };
            match &next.token {
                AclToken::Name(name) => self.item(TreeKey::string(*name, next.span), &mut body),
                AclToken::Str(name) => self.item(TreeKey::string(name, next.span), &mut body),
                // Commas are optional in an object, and not allowed at the top level.
                AclToken::Mark(',') if self.tokens.open.len() > 1 => self.tokens.at += 1,
                _ => {
                    self.tokens.unexpected("a name").hint("write `name = value` or `name { … }`");
                    self.tokens.skip();
                }
            }
        }
        body.into_map(self.tokens.problems)
    }

    /// Parses one attribute or block; its name comes next.
    fn item(&mut self, key: TreeKey, body: &mut AclBody) {
        let quoted = self.tokens.peek().is_some_and(|next| matches!(next.token, AclToken::Str(_)));
        self.tokens.at += 1;
        let labels = self.labels();
        if self.tokens.is_mark('{') {
            self.check_name(&key, quoted);
            return self.block(key, labels, body);
        }
        if let Some((first, rest)) = labels.split_first() {
            return self.stray_labels(key, first, rest, body);
        }
        if self.is_assign() {
            self.check_name(&key, quoted);
            self.tokens.at += 1;
        } else if self.starts_value() {
            self.no_assign(&key);
        } else {
            self.tokens
                .problem(key.span, format!("{} has no value", short(&key.text)))
                .hint("write `name = value` or `name { … }`");
            return;
        }
        self.attribute(key, body);
    }

    /// Parses the value of `key`, which comes next.
    fn attribute(&mut self, key: TreeKey, body: &mut AclBody) {
        // `name =` at the start of the next line is another item, not the value of this one.
        let missing = !self.starts_value_anywhere() || self.starts_item();
        if missing {
            self.tokens
                .problem(key.span, format!("{} has no value", short(&key.text)))
                .hint("write `name = value`");
        } else if let Some(value) = self.value() {
            body.add(key, value);
        }
    }

    /// Reports a quoted name at the top level, where it is not allowed.
    fn check_name(&mut self, key: &TreeKey, quoted: bool) {
        if quoted && self.tokens.open.len() == 1 {
            self.tokens
                .problem(key.span, format!("the name {} has quotes", short(&key.text)))
                .hint("write the name without quotes")
                .fix(Fix::unsafe_("remove the quotes", key.span, key.text.clone()));
        }
    }

    /// Takes the labels after a name: strings and names before a block, otherwise only strings.
    fn labels(&mut self) -> Vec<TreeKey> {
        let end = self.labels_end();
        let block = self
            .tokens
            .rest()
            .get(end - self.tokens.at)
            .is_some_and(|next| next.token == AclToken::Mark('{'));
        let mut labels = Vec::new();
        while let Some(next) = self.tokens.peek().filter(|_| self.tokens.at < end) {
            let text = match &next.token {
                AclToken::Str(text) => text.clone(),
                AclToken::Name(name) if block => (*name).to_owned(),
                _ => break,
            };
            labels.push(TreeKey::string(text, next.span));
            self.tokens.at += 1;
        }
        labels
    }

    /// Returns the index after the strings and names on this line.
    /// It is cached, so that a long line of them is not scanned again for each.
    fn labels_end(&mut self) -> usize {
        if self.tokens.at >= self.labels_end {
            let label = |next: &SourceLexeme<AclToken<'_>>| {
                !next.starts_line && matches!(next.token, AclToken::Str(_) | AclToken::Name(_))
            };
            let rest = self.tokens.rest();
            self.labels_end = self.tokens.at + rest.iter().take_while(|next| label(next)).count();
        }
        self.labels_end
    }

    fn is_quoted(&self, key: &TreeKey) -> bool {
        self.tokens.source.slice(key.span).starts_with(['"', '\''])
    }

    /// Reports labels without a block: either the `=` or the block is missing.
    fn stray_labels(
        &mut self,
        key: TreeKey,
        first: &TreeKey,
        rest: &[TreeKey],
        body: &mut AclBody,
    ) {
        if rest.is_empty() {
            self.no_assign(&key);
            if self.tokens.problems.count(first.span) {
                body.add(key, TreeNode::new(TreeValue::Str(first.text.clone()), first.span));
            }
        } else {
            self.tokens
                .problem(key.span, format!("{} has labels but no block", short(&key.text)))
                .hint("write `name \"label\" { … }`");
        }
    }

    fn no_assign(&mut self, key: &TreeKey) {
        let end = key.span.range().end;
        let place = Span::new(self.tokens.source.id, end, end);
        self.tokens
            .problem(key.span, format!("no `=` after {}", short(&key.text)))
            .hint("write `name = value`")
            .fix(Fix::safe("add `=`", place, " ="));
    }

    /// Parses a block; its `{` comes next.
    fn block(&mut self, key: TreeKey, labels: Vec<TreeKey>, body: &mut AclBody) {
        for label in &labels {
            if !self.is_quoted(label) {
                let quoted = format!("\"{}\"", label.text);
                self.tokens
                    .problem(label.span, format!("the label {} needs quotes", short(&label.text)))
                    .fix(Fix::safe("put the label in quotes", label.span, quoted));
            }
        }
        let room = labels.iter().all(|label| self.tokens.problems.count(label.span));
        let depth = labels.len();
        // The braces are parsed even beyond the limit, so that the parser gets past them.
        if let (Some(block), true) = (self.braces(depth), room) {
            body.add_labelled(key, labels, block);
        }
    }

    /// Parses the next value; takes nothing if there is none.
    fn value(&mut self) -> Option<TreeNode> {
        let next = self.tokens.peek()?;
        let value = match &next.token {
            AclToken::Mark('{') => return self.braces(0),
            AclToken::Mark('[') => return self.list(next.span),
            AclToken::Name(name) if self.is_call() => return self.call(name, next.span),
            AclToken::Mark(_) | AclToken::Assign => {
                self.tokens.unexpected("a value");
                return None;
            }
            AclToken::Name("true") => TreeValue::Bool(true),
            AclToken::Name("false") => TreeValue::Bool(false),
            AclToken::Name("null") => TreeValue::Null,
            AclToken::Name(name) => TreeValue::Str((*name).to_owned()),
            AclToken::Str(text) => TreeValue::Str(text.clone()),
            AclToken::Number(value) => value.clone(),
        };
        let plain = matches!(next.token, AclToken::Name(_)) && matches!(value, TreeValue::Str(_));
        self.tokens.at += 1;
        self.tokens
            .problems
            .count(next.span)
            .then(|| TreeNode { plain, ..TreeNode::new(value, next.span) })
    }

    /// Parses an object or the body of a block; `labels` adds that many levels of nesting.
    fn braces(&mut self, labels: usize) -> Option<TreeNode> {
        let span = self.tokens.peek()?.span;
        if !self.enter('}', labels) {
            return None;
        }
        // Each label is a level, so its entry keeps the depth right for the content.
        self.tokens.open.extend(std::iter::repeat_n('}', labels));
        let map = self.items();
        self.tokens.open.truncate(self.tokens.open.len() - labels);
        self.leave(span).map(|span| TreeNode::new(TreeValue::Map(map), span))
    }

    fn list(&mut self, span: Span) -> Option<TreeNode> {
        if !self.enter(']', 0) {
            return None;
        }
        let items = self.values();
        self.leave(span).map(|span| TreeNode::new(TreeValue::List(items), span))
    }

    fn call(&mut self, name: &str, span: Span) -> Option<TreeNode> {
        self.tokens.at += 1;
        let open = self.tokens.peek()?.span;
        if !self.enter(')', 0) {
            return None;
        }
        let arguments = self.values();
        let end = self.leave(open)?;
        Some(TreeNode::new(TreeValue::Call(name.to_owned(), arguments), span.to(end)))
    }

    /// Parses values, with or without commas between them.
    fn values(&mut self) -> Vec<TreeNode> {
        let mut values = Vec::new();
        // `name =` at the start of a line inside a list means that the list was not closed.
        while self.tokens.goes_on() && !self.starts_item() {
            if self.tokens.is_mark(',') {
                self.tokens.at += 1;
            } else if self.starts_value_anywhere() {
                values.extend(self.value());
            } else {
                self.tokens.unexpected("a value");
                self.tokens.skip();
            }
        }
        values
    }

    /// Enters a container that `close` ends, or skips it if it is too deep.
    fn enter(&mut self, close: char, labels: usize) -> bool {
        let span = self.tokens.next_span();
        let fits = self.tokens.problems.fits(self.tokens.open.len() + 1 + labels, span);
        if !fits || !self.tokens.problems.count(span) {
            self.tokens.skip();
            return false;
        }
        self.tokens.at += 1;
        self.tokens.open.push(close);
        true
    }

    /// Leaves the container that opened at `span`; returns its whole span.
    fn leave(&mut self, span: Span) -> Option<Span> {
        let close = self.tokens.open.pop()?;
        if self.tokens.is_mark(close) {
            self.tokens.at += 1;
        } else if !self.tokens.problems.full() {
            let open = short(self.tokens.source.slice(span));
            self.tokens
                .problems
                .add(&ACL_UNCLOSED, span, format!("{open} is never closed"))
                .hint(format!("add `{close}`"));
        }
        Some(span.to(self.tokens.last_span()))
    }

    fn is_assign(&self) -> bool {
        self.tokens.peek().is_some_and(|next| next.token == AclToken::Assign)
    }

    /// Reports whether the next name is that of a call.
    fn is_call(&self) -> bool {
        self.tokens
            .after_next()
            // A `(` on the next line does not belong to the name.
            .is_some_and(|next| next.token == AclToken::Mark('(') && !next.starts_line)
    }

    /// Reports whether a line starts here with `name =`.
    fn starts_item(&self) -> bool {
        let name = |next: &SourceLexeme<AclToken<'_>>| {
            next.starts_line && matches!(next.token, AclToken::Name(_))
        };
        self.tokens.peek().is_some_and(name)
            && self.tokens.after_next().is_some_and(|next| next.token == AclToken::Assign)
    }

    /// Reports whether a value follows on the same line, and not another item.
    fn starts_value(&self) -> bool {
        self.starts_value_anywhere()
            && self.tokens.peek().is_some_and(|next| !next.starts_line)
            && self.tokens.after_next().is_none_or(|next| next.token != AclToken::Assign)
    }

    fn starts_value_anywhere(&self) -> bool {
        let no_value = |next: &SourceLexeme<AclToken<'_>>| {
            matches!(next.token, AclToken::Assign | AclToken::Mark(',' | '}' | ']' | '(' | ')'))
        };
        self.tokens.peek().is_some_and(|next| !no_value(next))
    }
}
