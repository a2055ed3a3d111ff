//! Measures the nesting of a TOML text before a tree is built. Dotted keys and inline tables
//! multiply the levels, and dropping a tree of many thousand levels overflows the stack.

use toml_parser::decoder::Encoding;
use toml_parser::parser::EventReceiver;
use toml_parser::{ErrorSink, Span};

use crate::limits;

/// The first place that is nested too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooDeepNesting {
    /// The key, `{` or `[` that is too deep.
    pub(super) span: (usize, usize),
    /// Where its line or header starts; all text before it can be parsed.
    pub(super) statement: usize,
}

/// Finds the first place of `text` that is nested too deep.
pub(super) fn too_deep(text: &str) -> Option<TooDeepNesting> {
    let tokens = toml_parser::Source::new(text).lex().into_vec();
    let mut gauge = DepthGauge { levels: vec![0, 0], dotted: false, statement: 0, found: None };
    toml_parser::parser::parse_document(&tokens, &mut gauge, &mut ());
    gauge.found
}

/// Counts levels from the events of the parser.
struct DepthGauge {
    /// The number of keys: of the header, of the line, then of each `{` and `[` inside it.
    levels: Vec<usize>,
    /// Whether the next key continues a dotted key.
    dotted: bool,
    statement: usize,
    found: Option<TooDeepNesting>,
}

impl DepthGauge {
    fn header(&mut self, span: Span) {
        self.levels.clear();
        self.levels.push(0);
        self.statement = span.start();
    }

    fn open(&mut self, span: Span) -> bool {
        self.levels.push(0);
        self.check(span)
    }

    fn close(&mut self) {
        // The first two entries are the header and the line, which no bracket closes.
        if self.levels.len() > 2 {
            self.levels.pop();
        }
    }

    fn check(&mut self, span: Span) -> bool {
        // Each key is a level, and so is each open bracket beyond header and line.
        let depth = self.levels.iter().sum::<usize>() + self.levels.len().saturating_sub(2);
        let fits = depth <= limits::DEPTH;
        if !fits && self.found.is_none() {
            let statement = self.statement;
            self.found = Some(TooDeepNesting { span: (span.start(), span.end()), statement });
        }
        fits
    }
}

impl EventReceiver for DepthGauge {
    fn std_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.header(span);
    }

    fn array_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.header(span);
    }

    fn std_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.levels.push(0);
    }

    fn array_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.levels.push(0);
    }

    fn inline_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        self.open(span)
    }

    fn array_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        self.open(span)
    }

    fn inline_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.close();
    }

    fn array_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.close();
    }

    fn simple_key(&mut self, span: Span, _: Option<Encoding>, _: &mut dyn ErrorSink) {
        if self.levels.len() == 2 && !self.dotted {
            self.statement = span.start();
        }
        if let Some(keys) = self.levels.last_mut() {
            *keys = if self.dotted { *keys + 1 } else { 1 };
        }
        self.dotted = false;
        self.check(span);
    }

    fn key_sep(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.dotted = true;
    }
}
