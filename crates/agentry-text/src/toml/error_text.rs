//! Converts the errors of the TOML parser to messages and hints in our terms.

use std::ops::Range;

use crate::problems::short;

/// An error of the parser, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TomlFault {
    /// The parser's name for it.
    pub(super) kind: String,
    /// What the parser expected; may be empty.
    pub(super) expected: String,
    /// The bytes it is about.
    pub(super) range: Range<usize>,
}

impl TomlFault {
    /// Converts the parser's `error` about `text`.
    pub(super) fn new(error: &toml::de::Error, text: &str) -> Self {
        let message = error.message();
        let (kind, expected) = message.split_once(", expected ").unwrap_or((message, ""));
        let mut range = error.span().unwrap_or(0..0);
        if range.is_empty() {
            // The parser's span is empty and before the unexpected character, so the word there is taken.
            let rest = text.get(range.start..).unwrap_or("").chars().take(LONGEST);
            range.end += rest.take_while(|c| !c.is_whitespace()).map(char::len_utf8).sum::<usize>();
        }
        // The whole key is shown, not only the place where its value is missing.
        if kind == NO_VALUE {
            let line = text.get(..range.start).unwrap_or("");
            range.start = line.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        }
        let expected = if expected == "nothing" { "" } else { expected };
        Self { kind: kind.to_owned(), expected: expected.to_owned(), range }
    }

    /// Reports whether the line is a bare key, after which the parser adds nothing to the tree.
    pub(super) fn ends_tree(&self) -> bool {
        self.kind == NO_VALUE
    }

    /// Returns the message and the hint; `found` is the text at the place of the error.
    pub(super) fn words(&self, found: &str) -> (String, Option<String>) {
        let found = short(found.trim());
        // The parser has no error codes, so the text of its message decides.
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

    /// Keeps the parser's message, which is in lower case and has no full stop.
    fn own_words(&self, found: &str) -> (String, Option<String>) {
        let message = match self.kind.strip_prefix("invalid ") {
            Some(what) if found != "``" => format!("{found} is no {what} of TOML"),
            _ => self.kind.clone(),
        };
        let hint = (!self.expected.is_empty()).then(|| format!("expected {}", self.expected));
        (message, hint)
    }
}

/// The most characters to underline if the parser gives no range.
const LONGEST: usize = 40;
const NO_VALUE: &str = "key with no value";
const PAIR: &str = "write `key = value`";
const KEY: &str = "a bare key holds only letters, digits, `_` and `-`";
const ESCAPE: &str = "write `\\\\` for a backslash, or use single quotes";
