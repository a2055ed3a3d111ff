//! Checks for text that the parser accepts and other YAML readers reject.
//! A file that passes them can be read by all of them. `exact` turns them off: the `PyYAML` parser
//! is strict itself.

use std::ops::Range;

use saphyr_parser::ScalarStyle;

use super::YamlVersion;
use super::build::YamlBuilder;
use super::rules::YAML_SYNTAX;

impl YamlBuilder<'_> {
    /// Checks the plain scalar at `range` of the source.
    pub(super) fn check_plain(&mut self, range: &Range<usize>) {
        if self.exact {
            return;
        }
        let text = self.places.slice(range.clone());
        let old = self.version == YamlVersion::V1_1;
        // `saphyr` accepts these characters in brackets, where no block scalar is possible.
        let found = if text.starts_with(['|', '>']) {
            0
        } else if let Some(at) = text.find('?').filter(|_| old) {
            at
        } else {
            return;
        };
        if self.open_bracket().is_some() {
            let at = range.start + found;
            let shown = self.places.slice(at..at + 1);
            let message = format!("`{shown}` cannot stand between brackets without quotes");
            self.refuse_text(at..at + 1, message, "quote the value");
        }
    }

    /// Checks a scalar that is a key; `before` is the end of the text that was read before it.
    pub(super) fn check_key(&mut self, before: usize, range: &Range<usize>) {
        if self.exact {
            return;
        }
        let announced = |wanted: &[u8]| self.places.seek(before, wanted, b",");
        if range.is_empty() {
            let colon = announced(b"?:").filter(|at| self.places.at(*at) == Some(b':'));
            if let Some(at) = colon {
                self.refuse_text(at..at + 1, "there is no key before this `:`", "write a key");
            }
            return;
        }
        let lines = self.places.slice(range.clone()).contains(['\n', '\r']);
        if self.version == YamlVersion::V1_1 && lines && announced(b"?").is_none() {
            self.refuse_text(range.clone(), "a key must stand in one line", "join its lines");
        }
    }

    /// Checks the anchor after `before`.
    pub(super) fn check_anchor(&mut self, before: usize) {
        if self.version != YamlVersion::V1_1 || self.exact {
            return;
        }
        let Some(at) = self.places.seek(before, b"&", b":-?,") else { return };
        let range = at..self.places.word_end(at);
        self.check_name(&range);
        let name = self.places.slice(range.clone());
        if !self.anchor_names.insert(name) {
            let message = format!("the anchor `{name}` is here twice");
            self.refuse_text(range, message, "give it another name");
        }
    }

    /// Checks the name of an anchor or alias; `range` includes its `&` or `*`.
    pub(super) fn check_name(&mut self, range: &Range<usize>) {
        let name = self.places.slice(range.start + 1..range.end);
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.version == YamlVersion::V1_1 && !self.exact && !name.chars().all(fits) {
            let message = format!("`{name}` is not a name for an anchor");
            self.refuse_text(range.clone(), message, "use letters, digits, `-` and `_`");
        }
    }

    fn refuse_text(&mut self, range: Range<usize>, message: impl Into<String>, hint: &str) {
        let span = self.places.span(range);
        self.findings.add(&YAML_SYNTAX, span, message).hint(hint);
    }

    /// Returns the value of the block scalar in `range`.
    /// If the text ends without a line break, the parser adds one to the value; it is removed here.
    pub(super) fn chomped(&self, mut value: String, range: Range<usize>) -> String {
        if range.end < self.places.text.len() {
            return value;
        }
        let raw = self.places.slice(range);
        let (header, body) = raw.split_once('\n').unwrap_or((raw, ""));
        // A `-` in the comment is not the chomping indicator.
        let header = header.split('#').next().unwrap_or(header);
        if body.trim().is_empty() {
            let breaks = if header.contains('+') { body.matches('\n').count() } else { 0 };
            return "\n".repeat(breaks);
        }
        let last = raw.rsplit(['\n', '\r']).next().unwrap_or(raw);
        let indent_of = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let first = body.lines().find(|line| !line.trim().is_empty());
        let reaches = !last.trim().is_empty() || last.len() >= first.map_or(1, indent_of).max(1);
        if reaches && !header.contains('-') && value.ends_with('\n') {
            value.pop();
        }
        value
    }
}

/// Reports whether a scalar is written with `|` or `>`.
pub(super) fn is_block(style: ScalarStyle) -> bool {
    matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
}
