//! Accepts brackets and quotes that are closed at the start of a line. YAML requires indentation
//! there, most readers do not.
//! If the parser rejects such a text, it gets another one of the same length, in which the lines
//! between brackets are joined.

use saphyr_parser::ScanError;

use crate::limits;

/// The most indicators between brackets: per value one comma, one colon and two brackets.
const MOST_INDICATORS: usize = 4 * limits::NODES;

/// Reports whether joining lines may remove `error`.
pub(super) fn may_help(error: &ScanError) -> bool {
    error.info().contains("invalid indentation")
}

/// Returns the text with lines joined where YAML allows it. The number of characters stays the same.
pub(super) fn joined(text: &str) -> String {
    let mut joiner = FlowJoiner::new(text);
    joiner.lines();
    joiner.out
}

/// Returns the offset at which there are more values between brackets than the limit.
/// The parser would hold all of them in memory before its first event, so it must not get them.
pub(super) fn excess(text: &str) -> Option<usize> {
    let is_indicator = |byte: &u8| b"[]{},:".contains(byte);
    // A short text cannot have that many, so counting is skipped.
    if text.len() <= MOST_INDICATORS || text.bytes().filter(is_indicator).count() <= MOST_INDICATORS
    {
        return None;
    }
    let mut joiner = FlowJoiner::new(text);
    joiner.lines();
    joiner.excess
}

struct FlowJoiner<'t> {
    rest: &'t str,
    out: String,
    indicators: usize,
    excess: Option<usize>,
    /// The number of bytes of the text.
    length: usize,
}

impl<'t> FlowJoiner<'t> {
    fn new(text: &'t str) -> Self {
        let out = String::with_capacity(text.len());
        Self { rest: text, out, indicators: 0, excess: None, length: text.len() }
    }

    fn lines(&mut self) {
        while !self.rest.is_empty() {
            self.line();
        }
    }

    /// Returns how many bytes of the text were read.
    fn done(&self) -> usize {
        self.length - self.rest.len()
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn keep(&mut self, bytes: usize) {
        let (done, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.out.push_str(done);
        self.rest = rest;
    }

    fn keep_while(&mut self, wanted: impl Fn(char) -> bool) {
        let end = self.rest.find(|found| !wanted(found)).unwrap_or(self.rest.len());
        self.keep(end);
    }

    fn keep_line(&mut self) {
        self.keep_while(|found| found != '\n' && found != '\r');
    }

    /// Reads one line of block style, with the further lines of its values.
    fn line(&mut self) {
        let start = self.out.len();
        self.keep_while(|found| matches!(found, ' ' | '\t' | '\n' | '\r'));
        let line =
            self.out.rfind(['\n', '\r']).map_or(0, |at| at + 1).max(start.min(self.out.len()));
        // A value may follow the start of a document on the same line.
        if self.rest.starts_with("--- ") {
            self.keep(4);
        }
        let mut parent = self.out.len() - line;
        // Each indicator opens a level; the last one is the parent of a block scalar.
        while self.rest.starts_with("- ") || self.rest.starts_with("? ") {
            parent = self.out.len() - line;
            self.keep(1);
            self.keep_while(|found| found == ' ');
        }
        let column = self.out.len() - line;
        self.value(parent);
        self.keep_while(|found| found == ' ');
        if self.rest.starts_with(": ") {
            self.keep(2);
            self.value(column);
        }
        self.keep_line();
    }

    /// Reads a value or a key, up to its end or the end of the line.
    fn value(&mut self, parent: usize) {
        self.keep_while(|found| matches!(found, ' ' | '\t'));
        while matches!(self.peek(), Some('!' | '&')) {
            self.keep_while(|found| !found.is_whitespace());
            self.keep_while(|found| matches!(found, ' ' | '\t'));
        }
        match self.peek() {
            Some('[' | '{') => self.brackets(),
            Some('"' | '\'') => self.quotes(),
            Some('|' | '>') => self.block(parent),
            Some('#') => self.keep_line(),
            _ => {
                let end = self.rest.find(['\n', '\r']).unwrap_or(self.rest.len());
                let line = self.rest.get(..end).unwrap_or("");
                self.keep(line.find(": ").unwrap_or(end));
            }
        }
    }

    /// Reads the lines of a block scalar: all that are indented more than `parent`.
    fn block(&mut self, parent: usize) {
        self.keep_line();
        while !self.rest.is_empty() {
            let after = self.rest.trim_start_matches(['\n', '\r']);
            let indent = after.len() - after.trim_start_matches(' ').len();
            let blank = after.get(indent..).is_none_or(|rest| rest.starts_with(['\n', '\r']));
            if indent <= parent && !blank {
                return;
            }
            self.keep(self.rest.len() - after.len() + indent);
            self.keep_line();
        }
    }

    /// Reads a quoted text. A line break before a line without indentation becomes a space.
    fn quotes(&mut self) {
        let Some(quote) = self.peek() else { return };
        self.keep(1);
        while let Some(found) = self.peek() {
            let next = self.rest.chars().nth(1);
            let last = self.out.ends_with([' ', '\t', '\\', '\n', '\r']);
            match found {
                '\\' if quote == '"' => self.keep(1 + next.map_or(0, char::len_utf8)),
                _ if found == quote => return self.keep(1),
                // Only a simple fold: no white space or backslash before it, no empty line after it.
                '\n' if !last && next.is_some_and(|next| !next.is_whitespace()) => self.blank(1),
                _ => self.keep(found.len_utf8()),
            }
        }
    }

    /// Replaces the given number of bytes by spaces, one for each character.
    fn blank(&mut self, bytes: usize) {
        let (done, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.out.extend(done.chars().map(|_| ' '));
        self.rest = rest;
    }

    /// Reads from a bracket to the one that closes it.
    fn brackets(&mut self) {
        let mut depth = 0_usize;
        while let Some(found) = self.peek() {
            match found {
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                ',' | ':' => {}
                // A quote in the middle of a plain scalar does not start a string.
                '"' | '\'' if self.out.trim_end_matches(' ').ends_with(['[', '{', ',', ':']) => {
                    self.quotes();
                    continue;
                }
                ' ' | '\t' | '\n' | '\r' => {
                    self.gap();
                    continue;
                }
                _ => {
                    self.keep(found.len_utf8());
                    continue;
                }
            }
            if self.indicators == MOST_INDICATORS {
                self.excess = Some(self.done());
                self.keep(self.rest.len());
                return;
            }
            self.indicators += 1;
            self.keep(1);
            if depth == 0 {
                return;
            }
        }
    }

    /// Reads white space and comments between brackets. They become spaces, unless they are inside
    /// a plain scalar of several lines.
    fn gap(&mut self) {
        let mut end = 0;
        while let Some(rest) = self.rest.get(end..) {
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            end = self.rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                break;
            }
            end += trimmed.find(['\n', '\r']).unwrap_or(trimmed.len());
        }
        let after = self.rest.get(end..).and_then(|rest| rest.chars().next());
        let opens = self.out.ends_with(['[', '{', ',', ':']);
        if opens || matches!(after, Some(']' | '}' | ',')) {
            self.blank(end);
        } else {
            self.keep(end.max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_between_brackets_are_joined() {
        let cases = [
            ("a: [\n  b,\n  c\n]\nd: e\n", "a: [   b,   c ]\nd: e\n"),
            ("a: [b # é\n]\n", "a: [b     ]\n"),
            ("a: b [\nc: d\n", "a: b [\nc: d\n"),
            ("a: |\n  [\n  x\nb: {\n}\n", "a: |\n  [\n  x\nb: { }\n"),
            ("- [\n]\n- 'x\ny'\n", "- [ ]\n- 'x y'\n"),
            ("- a: {\n  b: c\n}\n", "- a: {   b: c }\n"),
            ("a: [b\n  c]", "a: [b\n  c]"),
            ("a: ['[', \"]\n\"\n]", "a: ['[', \"] \" ]"),
        ];
        for (text, expected) in cases {
            assert_eq!(joined(text), expected, "{text:?}");
        }
    }

    #[test]
    fn too_many_flow_values_are_found_before_parsing() {
        let many = "1,".repeat(limits::NODES * 5);
        for (before, after) in [("a: [", "]"), ("--- [", ""), ("- - {", ""), ("a:\n  [", "")] {
            let text = format!("{before}{many}{after}");
            let at = excess(&text);
            assert!(at.is_some_and(|at| at > limits::NODES && at < text.len()), "{before}");
        }
        assert_eq!(excess(&format!("a: |\n  [{many}]\n")), None);
        assert_eq!(excess(&format!("a: \"[{many}]\"\n")), None);
        assert_eq!(excess("a: [1, 2]"), None);
    }
}
