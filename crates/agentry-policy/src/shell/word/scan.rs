//! Finds where quotes, substitutions and expansions end. Every function takes the index after the opening and
//! returns the index of the closing.

use std::ops::Range;

/// The deepest nesting that is followed: more than real scripts have, and safe for every stack.
const MAX_DEPTH: usize = 40;

/// A scanner over one text.
#[derive(Clone, Copy)]
pub(super) struct ShellScan<'t> {
    text: &'t str,
    depth: usize,
}

impl<'t> ShellScan<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, depth: 0 }
    }

    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn starts(self, at: usize, prefix: &str) -> bool {
        self.text.as_bytes().get(at..).is_some_and(|rest| rest.starts_with(prefix.as_bytes()))
    }

    fn deeper(self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Self { depth: self.depth + 1, ..self })
    }

    fn find(self, at: usize, wanted: u8) -> Option<usize> {
        let rest = self.text.as_bytes().get(at..)?;
        rest.iter().position(|byte| *byte == wanted).map(|index| at + index)
    }

    /// Returns the end of `'…'`.
    pub(super) fn single(self, at: usize) -> Option<usize> {
        self.find(at, b'\'')
    }

    /// Returns the end of `$'…'` or of a backquoted command: the first `closing` without a backslash.
    pub(super) fn escaped(self, mut at: usize, closing: u8) -> Option<usize> {
        loop {
            match self.byte(at)? {
                b'\\' => at += 2,
                byte if byte == closing => return Some(at),
                _ => at += 1,
            }
        }
    }

    /// Returns the end of `"…"`.
    pub(super) fn double(self, mut at: usize) -> Option<usize> {
        let inner = self.deeper()?;
        loop {
            at = match self.byte(at)? {
                b'"' => return Some(at),
                b'\\' => at + 2,
                b'`' => self.escaped(at + 1, b'`')? + 1,
                b'$' => inner.dollar(at)?,
                _ => at + 1,
            };
        }
    }

    /// Returns the index after the expansion that starts with the `$` at `at`, or after the `$` alone.
    fn dollar(self, at: usize) -> Option<usize> {
        match self.byte(at + 1) {
            Some(b'(') => Some(self.command(at + 2)? + 1),
            Some(b'{') => Some(self.braced(at + 2)? + 1),
            _ => Some(at + 1),
        }
    }

    /// Returns the end of `${…}`.
    pub(super) fn braced(self, mut at: usize) -> Option<usize> {
        let inner = self.deeper()?;
        loop {
            at = match self.byte(at)? {
                b'}' => return Some(at),
                b'\\' => at + 2,
                b'\'' => self.single(at + 1)? + 1,
                b'"' => inner.double(at + 1)? + 1,
                b'`' => self.escaped(at + 1, b'`')? + 1,
                b'$' if self.starts(at, "$'") => self.escaped(at + 2, b'\'')? + 1,
                b'$' => inner.dollar(at)?,
                _ => at + 1,
            };
        }
    }

    /// Returns the end of `$((…))`: the index of its first closing bracket. Returns `None` if the two
    /// brackets are not closed together, as in `$((a) | b)`.
    pub(super) fn arithmetic(self, mut at: usize) -> Option<usize> {
        let inner = self.deeper()?;
        let mut open = 0usize;
        loop {
            at = match self.byte(at)? {
                b'(' => {
                    open += 1;
                    at + 1
                }
                b')' if open > 0 => {
                    open -= 1;
                    at + 1
                }
                b')' => return self.starts(at, "))").then_some(at),
                b'\\' => at + 2,
                b'\'' => self.single(at + 1)? + 1,
                b'"' => inner.double(at + 1)? + 1,
                b'`' => self.escaped(at + 1, b'`')? + 1,
                b'$' => inner.dollar(at)?,
                _ => at + 1,
            };
        }
    }

    /// Returns the end of `$(…)`.
    pub(super) fn command(self, start: usize) -> Option<usize> {
        let inner = self.deeper()?;
        if self.byte(start) == Some(b'(') {
            // `$((a) | b)` is not tried: two interpretations per level would take exponential time.
            return Some(inner.arithmetic(start + 1)? + 1);
        }
        let mut open = 0usize;
        let mut at = start;
        let mut here: Vec<HereDelimiter<'t>> = Vec::new();
        loop {
            at = match self.byte(at)? {
                b'(' => {
                    open += 1;
                    at + 1
                }
                b')' if open > 0 => {
                    open -= 1;
                    at + 1
                }
                // A here-document without its body is not closed.
                b')' => return here.is_empty().then_some(at),
                b'\n' => self.bodies(at + 1, &mut here)?,
                b'<' if self.starts(at, "<<<") => at + 3,
                b'<' if self.starts(at, "<<") => {
                    let (delimiter, after) = self.delimiter(at + 2)?;
                    here.push(delimiter);
                    after
                }
                // A comment ends with its line.
                b'#' if self.is_word_start(at, start) => self.find(at, b'\n')?,
                _ => inner.plain(at)?,
            };
        }
    }

    /// Returns the index after one quoted, expanded or plain character of a command.
    pub(super) fn plain(self, at: usize) -> Option<usize> {
        Some(match self.byte(at)? {
            b'\\' => at + 2,
            b'\'' => self.single(at + 1)? + 1,
            b'"' => self.double(at + 1)? + 1,
            b'`' => self.escaped(at + 1, b'`')? + 1,
            b'$' if self.starts(at, "$'") => self.escaped(at + 2, b'\'')? + 1,
            b'$' => self.dollar(at)?,
            _ => at + 1,
        })
    }

    fn is_word_start(self, at: usize, start: usize) -> bool {
        let before = at.checked_sub(1).filter(|before| *before >= start);
        before.and_then(|before| self.byte(before)).is_none_or(|byte| b" \t\n;&|()".contains(&byte))
    }

    /// Returns the delimiter of a here-document and the index after it.
    fn delimiter(self, mut at: usize) -> Option<(HereDelimiter<'t>, usize)> {
        let indented = self.byte(at) == Some(b'-');
        at += usize::from(indented);
        while matches!(self.byte(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        let quote = self.byte(at).filter(|byte| matches!(byte, b'\'' | b'"'));
        let range = match quote {
            Some(quote) => at + 1..self.find(at + 1, quote)?,
            None => at..self.bare_end(at),
        };
        let after = range.end + usize::from(quote.is_some());
        let word = self.text.get(range)?;
        // Other delimiters are not certain to end where this scanner expects.
        let is_plain =
            word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        let ends = self.byte(after).is_none_or(|byte| b" \t\n;&|<>)".contains(&byte));
        (is_plain && ends && !word.is_empty()).then_some((HereDelimiter { word, indented }, after))
    }

    fn bare_end(self, mut at: usize) -> usize {
        while self.byte(at).is_some_and(|byte| !b" \t\n;&|<>()".contains(&byte)) {
            at += 1;
        }
        at
    }

    /// Returns the index after the bodies of `here`, which start at `at`.
    fn bodies(self, mut at: usize, here: &mut Vec<HereDelimiter<'t>>) -> Option<usize> {
        for delimiter in here.drain(..) {
            loop {
                let end = self.find(at, b'\n').unwrap_or(self.text.len());
                let line = self.text.get(at..end)?;
                let line = if delimiter.indented { line.trim_start_matches('\t') } else { line };
                let is_last = line == delimiter.word;
                // The text ends inside the body, before the closing bracket.
                if end == self.text.len() {
                    return None;
                }
                at = end + 1;
                if is_last {
                    break;
                }
            }
        }
        Some(at)
    }
}

/// The delimiter that ends a here-document.
struct HereDelimiter<'t> {
    word: &'t str,
    indented: bool,
}

/// Returns the part of `text` in `range`, which is always on character boundaries.
pub(super) fn part(text: &str, range: Range<usize>) -> String {
    text.get(range).unwrap_or_default().to_owned()
}
