//! Makes tokens from text. Indentation becomes start and end tokens.
//! A key is known only when its `:` comes, so its token is inserted before tokens that are already there.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use saphyr_parser::ScalarStyle;

use super::YamlRefusal;
use super::reader::{YamlReader, is_break, is_gap};

/// The most characters of a key without `?` before it.
const LONGEST_KEY: usize = 1024;

#[derive(Debug, PartialEq)]
pub(super) enum YamlToken<'t> {
    /// `%TAG`: a handle and its prefix.
    TagDirective(&'t str, String),
    /// `%YAML`, with the number before the dot.
    YamlDirective(&'t str),
    OtherDirective,
    DocumentStart,
    DocumentEnd,
    StreamEnd,
    BlockList,
    BlockMap,
    BlockEnd,
    FlowList,
    FlowListEnd,
    FlowMap,
    FlowMapEnd,
    /// `-`
    Entry,
    /// `,`
    Comma,
    Key,
    Value,
    Alias(&'t str),
    Anchor(&'t str),
    /// A handle, unless the tag is verbatim (`!<…>`), and the rest.
    Tag(Option<&'t str>, String),
    Scalar(Cow<'t, str>, ScalarStyle),
}

pub(super) type PositionedToken<'t> = (YamlToken<'t>, Range<usize>);

/// The token after the last one.
const END: &PositionedToken<'static> = &(YamlToken::StreamEnd, 0..0);

/// A position where a key may have started.
#[derive(Debug)]
struct PossibleKey {
    level: usize,
    /// The number of its first token, counted from the start of the text.
    token: usize,
    /// Whether only a key can be here, because the column is that of an open map.
    required: bool,
    at: usize,
    line: usize,
    column: usize,
}

#[derive(Debug)]
pub(super) struct YamlScanner<'t> {
    pub(super) reader: YamlReader<'t>,
    tokens: VecDeque<PositionedToken<'t>>,
    /// How many tokens were handed out.
    taken: usize,
    /// The column of the innermost block; `None` before the first.
    pub(super) indent: Option<usize>,
    indents: Vec<Option<usize>>,
    /// How many brackets are open.
    pub(super) level: usize,
    pub(super) allow_key: bool,
    /// Outermost first, which is also the order of their tokens.
    keys: VecDeque<PossibleKey>,
    done: bool,
}

impl<'t> YamlScanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            reader: YamlReader::new(text),
            tokens: VecDeque::new(),
            taken: 0,
            indent: None,
            indents: Vec::new(),
            level: 0,
            allow_key: true,
            keys: VecDeque::new(),
            done: false,
        }
    }

    /// Returns the next token; the end of the stream is repeated.
    pub(super) fn peek(&mut self) -> Result<&PositionedToken<'t>, YamlRefusal> {
        while self.needs_more()? {
            self.fetch()?;
        }
        Ok(self.tokens.front().unwrap_or(END))
    }

    pub(super) fn next(&mut self) -> Result<PositionedToken<'t>, YamlRefusal> {
        self.peek()?;
        let end = self.reader.text.len();
        let next = self.tokens.pop_front().unwrap_or((YamlToken::StreamEnd, end..end));
        self.taken += 1;
        Ok(next)
    }

    fn needs_more(&mut self) -> Result<bool, YamlRefusal> {
        if self.done {
            return Ok(false);
        }
        if self.tokens.is_empty() {
            return Ok(true);
        }
        self.forget_stale_keys()?;
        // The front token may still get a key token before it, so it must not be handed out yet.
        Ok(self.keys.front().is_some_and(|key| key.token == self.taken))
    }

    fn fetch(&mut self) -> Result<(), YamlRefusal> {
        self.skip_to_token();
        self.forget_stale_keys()?;
        self.unwind(Some(self.reader.column));
        let Some(found) = self.reader.peek() else { return self.stream_end() };
        let at_margin = self.reader.column == 0;
        match found {
            '%' if at_margin => self.directive(),
            '-' if at_margin && self.reader.at_document_mark(&["---"]) => {
                self.document_mark(YamlToken::DocumentStart)
            }
            '.' if at_margin && self.reader.at_document_mark(&["..."]) => {
                self.document_mark(YamlToken::DocumentEnd)
            }
            '[' => self.open(YamlToken::FlowList),
            '{' => self.open(YamlToken::FlowMap),
            ']' => self.close(YamlToken::FlowListEnd),
            '}' => self.close(YamlToken::FlowMapEnd),
            ',' => self.comma(),
            '-' if is_gap(self.reader.second()) => self.entry(),
            // In brackets, `PyYAML` takes `?` and `:` as indicators even without a space after them.
            '?' if self.level > 0 || is_gap(self.reader.second()) => self.key(),
            ':' if self.level > 0 || is_gap(self.reader.second()) => self.value(),
            '|' if self.level == 0 => self.block_scalar(ScalarStyle::Literal),
            '>' if self.level == 0 => self.block_scalar(ScalarStyle::Folded),
            '*' | '&' | '!' | '\'' | '"' => self.part_of_node(found),
            _ if self.starts_plain(found) => self.part_of_node(found),
            _ => Err(self.reader.refuse("no value can start with this character")),
        }
    }

    fn starts_plain(&self, found: char) -> bool {
        let indicator = "-?:,[]{}#&*!|>'\"%@`".contains(found) || is_gap(Some(found));
        let exempt = found == '-' || self.level == 0 && matches!(found, '?' | ':');
        !indicator || exempt && !is_gap(self.reader.second())
    }

    /// Skips white space, line breaks and comments.
    fn skip_to_token(&mut self) {
        if self.reader.at == 0 && self.reader.peek() == Some('\u{feff}') {
            self.reader.forward();
        }
        loop {
            self.reader.skip_spaces();
            if self.reader.peek() == Some('#') {
                self.reader.take_while(|_| true);
            }
            if self.reader.line_break().is_none() {
                return;
            }
            // Line breaks in brackets do not start a new key.
            if self.level == 0 {
                self.allow_key = true;
            }
        }
    }

    pub(super) fn push(&mut self, token: YamlToken<'t>, start: usize) {
        self.tokens.push_back((token, start..self.reader.at));
    }

    /// Takes one character as a token.
    fn indicator(&mut self, token: YamlToken<'t>) {
        let start = self.reader.at;
        self.reader.forward();
        self.push(token, start);
    }

    fn forget_stale_keys(&mut self) -> Result<(), YamlRefusal> {
        while let Some(key) = self.keys.front() {
            let YamlReader { text, at, line, .. } = self.reader;
            let length = at - key.at;
            // Bytes first: counting characters is needed only for a long key.
            let is_long = length > LONGEST_KEY
                && text.get(key.at..at).is_some_and(|key| key.chars().count() > LONGEST_KEY);
            if key.line == line && !is_long {
                break;
            }
            forget(key)?;
            self.keys.pop_front();
        }
        Ok(())
    }

    pub(super) fn forget_key(&mut self) -> Result<(), YamlRefusal> {
        if let Some(key) = self.keys.back().filter(|key| key.level == self.level) {
            forget(key)?;
            self.keys.pop_back();
        }
        Ok(())
    }

    /// Records that the next token may start a key.
    pub(super) fn save_key(&mut self) -> Result<(), YamlRefusal> {
        if !self.allow_key {
            return Ok(());
        }
        self.forget_key()?;
        let YamlReader { at, line, column, .. } = self.reader;
        // At the column of an open map, only another key can follow.
        let required = self.level == 0 && self.indent == Some(column);
        let token = self.taken + self.tokens.len();
        self.keys.push_back(PossibleKey { level: self.level, token, required, at, line, column });
        Ok(())
    }

    /// Closes the blocks that are indented deeper than `column`.
    pub(super) fn unwind(&mut self, column: Option<usize>) {
        while self.level == 0 && self.indent > column {
            self.indent = self.indents.pop().flatten();
            self.push(YamlToken::BlockEnd, self.reader.at);
        }
    }

    /// Opens a block at `column` if that is deeper; returns whether it did.
    fn indents(&mut self, column: usize) -> bool {
        let deeper = self.indent < Some(column);
        if deeper {
            self.indents.push(self.indent);
            self.indent = Some(column);
        }
        deeper
    }

    fn stream_end(&mut self) -> Result<(), YamlRefusal> {
        self.unwind(None);
        self.forget_key()?;
        self.keys.clear();
        self.allow_key = false;
        self.done = true;
        self.push(YamlToken::StreamEnd, self.reader.at);
        Ok(())
    }

    fn document_mark(&mut self, token: YamlToken<'t>) -> Result<(), YamlRefusal> {
        self.unwind(None);
        self.forget_key()?;
        self.allow_key = false;
        let start = self.reader.at;
        self.reader.take(3);
        self.push(token, start);
        Ok(())
    }

    fn open(&mut self, token: YamlToken<'t>) -> Result<(), YamlRefusal> {
        self.save_key()?;
        self.level += 1;
        self.allow_key = true;
        self.indicator(token);
        Ok(())
    }

    fn close(&mut self, token: YamlToken<'t>) -> Result<(), YamlRefusal> {
        self.forget_key()?;
        // The parser refuses an unmatched closing bracket.
        self.level = self.level.saturating_sub(1);
        self.allow_key = false;
        self.indicator(token);
        Ok(())
    }

    fn comma(&mut self) -> Result<(), YamlRefusal> {
        self.allow_key = true;
        self.forget_key()?;
        self.indicator(YamlToken::Comma);
        Ok(())
    }

    fn entry(&mut self) -> Result<(), YamlRefusal> {
        if self.level == 0 {
            if !self.allow_key {
                return Err(self.reader.refuse("a list cannot start here"));
            }
            if self.indents(self.reader.column) {
                self.push(YamlToken::BlockList, self.reader.at);
            }
        }
        self.allow_key = true;
        self.forget_key()?;
        self.indicator(YamlToken::Entry);
        Ok(())
    }

    fn key(&mut self) -> Result<(), YamlRefusal> {
        self.block_map("a key cannot stand here")?;
        self.indicator(YamlToken::Key);
        Ok(())
    }

    /// Opens a map if needed, for a key or value that starts here.
    fn block_map(&mut self, message: &'static str) -> Result<(), YamlRefusal> {
        if self.level == 0 {
            if !self.allow_key {
                return Err(self.reader.refuse(message));
            }
            if self.indents(self.reader.column) {
                self.push(YamlToken::BlockMap, self.reader.at);
            }
        }
        self.allow_key = self.level == 0;
        self.forget_key()
    }

    fn value(&mut self) -> Result<(), YamlRefusal> {
        match self.keys.pop_back_if(|key| key.level == self.level) {
            Some(key) => {
                let place = key.at..key.at;
                let index = key.token - self.taken;
                // The map must start before its first key, so it is inserted second at the same index.
                self.tokens.insert(index, (YamlToken::Key, place.clone()));
                if self.level == 0 && self.indents(key.column) {
                    self.tokens.insert(index, (YamlToken::BlockMap, place));
                }
                self.allow_key = false;
            }
            None => self.block_map("a value cannot stand here")?,
        }
        self.indicator(YamlToken::Value);
        Ok(())
    }

    /// Reads an alias, an anchor, a tag, or a scalar that may be a key.
    fn part_of_node(&mut self, first: char) -> Result<(), YamlRefusal> {
        self.save_key()?;
        self.allow_key = false;
        let start = self.reader.at;
        let (token, end) = match first {
            '*' => (YamlToken::Alias(self.name()?), self.reader.at),
            '&' => (YamlToken::Anchor(self.name()?), self.reader.at),
            '!' => (self.tag()?, self.reader.at),
            '\'' => {
                (YamlToken::Scalar(self.quoted(first)?, ScalarStyle::SingleQuoted), self.reader.at)
            }
            '"' => {
                (YamlToken::Scalar(self.quoted(first)?, ScalarStyle::DoubleQuoted), self.reader.at)
            }
            _ => {
                let (text, end) = self.plain();
                (YamlToken::Scalar(text, ScalarStyle::Plain), end)
            }
        };
        self.tokens.push_back((token, start..end));
        Ok(())
    }
}

fn forget(key: &PossibleKey) -> Result<(), YamlRefusal> {
    if key.required {
        return Err(YamlRefusal { at: key.at, message: "the line has no `:` after its key" });
    }
    Ok(())
}

/// The text of a scalar from its parts. A single part is borrowed without a copy.
#[derive(Debug, Default)]
pub(super) struct ScalarParts<'t>(Cow<'t, str>);

impl<'t> ScalarParts<'t> {
    pub(super) fn push(&mut self, part: &'t str) {
        if self.0.is_empty() {
            self.0 = Cow::Borrowed(part);
        } else if !part.is_empty() {
            self.0.to_mut().push_str(part);
        }
    }

    pub(super) fn push_char(&mut self, part: char) {
        self.0.to_mut().push(part);
    }

    pub(super) fn finish(self) -> Cow<'t, str> {
        self.0
    }
}

/// Reports whether `c` ends a word of a plain or quoted scalar.
pub(super) fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t') || is_break(c)
}
