//! Events: the grammar over the tokens. States wait on a stack, so no depth is too deep.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, ScalarStyle, Tag};

use super::Refusal;
use super::scan::{Scanner, Token};

/// What the grammar expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    ImplicitDocument,
    Document,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockEntry,
    IndentlessEntry,
    BlockKey,
    BlockValue,
    FlowEntry { first: bool },
    PairKey,
    PairValue,
    PairEnd,
    FlowKey { first: bool },
    FlowValue,
    FlowNoValue,
    End,
}

/// Where a node stands, which says what it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Flow,
    Block,
    /// The value of a key, whose list need not be indented.
    Indentless,
}

type Placed<'t> = (Event<'t>, Range<usize>);

/// The events of a text, up to its end or its first mistake.
#[derive(Debug)]
pub(in super::super) struct Parser<'t> {
    tokens: Scanner<'t>,
    state: State,
    states: Vec<State>,
    /// What the handles of tags stand for, besides the two that every document has.
    handles: Vec<(&'t str, String)>,
    anchors: HashMap<&'t str, usize>,
}

impl<'t> Parser<'t> {
    pub(in super::super) fn new(text: &'t str) -> Self {
        Self {
            tokens: Scanner::new(text),
            state: State::ImplicitDocument,
            states: Vec::new(),
            handles: Vec::new(),
            anchors: HashMap::new(),
        }
    }

    /// The next event; after the end of the stream, the end again.
    pub(in super::super) fn next(&mut self) -> Result<Placed<'t>, Refusal> {
        match self.state {
            State::ImplicitDocument => self.implicit_document(),
            State::Document => self.document(),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(Place::Block),
            State::BlockEntry => self.block_entry(),
            State::IndentlessEntry => self.indentless_entry(),
            State::BlockKey => self.block_key(),
            State::BlockValue => self.block_value(),
            State::FlowEntry { first } => self.flow_entry(first),
            State::PairKey => self.pair_key(),
            State::PairValue => self.pair_value(),
            State::PairEnd => {
                self.state = State::FlowEntry { first: false };
                self.here(Event::MappingEnd)
            }
            State::FlowKey { first } => self.flow_key(first),
            State::FlowValue => self.flow_value(),
            State::FlowNoValue => self.nothing_then(State::FlowKey { first: false }),
            State::End => self.here(Event::StreamEnd),
        }
    }

    /// Whether one of `wanted` comes next.
    fn comes(&mut self, wanted: &[Token<'static>]) -> Result<bool, Refusal> {
        let next = &self.tokens.peek()?.0;
        Ok(wanted.contains(next))
    }

    /// Takes `wanted` if it comes next.
    fn eat(&mut self, wanted: &Token<'static>) -> Result<Option<Range<usize>>, Refusal> {
        if self.tokens.peek()?.0 == *wanted { Ok(Some(self.tokens.next()?.1)) } else { Ok(None) }
    }

    fn refuse<T>(&mut self, message: &'static str) -> Result<T, Refusal> {
        let at = self.tokens.peek()?.1.start;
        Err(Refusal { at, message })
    }

    fn here(&mut self, event: Event<'t>) -> Result<Placed<'t>, Refusal> {
        let at = self.tokens.peek()?.1.start;
        Ok((event, at..at))
    }

    fn pop(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// A value that is not written, and the state after it.
    fn nothing_then(&mut self, state: State) -> Result<Placed<'t>, Refusal> {
        self.state = state;
        self.here(Event::Scalar(Cow::Borrowed(""), ScalarStyle::Plain, 0, None))
    }

    /// A node, unless one of `ends` shows that there is none, and the state after it.
    fn node_unless(
        &mut self,
        ends: &[Token<'static>],
        after: State,
        place: Place,
    ) -> Result<Placed<'t>, Refusal> {
        if self.comes(ends)? {
            return self.nothing_then(after);
        }
        self.states.push(after);
        self.node(place)
    }

    fn implicit_document(&mut self) -> Result<Placed<'t>, Refusal> {
        let explicit = matches!(
            self.tokens.peek()?.0,
            Token::TagDirective(..)
                | Token::YamlDirective(_)
                | Token::OtherDirective
                | Token::DocumentStart
                | Token::StreamEnd
        );
        if explicit {
            return self.document();
        }
        self.states.push(State::DocumentEnd);
        self.state = State::BlockNode;
        self.here(Event::DocumentStart(false))
    }

    fn document(&mut self) -> Result<Placed<'t>, Refusal> {
        while self.eat(&Token::DocumentEnd)?.is_some() {}
        if self.comes(&[Token::StreamEnd])? {
            self.state = State::End;
            return self.here(Event::StreamEnd);
        }
        self.directives()?;
        let Some(range) = self.eat(&Token::DocumentStart)? else {
            return self.refuse("a line `---` is expected before this");
        };
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        Ok((Event::DocumentStart(true), range))
    }

    fn directives(&mut self) -> Result<(), Refusal> {
        self.handles.clear();
        let mut versions = 0;
        loop {
            match &self.tokens.peek()?.0 {
                Token::YamlDirective(major) => {
                    // The reference reads a number, so `%YAML 01.1` is the first version too.
                    let fits = major.trim_start_matches('0') == "1";
                    versions += 1;
                    if versions > 1 || !fits {
                        return self.refuse("this version of YAML cannot be asked for here");
                    }
                    self.tokens.next()?;
                }
                Token::TagDirective(..) => {
                    let (token, range) = self.tokens.next()?;
                    let Token::TagDirective(handle, prefix) = token else { continue };
                    if self.handles.iter().any(|(known, _)| *known == handle) {
                        let message = "this handle of tags is here twice";
                        return Err(Refusal { at: range.start, message });
                    }
                    self.handles.push((handle, prefix));
                }
                Token::OtherDirective => {
                    self.tokens.next()?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn document_content(&mut self) -> Result<Placed<'t>, Refusal> {
        let empty = matches!(
            self.tokens.peek()?.0,
            Token::TagDirective(..)
                | Token::YamlDirective(_)
                | Token::OtherDirective
                | Token::DocumentStart
                | Token::DocumentEnd
                | Token::StreamEnd
        );
        if empty {
            self.pop();
            return self.nothing_then(self.state);
        }
        self.node(Place::Block)
    }

    fn document_end(&mut self) -> Result<Placed<'t>, Refusal> {
        self.state = State::Document;
        let range = self.eat(&Token::DocumentEnd)?;
        match range {
            Some(range) => Ok((Event::DocumentEnd, range)),
            None => self.here(Event::DocumentEnd),
        }
    }

    fn block_entry(&mut self) -> Result<Placed<'t>, Refusal> {
        if self.eat(&Token::Entry)?.is_some() {
            let ends = [Token::Entry, Token::BlockEnd];
            return self.node_unless(&ends, State::BlockEntry, Place::Block);
        }
        self.block_end(Event::SequenceEnd)
    }

    fn block_end(&mut self, event: Event<'t>) -> Result<Placed<'t>, Refusal> {
        let Some(range) = self.eat(&Token::BlockEnd)? else {
            return self.refuse("the line is not indented like the lines it belongs to");
        };
        self.pop();
        Ok((event, range))
    }

    fn indentless_entry(&mut self) -> Result<Placed<'t>, Refusal> {
        if self.eat(&Token::Entry)?.is_some() {
            let ends = [Token::Entry, Token::Key, Token::Value, Token::BlockEnd];
            return self.node_unless(&ends, State::IndentlessEntry, Place::Block);
        }
        self.pop();
        self.here(Event::SequenceEnd)
    }

    fn block_key(&mut self) -> Result<Placed<'t>, Refusal> {
        if self.eat(&Token::Key)?.is_some() {
            let ends = [Token::Key, Token::Value, Token::BlockEnd];
            return self.node_unless(&ends, State::BlockValue, Place::Indentless);
        }
        self.block_end(Event::MappingEnd)
    }

    fn block_value(&mut self) -> Result<Placed<'t>, Refusal> {
        if self.eat(&Token::Value)?.is_some() {
            let ends = [Token::Key, Token::Value, Token::BlockEnd];
            return self.node_unless(&ends, State::BlockKey, Place::Indentless);
        }
        self.nothing_then(State::BlockKey)
    }

    /// Takes the comma before an entry; whether one is there or none is needed.
    fn comma(&mut self, first: bool) -> Result<(), Refusal> {
        if first || self.eat(&Token::Comma)?.is_some() {
            return Ok(());
        }
        self.refuse("expected `,` or the closing bracket")
    }

    fn flow_entry(&mut self, first: bool) -> Result<Placed<'t>, Refusal> {
        if !self.comes(&[Token::FlowListEnd])? {
            self.comma(first)?;
            if self.comes(&[Token::Key])? {
                self.state = State::PairKey;
                return self.here(Event::MappingStart(0, None));
            }
            if !self.comes(&[Token::FlowListEnd])? {
                self.states.push(State::FlowEntry { first: false });
                return self.node(Place::Flow);
            }
        }
        let (_, range) = self.tokens.next()?;
        self.pop();
        Ok((Event::SequenceEnd, range))
    }

    fn pair_key(&mut self) -> Result<Placed<'t>, Refusal> {
        self.tokens.next()?;
        let ends = [Token::Value, Token::Comma, Token::FlowListEnd];
        self.node_unless(&ends, State::PairValue, Place::Flow)
    }

    fn pair_value(&mut self) -> Result<Placed<'t>, Refusal> {
        if self.eat(&Token::Value)?.is_some() {
            let ends = [Token::Comma, Token::FlowListEnd];
            return self.node_unless(&ends, State::PairEnd, Place::Flow);
        }
        self.nothing_then(State::PairEnd)
    }

    fn flow_key(&mut self, first: bool) -> Result<Placed<'t>, Refusal> {
        if !self.comes(&[Token::FlowMapEnd])? {
            self.comma(first)?;
            if self.eat(&Token::Key)?.is_some() {
                let ends = [Token::Value, Token::Comma, Token::FlowMapEnd];
                return self.node_unless(&ends, State::FlowValue, Place::Flow);
            }
            if !self.comes(&[Token::FlowMapEnd])? {
                self.states.push(State::FlowNoValue);
                return self.node(Place::Flow);
            }
        }
        let (_, range) = self.tokens.next()?;
        self.pop();
        Ok((Event::MappingEnd, range))
    }

    fn flow_value(&mut self) -> Result<Placed<'t>, Refusal> {
        if self.eat(&Token::Value)?.is_some() {
            let ends = [Token::Comma, Token::FlowMapEnd];
            return self.node_unless(&ends, State::FlowKey { first: false }, Place::Flow);
        }
        self.nothing_then(State::FlowKey { first: false })
    }

    fn node(&mut self, place: Place) -> Result<Placed<'t>, Refusal> {
        if matches!(self.tokens.peek()?.0, Token::Alias(_)) {
            return self.alias();
        }
        let (anchor, tag) = self.properties()?;
        if place == Place::Indentless && self.comes(&[Token::Entry])? {
            self.state = State::IndentlessEntry;
            return self.here(Event::SequenceStart(anchor, tag));
        }
        let (event, state) = match &self.tokens.peek()?.0 {
            Token::Scalar(..) => return self.scalar(anchor, tag),
            Token::FlowList => {
                (Event::SequenceStart(anchor, tag), State::FlowEntry { first: true })
            }
            Token::FlowMap => (Event::MappingStart(anchor, tag), State::FlowKey { first: true }),
            Token::BlockList if place != Place::Flow => {
                (Event::SequenceStart(anchor, tag), State::BlockEntry)
            }
            Token::BlockMap if place != Place::Flow => {
                (Event::MappingStart(anchor, tag), State::BlockKey)
            }
            _ if anchor > 0 || tag.is_some() => {
                self.pop();
                return self.here(Event::Scalar(
                    Cow::Borrowed(""),
                    ScalarStyle::Plain,
                    anchor,
                    tag,
                ));
            }
            _ => return self.refuse("a value is expected here"),
        };
        self.state = state;
        Ok((event, self.tokens.next()?.1))
    }

    fn scalar(&mut self, anchor: usize, tag: Option<Cow<'t, Tag>>) -> Result<Placed<'t>, Refusal> {
        self.pop();
        let (token, range) = self.tokens.next()?;
        let (text, style) = match token {
            Token::Scalar(text, style) => (text, style),
            _ => (Cow::Borrowed(""), ScalarStyle::Plain),
        };
        Ok((Event::Scalar(text, style, anchor, tag), range))
    }

    fn alias(&mut self) -> Result<Placed<'t>, Refusal> {
        self.pop();
        let (token, range) = self.tokens.next()?;
        let name = if let Token::Alias(name) = token { name } else { "" };
        match self.anchors.get(name) {
            Some(id) => Ok((Event::Alias(*id), range)),
            None => Err(Refusal { at: range.start, message: "no anchor has this name" }),
        }
    }

    /// The anchor and the tag before a node, in either order.
    fn properties(&mut self) -> Result<(usize, Option<Cow<'t, Tag>>), Refusal> {
        let (mut anchor, mut tag) = (0, None);
        loop {
            match &self.tokens.peek()?.0 {
                Token::Anchor(_) if anchor == 0 => {
                    let (token, range) = self.tokens.next()?;
                    let Token::Anchor(name) = token else { continue };
                    anchor = self.anchors.len() + 1;
                    if self.anchors.insert(name, anchor).is_some() {
                        let message = "an anchor of this name is here twice";
                        return Err(Refusal { at: range.start, message });
                    }
                }
                Token::Tag(..) if tag.is_none() => {
                    let (token, range) = self.tokens.next()?;
                    let Token::Tag(handle, suffix) = token else { continue };
                    tag = Some(Cow::Owned(self.resolved(handle, suffix, range.start)?));
                }
                _ => return Ok((anchor, tag)),
            }
        }
    }

    fn resolved(&self, handle: Option<&str>, suffix: String, at: usize) -> Result<Tag, Refusal> {
        let Some(handle) = handle else { return Ok(Tag { handle: String::new(), suffix }) };
        let own = self.handles.iter().find(|(known, _)| *known == handle);
        let prefix = match (own, handle) {
            (Some((_, prefix)), _) => prefix.as_str(),
            (None, "!") => "!",
            (None, "!!") => "tag:yaml.org,2002:",
            (None, _) => return Err(Refusal { at, message: "this tag has no meaning here" }),
        };
        Ok(Tag { handle: prefix.to_owned(), suffix })
    }
}
