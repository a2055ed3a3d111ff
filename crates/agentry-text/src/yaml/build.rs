//! Builds the tree from the parser's events, without recursion and within the limits: a value that
//! is too deep becomes null, and parsing stops at the first value too many.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::YamlVersion;
use super::maps::MapFrame;
use super::offsets::SpanMapper;
use super::pyyaml::{self, YamlRefusal};
use super::rules::{YAML_DOCUMENTS, YAML_SYNTAX};
use super::tags::TagShape;
use super::{scalar, strictness, surrogates, syntax};
use crate::diagnostic::Findings;
use crate::limits;
use crate::source::{FileId, Span};
use crate::tree::{TreeNode, TreeValue};
use crate::tree_rules::{TOO_DEEP, TOO_MANY_VALUES};

/// The text to parse: a part of a file, without characters that YAML forbids.
pub(super) struct YamlInput<'t> {
    pub(super) text: &'t str,
    pub(super) file: FileId,
    pub(super) base: usize,
    pub(super) version: YamlVersion,
    /// Whether the text was cut, so that a syntax error at its end would be about the cut.
    pub(super) is_cut: bool,
    /// Whether surrogate pairs are replaced in the text that the parser gets.
    pub(super) is_disguised: bool,
}

/// The result of parsing.
pub(super) struct YamlOutcome {
    pub(super) node: TreeNode,
    pub(super) findings: Findings,
    /// The syntax error that stopped the parser, if one did.
    pub(super) error: Option<ScanError>,
}

/// Parses `input`. The parser gets `scanned`, which has as many characters as the text.
pub(super) fn read(input: &YamlInput<'_>, scanned: &str) -> YamlOutcome {
    let mut builder = YamlBuilder::new(input);
    let mut parser = Parser::new_from_str(scanned);
    let mut error = None;
    while let Some(event) = parser.next_event() {
        match event {
            Err(found) => {
                error = Some(found);
                break;
            }
            Ok((event, span)) => {
                let range = builder.places.byte(span.start)..builder.places.byte(span.end);
                if builder.event(event, range).is_break() {
                    break;
                }
            }
        }
    }
    match &error {
        Some(error) if !input.is_cut => {
            builder.drop_broken(builder.places.byte(*error.marker()));
            builder.report_error(error);
        }
        // The rest of the text is checked for tabs as well.
        None if !builder.stopped => builder.pass(input.text.len()..input.text.len()),
        _ => {}
    }
    let node = builder.finish();
    YamlOutcome { node, findings: builder.findings, error }
}

/// Parses `input` by the rules of YAML 1.1, or returns why they refuse it.
pub(super) fn read_old(input: &YamlInput<'_>) -> Result<YamlOutcome, YamlRefusal> {
    let mut builder = YamlBuilder { exact: true, watch_tabs: false, ..YamlBuilder::new(input) };
    let mut parser = pyyaml::YamlParser::new(input.text);
    loop {
        let (event, range) = parser.next()?;
        if builder.event(event, range).is_break() {
            break;
        }
    }
    let node = builder.finish();
    Ok(YamlOutcome { node, findings: builder.findings, error: None })
}

/// What a finished value costs when an alias repeats it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AliasCost {
    values: usize,
    bytes: usize,
    height: usize,
}

impl AliasCost {
    fn add(&mut self, other: Self) {
        self.values += other.values;
        self.bytes += other.bytes;
        self.height = self.height.max(other.height);
    }

    fn is_over_limit(self) -> bool {
        self.values > limits::NODES || self.bytes as u64 > limits::FILE_BYTES
    }
}

/// A list or map that is not finished yet.
struct YamlFrame {
    start: usize,
    /// Whether it is written in brackets.
    bracketed: bool,
    /// The effect of its tag.
    shape: TagShape,
    anchor: usize,
    cost: AliasCost,
    kind: FrameKind,
}

enum FrameKind {
    List(Vec<TreeNode>),
    Map(MapFrame),
}

#[expect(clippy::struct_excessive_bools, reason = "five things that may or may not be the case")]
pub(super) struct YamlBuilder<'t> {
    pub(super) places: SpanMapper<'t>,
    pub(super) version: YamlVersion,
    pub(super) findings: Findings,
    /// The end of the text that was read so far.
    pub(super) cursor: usize,
    stack: Vec<YamlFrame>,
    root: Option<TreeNode>,
    documents: usize,
    /// Finished values by anchor number; kept only if the text has aliases.
    anchors: HashMap<usize, (TreeNode, AliasCost)>,
    has_aliases: bool,
    /// The anchors so far, to report a name that is used twice.
    pub(super) anchor_names: HashSet<&'t str>,
    spent: AliasCost,
    kept: AliasCost,
    /// How many lists and maps are open inside one that is too deep.
    skipped: usize,
    /// Whether tabs outside of scalars are reported, by the rules of YAML 1.1.
    watch_tabs: bool,
    stopped: bool,
    /// Whether surrogate pairs are replaced in the text that the parser gets.
    is_disguised: bool,
    /// Whether the events come from `pyyaml`, so that no check of `strictness` is needed.
    pub(super) exact: bool,
}

impl<'t> YamlBuilder<'t> {
    fn new(input: &YamlInput<'t>) -> Self {
        let YamlInput { text, file, base, version, is_disguised, .. } = *input;
        Self {
            places: SpanMapper::new(text, file, base),
            version,
            findings: Findings::default(),
            cursor: 0,
            stack: Vec::new(),
            root: None,
            documents: 0,
            anchors: HashMap::new(),
            has_aliases: text.contains('*'),
            anchor_names: HashSet::new(),
            spent: AliasCost::default(),
            kept: AliasCost::default(),
            skipped: 0,
            watch_tabs: version == YamlVersion::V1_1 && text.contains('\t'),
            stopped: false,
            is_disguised,
            exact: false,
        }
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) -> ControlFlow<()> {
        match event {
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => ControlFlow::Continue(()),
            Event::StreamEnd => ControlFlow::Break(()),
            Event::DocumentStart(explicit) => self.document(explicit, range),
            // Before the other events, because everything inside a value that is too deep is ignored.
            _ if self.skipped > 0 => self.skip(&event, range),
            Event::Scalar(text, style, anchor, tag) => {
                if anchor > 0 {
                    self.check_anchor(self.cursor);
                }
                let (node, cost) = self.scalar(text, style, tag.as_deref(), range);
                self.attach(node, cost, anchor)
            }
            Event::Alias(id) => self.alias(id, range),
            Event::SequenceStart(anchor, tag) => {
                self.open(FrameKind::List(Vec::new()), anchor, tag.as_deref(), range)
            }
            Event::MappingStart(anchor, tag) => {
                self.open(FrameKind::Map(MapFrame::default()), anchor, tag.as_deref(), range)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.stack.pop() {
                Some(frame) => self.close(frame, range.start),
                None => ControlFlow::Continue(()),
            },
        }
    }

    fn document(&mut self, explicit: bool, range: Range<usize>) -> ControlFlow<()> {
        self.documents += 1;
        if self.documents > 1 {
            let end = self.places.word_end(range.start).max(range.start);
            let span = self.places.span(range.start..end);
            self.findings
                .add(&YAML_DOCUMENTS, span, "a second document starts here")
                .hint("put it into a file of its own");
            self.stopped = true;
            return ControlFlow::Break(());
        }
        if explicit {
            self.pass(range);
        }
        ControlFlow::Continue(())
    }

    /// Ignores the events inside a value that is too deep, until it ends.
    fn skip(&mut self, event: &Event<'_>, range: Range<usize>) -> ControlFlow<()> {
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) => self.skipped += 1,
            Event::SequenceEnd | Event::MappingEnd => self.skipped -= 1,
            _ => {}
        }
        self.cursor = self.cursor.max(range.end);
        if self.skipped > 0 {
            return ControlFlow::Continue(());
        }
        let node = TreeNode::new(TreeValue::Null, self.places.span(range.start..range.start));
        self.attach(node, AliasCost::default(), 0)
    }

    /// Moves on to the end of `range`. In YAML 1.1, no tab may be in the text before it.
    pub(super) fn pass(&mut self, range: Range<usize>) {
        self.check_tabs(self.cursor..range.start);
        self.cursor = self.cursor.max(range.end);
    }

    fn check_tabs(&mut self, range: Range<usize>) {
        if !self.watch_tabs {
            return;
        }
        if let Some(at) = self.places.tab(range) {
            self.watch_tabs = false;
            let span = self.places.span(at..at + 1);
            let message = "a tab cannot stand between values";
            self.findings.add(&YAML_SYNTAX, span, message).hint("use spaces");
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        range: Range<usize>,
    ) -> (TreeNode, AliasCost) {
        let before = self.cursor;
        // The parser gives `~` for a value that is not written.
        let missing = style == ScalarStyle::Plain
            && (text.is_empty() || text == "~" && self.places.slice(range.clone()) != "~");
        let text = match text {
            _ if missing => Cow::Borrowed(""),
            text if self.is_disguised => surrogates::revealed(text, style),
            text => text,
        };
        let end = range.end;
        let range = self.scalar_range(style, missing, range);
        self.pass(range.clone());
        if self.expects_key() {
            self.check_key(before, &range);
        }
        if style == ScalarStyle::Plain && !missing {
            self.check_plain(&range);
            self.check_tabs(range.clone());
        }
        let plain = style == ScalarStyle::Plain && tag.is_none();
        let text = match text {
            Cow::Owned(text) if strictness::is_block(style) && !self.exact => {
                Cow::Owned(self.chomped(text, range.start..end))
            }
            text => text,
        };
        let cost = AliasCost { values: 1, bytes: text.len(), height: 0 };
        // Keys do not count as values.
        self.spent.values += usize::from(!self.expects_key());
        let value = match tag {
            Some(tag) => self.tagged(tag, &text, before, &range),
            None if plain => self.plain(text, &range),
            None => TreeValue::Str(text.into_owned()),
        };
        (TreeNode { span: self.places.span(range), value, plain }, cost)
    }

    fn plain(&mut self, text: Cow<'_, str>, range: &Range<usize>) -> TreeValue {
        // YAML 1.1 rejects these two as values, but not as keys.
        if self.expects_key() && matches!(&*text, "<<" | "=") {
            return TreeValue::Str(text.into_owned());
        }
        scalar::plain(&text, self.version).unwrap_or_else(|message| {
            let span = self.places.span(range.clone());
            self.findings.add(&YAML_SYNTAX, span, message).hint("quote it if it is text");
            TreeValue::Str(text.into_owned())
        })
    }

    /// Returns the source range of a scalar, which the parser gives only roughly.
    fn scalar_range(&self, style: ScalarStyle, missing: bool, range: Range<usize>) -> Range<usize> {
        match style {
            ScalarStyle::Plain if missing => self.missing_range(),
            ScalarStyle::Plain => range,
            ScalarStyle::Literal | ScalarStyle::Folded if self.exact => {
                range.start..self.places.without_blank_lines(range)
            }
            _ if self.exact => range,
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                range.start..self.places.closing_quote(range.start)
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let start = self.places.seek(self.cursor, b"|>", b":-?,").unwrap_or(range.start);
                start..self.places.without_blank_lines(start..range.end)
            }
        }
    }

    /// Returns the range of a value that is absent: after its indicator, or at its tag or anchor.
    fn missing_range(&self) -> Range<usize> {
        let indicator: &[u8] = match self.stack.last().map(|frame| &frame.kind) {
            Some(FrameKind::List(_)) => b"-",
            Some(FrameKind::Map(map)) if map.expects_value() => b":",
            _ => b"",
        };
        let after = self.places.seek(self.cursor, indicator, b"").map(|at| at + 1);
        let from = after.unwrap_or(self.cursor);
        let line = self.places.line_end(from);
        match self.places.seek(from, b"!&", b"?") {
            Some(at) if at < line => self.places.properties(at),
            _ => from..from,
        }
    }

    fn alias(&mut self, id: usize, range: Range<usize>) -> ControlFlow<()> {
        self.pass(range.clone());
        self.check_name(&range);
        let span = self.places.span(range);
        // An anchor is recorded when its value ends, so it is missing while the value is still open.
        let Some((node, cost)) = self.anchors.get(&id) else {
            self.findings.add(&YAML_SYNTAX, span, "the alias stands inside of its own anchor");
            return self.attach(TreeNode::new(TreeValue::Null, span), AliasCost::default(), 0);
        };
        let mut total = self.spent;
        total.add(*cost);
        if total.is_over_limit() {
            return self.stop_at_limit(span);
        }
        // The copy may be deeper here than where its anchor is.
        if self.stack.len() + cost.height > limits::DEPTH {
            self.findings.add(&TOO_DEEP, span, too_deep());
            return self.attach(TreeNode::new(TreeValue::Null, span), AliasCost::default(), 0);
        }
        self.spent = total;
        let (node, cost) = (TreeNode { span, value: node.value.clone(), plain: false }, *cost);
        self.attach(node, cost, 0)
    }

    fn stop_at_limit(&mut self, span: Span) -> ControlFlow<()> {
        if !self.stopped {
            self.findings.add(&TOO_MANY_VALUES, span, too_many_values());
        }
        self.stopped = true;
        ControlFlow::Break(())
    }

    fn open(
        &mut self,
        kind: FrameKind,
        anchor: usize,
        tag: Option<&Tag>,
        range: Range<usize>,
    ) -> ControlFlow<()> {
        let bracketed =
            !range.is_empty() && matches!(self.places.at(range.start), Some(b'[' | b'{'));
        // For a list below a key, `saphyr` gives no exact start, so its first `-` is searched.
        let start = match (&kind, self.stack.last()) {
            (FrameKind::List(_), Some(YamlFrame { kind: FrameKind::Map(_), .. }))
                if !bracketed && !self.exact =>
            {
                self.places.seek(self.cursor, b"-", b":?").unwrap_or(range.start)
            }
            _ => range.start,
        };
        if anchor > 0 {
            self.check_anchor(self.cursor);
        }
        let is_list = matches!(kind, FrameKind::List(_));
        let shape = tag.map_or(TagShape::Natural, |tag| self.shape(tag, is_list, start));
        self.pass(start..start + usize::from(bracketed));
        if self.stack.len() >= limits::DEPTH {
            let span = self.places.span(start..start + 1);
            self.findings.add(&TOO_DEEP, span, too_deep());
            self.skipped = 1;
            return ControlFlow::Continue(());
        }
        self.stack.push(YamlFrame {
            start,
            bracketed,
            shape,
            anchor,
            cost: AliasCost::default(),
            kind,
        });
        ControlFlow::Continue(())
    }

    /// Closes a list or map; its closing bracket, if it has one, is at `bracket`.
    fn close(&mut self, frame: YamlFrame, bracket: usize) -> ControlFlow<()> {
        if frame.bracketed {
            self.pass(bracket..(bracket + 1).min(self.places.text.len()));
        }
        let span = self.places.span(frame.start..self.cursor.max(frame.start));
        let value = match frame.kind {
            _ if frame.shape == TagShape::Dropped => TreeValue::Null,
            FrameKind::List(items) => TreeValue::List(items),
            FrameKind::Map(map) => TreeValue::Map(map.finish(&mut self.findings)),
        };
        let value = self.shaped(value, frame.shape, span);
        let mut cost = frame.cost;
        cost.values += 1;
        cost.height += 1;
        self.spent.values += 1;
        self.attach(TreeNode::new(value, span), cost, frame.anchor)
    }

    fn attach(&mut self, node: TreeNode, cost: AliasCost, anchor: usize) -> ControlFlow<()> {
        let span = node.span;
        if anchor > 0 && self.has_aliases {
            // Copies for aliases use memory too, so they have the same limit.
            self.kept.add(cost);
            if self.kept.is_over_limit() {
                return self.stop_at_limit(span);
            }
            self.anchors.insert(anchor, (node.clone(), cost));
        }
        match self.stack.last_mut() {
            None => {
                self.root.get_or_insert(node);
            }
            Some(frame) => {
                frame.cost.add(cost);
                match &mut frame.kind {
                    FrameKind::List(items) => items.push(node),
                    FrameKind::Map(map) => map.take(node, &self.places, &mut self.findings),
                }
            }
        }
        if self.spent.is_over_limit() {
            self.stop_at_limit(span)
        } else {
            ControlFlow::Continue(())
        }
    }

    fn expects_key(&self) -> bool {
        matches!(self.stack.last(), Some(YamlFrame { kind: FrameKind::Map(map), .. }) if !map.expects_value())
    }

    /// Returns the offset of the innermost open bracket.
    pub(super) fn open_bracket(&self) -> Option<usize> {
        self.stack.iter().rev().find(|frame| frame.bracketed).map(|frame| frame.start)
    }

    /// Drops the value in the line of the syntax error at `at`, and a key without its value,
    /// because neither can be trusted.
    fn drop_broken(&mut self, at: usize) {
        let line = self.places.span(self.places.line_start(at)..at);
        if let Some(YamlFrame { kind: FrameKind::Map(map), .. }) = self.stack.last_mut() {
            map.drop_broken(line.start);
        }
    }

    fn report_error(&mut self, error: &ScanError) {
        let at = self.places.byte(*error.marker());
        let place =
            syntax::ErrorPosition { places: &self.places, at, bracket: self.open_bracket() };
        syntax::report(error, &place, self.cursor, &mut self.findings);
    }

    /// Closes all open values and returns the tree.
    fn finish(&mut self) -> TreeNode {
        while let Some(frame) = self.stack.pop() {
            let end = self.cursor;
            // A value that is still open has no closing bracket, and no alias can follow.
            let frame = YamlFrame { bracketed: false, anchor: 0, ..frame };
            let _ = self.close(frame, end);
        }
        let nothing = || TreeNode::new(TreeValue::Null, self.places.span(0..0));
        self.root.take().unwrap_or_else(nothing)
    }
}

fn too_deep() -> String {
    format!("the value is nested more than {} deep", limits::DEPTH)
}

pub(super) fn too_many_values() -> String {
    format!("the document holds more than {} values", limits::NODES)
}
