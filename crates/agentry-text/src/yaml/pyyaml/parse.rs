//! Makes events from tokens: the grammar. The states are on an explicit stack, so depth is no problem.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, ScalarStyle, Tag};

use super::YamlRefusal;
use super::scan::{YamlScanner, YamlToken};

/// The part of the grammar that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParserState {
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

/// Where a node is, which decides what it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodePosition {
    Flow,
    Block,
    /// The value of a key, whose list need not be indented.
    Indentless,
}

type PositionedEvent<'t> = (Event<'t>, Range<usize>);

/// The events of a text, up to its end or its first mistake.
#[derive(Debug)]
pub(in super::super) struct YamlParser<'t> {
    tokens: YamlScanner<'t>,
    state: ParserState,
    states: Vec<ParserState>,
    /// The prefixes of the tag handles, besides the two that every document has.
    handles: Vec<(&'t str, String)>,
    anchors: HashMap<&'t str, usize>,
}

impl<'t> YamlParser<'t> {
    pub(in super::super) fn new(text: &'t str) -> Self {
        Self {
            tokens: YamlScanner::new(text),
            state: ParserState::ImplicitDocument,
            states: Vec::new(),
            handles: Vec::new(),
            anchors: HashMap::new(),
        }
    }

    /// Returns the next event. After the end of the stream, it returns the end again.
    pub(in super::super) fn next(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        match self.state {
            ParserState::ImplicitDocument => self.implicit_document(),
            ParserState::Document => self.document(),
            ParserState::DocumentContent => self.document_content(),
            ParserState::DocumentEnd => self.document_end(),
            ParserState::BlockNode => self.node(NodePosition::Block),
            ParserState::BlockEntry => self.block_entry(),
            ParserState::IndentlessEntry => self.indentless_entry(),
            ParserState::BlockKey => self.block_key(),
            ParserState::BlockValue => self.block_value(),
            ParserState::FlowEntry { first } => self.flow_entry(first),
            ParserState::PairKey => self.pair_key(),
            ParserState::PairValue => self.pair_value(),
            ParserState::PairEnd => {
                self.state = ParserState::FlowEntry { first: false };
                self.here(Event::MappingEnd)
            }
            ParserState::FlowKey { first } => self.flow_key(first),
            ParserState::FlowValue => self.flow_value(),
            ParserState::FlowNoValue => self.nothing_then(ParserState::FlowKey { first: false }),
            ParserState::End => self.here(Event::StreamEnd),
        }
    }

    /// Reports whether one of `wanted` comes next.
    fn comes(&mut self, wanted: &[YamlToken<'static>]) -> Result<bool, YamlRefusal> {
        let next = &self.tokens.peek()?.0;
        Ok(wanted.contains(next))
    }

    /// Takes `wanted` if it comes next.
    fn eat(&mut self, wanted: &YamlToken<'static>) -> Result<Option<Range<usize>>, YamlRefusal> {
        if self.tokens.peek()?.0 == *wanted { Ok(Some(self.tokens.next()?.1)) } else { Ok(None) }
    }

    fn refuse<T>(&mut self, message: &'static str) -> Result<T, YamlRefusal> {
        let at = self.tokens.peek()?.1.start;
        Err(YamlRefusal { at, message })
    }

    fn here(&mut self, event: Event<'t>) -> Result<PositionedEvent<'t>, YamlRefusal> {
        let at = self.tokens.peek()?.1.start;
        Ok((event, at..at))
    }

    fn pop(&mut self) {
        self.state = self.states.pop().unwrap_or(ParserState::End);
    }

    /// Returns an empty scalar for a value that is absent, and sets the state after it.
    fn nothing_then(&mut self, state: ParserState) -> Result<PositionedEvent<'t>, YamlRefusal> {
        self.state = state;
        self.here(Event::Scalar(Cow::Borrowed(""), ScalarStyle::Plain, 0, None))
    }

    /// Returns a node, or an empty scalar if one of `ends` comes next, and sets the state after it.
    fn node_unless(
        &mut self,
        ends: &[YamlToken<'static>],
        after: ParserState,
        place: NodePosition,
    ) -> Result<PositionedEvent<'t>, YamlRefusal> {
        if self.comes(ends)? {
            return self.nothing_then(after);
        }
        self.states.push(after);
        self.node(place)
    }

    fn implicit_document(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        let explicit = matches!(
            self.tokens.peek()?.0,
            YamlToken::TagDirective(..)
                | YamlToken::YamlDirective(_)
                | YamlToken::OtherDirective
                | YamlToken::DocumentStart
                | YamlToken::StreamEnd
        );
        if explicit {
            return self.document();
        }
        self.states.push(ParserState::DocumentEnd);
        self.state = ParserState::BlockNode;
        self.here(Event::DocumentStart(false))
    }

    fn document(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        // Any number of `...` lines may precede a document.
        while self.eat(&YamlToken::DocumentEnd)?.is_some() {}
        if self.comes(&[YamlToken::StreamEnd])? {
            self.state = ParserState::End;
            return self.here(Event::StreamEnd);
        }
        self.directives()?;
        let Some(range) = self.eat(&YamlToken::DocumentStart)? else {
            return self.refuse("a line `---` is expected before this");
        };
        self.states.push(ParserState::DocumentEnd);
        self.state = ParserState::DocumentContent;
        Ok((Event::DocumentStart(true), range))
    }

    fn directives(&mut self) -> Result<(), YamlRefusal> {
        // Directives are valid for one document only.
        self.handles.clear();
        let mut versions = 0;
        loop {
            match &self.tokens.peek()?.0 {
                YamlToken::YamlDirective(major) => {
                    // `PyYAML` reads a number, so `%YAML 01.1` is also version 1.
                    let fits = major.trim_start_matches('0') == "1";
                    versions += 1;
                    if versions > 1 || !fits {
                        return self.refuse("this version of YAML cannot be asked for here");
                    }
                    self.tokens.next()?;
                }
                YamlToken::TagDirective(..) => {
                    let (token, range) = self.tokens.next()?;
                    // The `else` cannot happen, because `peek` saw a tag directive.
                    let YamlToken::TagDirective(handle, prefix) = token else { continue };
                    if self.handles.iter().any(|(known, _)| *known == handle) {
                        let message = "this handle of tags is here twice";
                        return Err(YamlRefusal { at: range.start, message });
                    }
                    self.handles.push((handle, prefix));
                }
                YamlToken::OtherDirective => {
                    self.tokens.next()?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn document_content(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        let empty = matches!(
            self.tokens.peek()?.0,
            YamlToken::TagDirective(..)
                | YamlToken::YamlDirective(_)
                | YamlToken::OtherDirective
                | YamlToken::DocumentStart
                | YamlToken::DocumentEnd
                | YamlToken::StreamEnd
        );
        if empty {
            self.pop();
            return self.nothing_then(self.state);
        }
        self.node(NodePosition::Block)
    }

    fn document_end(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        self.state = ParserState::Document;
        let range = self.eat(&YamlToken::DocumentEnd)?;
        match range {
            Some(range) => Ok((Event::DocumentEnd, range)),
            None => self.here(Event::DocumentEnd),
        }
    }

    fn block_entry(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        if self.eat(&YamlToken::Entry)?.is_some() {
            let ends = [YamlToken::Entry, YamlToken::BlockEnd];
            return self.node_unless(&ends, ParserState::BlockEntry, NodePosition::Block);
        }
        self.block_end(Event::SequenceEnd)
    }

    fn block_end(&mut self, event: Event<'t>) -> Result<PositionedEvent<'t>, YamlRefusal> {
        let Some(range) = self.eat(&YamlToken::BlockEnd)? else {
            return self.refuse("the line is not indented like the lines it belongs to");
        };
        self.pop();
        Ok((event, range))
    }

    fn indentless_entry(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        if self.eat(&YamlToken::Entry)?.is_some() {
            // Such a list has no end token: the next key or the end of the map ends it.
            let ends = [YamlToken::Entry, YamlToken::Key, YamlToken::Value, YamlToken::BlockEnd];
            return self.node_unless(&ends, ParserState::IndentlessEntry, NodePosition::Block);
        }
        self.pop();
        self.here(Event::SequenceEnd)
    }

    fn block_key(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        if self.eat(&YamlToken::Key)?.is_some() {
            let ends = [YamlToken::Key, YamlToken::Value, YamlToken::BlockEnd];
            return self.node_unless(&ends, ParserState::BlockValue, NodePosition::Indentless);
        }
        self.block_end(Event::MappingEnd)
    }

    fn block_value(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        if self.eat(&YamlToken::Value)?.is_some() {
            let ends = [YamlToken::Key, YamlToken::Value, YamlToken::BlockEnd];
            return self.node_unless(&ends, ParserState::BlockKey, NodePosition::Indentless);
        }
        self.nothing_then(ParserState::BlockKey)
    }

    /// Takes the comma before an entry, which only the first entry lacks.
    fn comma(&mut self, first: bool) -> Result<(), YamlRefusal> {
        if first || self.eat(&YamlToken::Comma)?.is_some() {
            return Ok(());
        }
        self.refuse("expected `,` or the closing bracket")
    }

    fn flow_entry(&mut self, first: bool) -> Result<PositionedEvent<'t>, YamlRefusal> {
        if !self.comes(&[YamlToken::FlowListEnd])? {
            self.comma(first)?;
            // `[a: b]` is a list with a map of one entry, which has no brackets.
            if self.comes(&[YamlToken::Key])? {
                self.state = ParserState::PairKey;
                return self.here(Event::MappingStart(0, None));
            }
            if !self.comes(&[YamlToken::FlowListEnd])? {
                self.states.push(ParserState::FlowEntry { first: false });
                return self.node(NodePosition::Flow);
            }
        }
        let (_, range) = self.tokens.next()?;
        self.pop();
        Ok((Event::SequenceEnd, range))
    }

    fn pair_key(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        self.tokens.next()?;
        let ends = [YamlToken::Value, YamlToken::Comma, YamlToken::FlowListEnd];
        self.node_unless(&ends, ParserState::PairValue, NodePosition::Flow)
    }

    fn pair_value(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        if self.eat(&YamlToken::Value)?.is_some() {
            let ends = [YamlToken::Comma, YamlToken::FlowListEnd];
            return self.node_unless(&ends, ParserState::PairEnd, NodePosition::Flow);
        }
        self.nothing_then(ParserState::PairEnd)
    }

    fn flow_key(&mut self, first: bool) -> Result<PositionedEvent<'t>, YamlRefusal> {
        if !self.comes(&[YamlToken::FlowMapEnd])? {
            self.comma(first)?;
            if self.eat(&YamlToken::Key)?.is_some() {
                let ends = [YamlToken::Value, YamlToken::Comma, YamlToken::FlowMapEnd];
                return self.node_unless(&ends, ParserState::FlowValue, NodePosition::Flow);
            }
            if !self.comes(&[YamlToken::FlowMapEnd])? {
                // `{a, b}`: a key without a value.
                self.states.push(ParserState::FlowNoValue);
                return self.node(NodePosition::Flow);
            }
        }
        let (_, range) = self.tokens.next()?;
        self.pop();
        Ok((Event::MappingEnd, range))
    }

    fn flow_value(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        if self.eat(&YamlToken::Value)?.is_some() {
            let ends = [YamlToken::Comma, YamlToken::FlowMapEnd];
            return self.node_unless(
                &ends,
                ParserState::FlowKey { first: false },
                NodePosition::Flow,
            );
        }
        self.nothing_then(ParserState::FlowKey { first: false })
    }

    fn node(&mut self, place: NodePosition) -> Result<PositionedEvent<'t>, YamlRefusal> {
        if matches!(self.tokens.peek()?.0, YamlToken::Alias(_)) {
            return self.alias();
        }
        let (anchor, tag) = self.properties()?;
        if place == NodePosition::Indentless && self.comes(&[YamlToken::Entry])? {
            self.state = ParserState::IndentlessEntry;
            return self.here(Event::SequenceStart(anchor, tag));
        }
        let (event, state) = match &self.tokens.peek()?.0 {
            YamlToken::Scalar(..) => return self.scalar(anchor, tag),
            YamlToken::FlowList => {
                (Event::SequenceStart(anchor, tag), ParserState::FlowEntry { first: true })
            }
            YamlToken::FlowMap => {
                (Event::MappingStart(anchor, tag), ParserState::FlowKey { first: true })
            }
            YamlToken::BlockList if place != NodePosition::Flow => {
                (Event::SequenceStart(anchor, tag), ParserState::BlockEntry)
            }
            YamlToken::BlockMap if place != NodePosition::Flow => {
                (Event::MappingStart(anchor, tag), ParserState::BlockKey)
            }
            // An anchor or tag alone is a node: an empty scalar.
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

    fn scalar(
        &mut self,
        anchor: usize,
        tag: Option<Cow<'t, Tag>>,
    ) -> Result<PositionedEvent<'t>, YamlRefusal> {
        self.pop();
        let (token, range) = self.tokens.next()?;
        let (text, style) = match token {
            YamlToken::Scalar(text, style) => (text, style),
            // Cannot happen, because `node` saw a scalar.
            _ => (Cow::Borrowed(""), ScalarStyle::Plain),
        };
        Ok((Event::Scalar(text, style, anchor, tag), range))
    }

    fn alias(&mut self) -> Result<PositionedEvent<'t>, YamlRefusal> {
        self.pop();
        let (token, range) = self.tokens.next()?;
        let name = if let YamlToken::Alias(name) = token { name } else { "" };
        match self.anchors.get(name) {
            Some(id) => Ok((Event::Alias(*id), range)),
            None => Err(YamlRefusal { at: range.start, message: "no anchor has this name" }),
        }
    }

    /// Reads the anchor and the tag before a node, in either order.
    fn properties(&mut self) -> Result<(usize, Option<Cow<'t, Tag>>), YamlRefusal> {
        let (mut anchor, mut tag) = (0, None);
        loop {
            match &self.tokens.peek()?.0 {
                YamlToken::Anchor(_) if anchor == 0 => {
                    let (token, range) = self.tokens.next()?;
                    let YamlToken::Anchor(name) = token else { continue };
                    // Zero stands for no anchor in an event.
                    anchor = self.anchors.len() + 1;
                    if self.anchors.insert(name, anchor).is_some() {
                        // `PyYAML` refuses an anchor name that is used again; YAML 1.2 allows it.
                        let message = "an anchor of this name is here twice";
                        return Err(YamlRefusal { at: range.start, message });
                    }
                }
                YamlToken::Tag(..) if tag.is_none() => {
                    let (token, range) = self.tokens.next()?;
                    let YamlToken::Tag(handle, suffix) = token else { continue };
                    tag = Some(Cow::Owned(self.resolved(handle, suffix, range.start)?));
                }
                _ => return Ok((anchor, tag)),
            }
        }
    }

    fn resolved(
        &self,
        handle: Option<&str>,
        suffix: String,
        at: usize,
    ) -> Result<Tag, YamlRefusal> {
        let Some(handle) = handle else { return Ok(Tag { handle: String::new(), suffix }) };
        let own = self.handles.iter().find(|(known, _)| *known == handle);
        let prefix = match (own, handle) {
            (Some((_, prefix)), _) => prefix.as_str(),
            (None, "!") => "!",
            (None, "!!") => "tag:yaml.org,2002:",
            (None, _) => return Err(YamlRefusal { at, message: "this tag has no meaning here" }),
        };
        Ok(Tag { handle: prefix.to_owned(), suffix })
    }
}
