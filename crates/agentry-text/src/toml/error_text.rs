//! The parser's errors in our words: what was found, and what to do.

use std::ops::Range;

use crate::problems::short;

/// An error of the parser, in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TomlFault {
    /// What the parser calls it.
    pub(super) kind: String,
    /// What the parser would have liked to see; may be empty.
    pub(super) expected: String,
    /// Where.
    pub(super) range: Range<usize>,
}

impl TomlFault {
    /// The parser's `error` about `text`.
    pub(super) fn new(error: &toml::de::Error, text: &str) -> Self {
        let message = error.message();
        let (kind, expected) = message.split_once(", expected ").unwrap_or((message, ""));
        let mut range = error.span().unwrap_or(0..0);
        if range.is_empty() {
            // The parser points before the first character that it did not like.
            let rest = text.get(range.start..).unwrap_or("").chars().take(LONGEST);
            range.end += rest.take_while(|c| !c.is_whitespace()).map(char::len_utf8).sum::<usize>();
        }
        if kind == NO_VALUE {
            let line = text.get(..range.start).unwrap_or("");
            range.start = line.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        }
        let expected = if expected == "nothing" { "" } else { expected };
        Self { kind: kind.to_owned(), expected: expected.to_owned(), range }
    }

    /// Whether the line is a bare key, after which the parser builds no more of the tree.
    pub(super) fn ends_tree(&self) -> bool {
        self.kind == NO_VALUE
    }

    /// What to say, and what to do, if `found` is the text in its place.
    pub(super) fn words(&self, found: &str) -> (String, Option<String>) {
        let found = short(found.trim());
        let (message, hint) = match self.kind.as_str() {
            "string values must be quoted" if found == "``" => ("a value is missing".into(), PAIR),
            "string values must be quoted" => (format!("{found} needs quotes"), "write `\"…\"`"),
            "invalid unquoted key" => (format!("the key {found} needs quotes"), KEY),
            "unquoted keys cannot be empty" => ("a key is missing".into(), KEY),
            "invalid key-value pair" => (format!("{found} where a key should be"), PAIR),
            NO_VALUE => (format!("{found} has no value"), PAIR),
            "missing value" | "missing value for key" => ("a value is missing".into(), PAIR),
            "missing assignment between key-value pairs" => ("`=` is missing".into(), PAIR),
            "extra `=`" => ("`=` is written twice".into(), PAIR),
            "unclosed array" => ("the list is not closed".into(), "add `]`"),
            "unclosed inline table" => ("the table is not closed".into(), "add `}`"),
            "unclosed table" | "unclosed array table" => {
                ("the header is not closed".into(), "add `]`, or `]]` after `[[`")
            }
            "missing comma between array elements" | "missing comma between key-value pairs" => {
                ("a comma is missing".into(), "separate values by `,`")
            }
            "missing escaped value" => ("this is not an escape of TOML".into(), ESCAPE),
            "too few unicode value digits" => ("the escape has too few digits".into(), ESCAPE),
            "carriage return must be followed by newline" => {
                ("a carriage return without a line feed".into(), "end lines by LF or CRLF")
            }
            "unexpected key or value" => {
                (format!("{found} follows on the same line"), "begin a new line")
            }
            kind if kind.starts_with("cannot extend value") => {
                (format!("{found} has a value already"), "a value cannot become a table later")
            }
            kind if kind.ends_with(" string") => self.string(),
            _ => return self.own_words(&found),
        };
        (message, Some(hint.to_owned()))
    }

    fn string(&self) -> (String, &'static str) {
        if self.expected.contains("character") {
            ("the string holds a raw control character".into(), "escape it, as `\\t` or `\\u0001`")
        } else {
            ("the string is not closed".into(), "add the closing quote")
        }
    }

    /// The parser's own words, which begin in lower case and have no full stop.
    fn own_words(&self, found: &str) -> (String, Option<String>) {
        let message = match self.kind.strip_prefix("invalid ") {
            Some(what) if found != "``" => format!("{found} is no {what} of TOML"),
            _ => self.kind.clone(),
        };
        let hint = (!self.expected.is_empty()).then(|| format!("expected {}", self.expected));
        (message, hint)
    }
}

/// The most characters that are underlined where the parser does not say how many.
const LONGEST: usize = 40;
const NO_VALUE: &str = "key with no value";
const PAIR: &str = "write `key = value`";
const KEY: &str = "a bare key holds only letters, digits, `_` and `-`";
const ESCAPE: &str = "write `\\\\` for a backslash, or use single quotes";
