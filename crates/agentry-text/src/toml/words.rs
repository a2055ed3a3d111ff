//! The parser's errors in our words: what was found, and what to do.

/// What to say about an error of the parser.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// The message.
    pub(super) message: String,
    /// What to do.
    pub(super) hint: Option<&'static str>,
}

/// The words for the parser's `message` about the text `found`.
pub(super) fn words(message: &str, found: &str) -> Words {
    let (what, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    let (message, hint) = match what {
        "string values must be quoted" => (format!("`{found}` needs quotes"), Some(QUOTES)),
        "invalid unquoted key" => (format!("the key `{found}` needs quotes"), Some(KEY)),
        "unquoted keys cannot be empty" => ("a key is missing".to_owned(), Some(KEY)),
        "key with no value" => ("the key has no value".to_owned(), Some("write `key = value`")),
        "missing value" | "missing value for key" => {
            ("a value is missing".to_owned(), Some("write `key = value`"))
        }
        "missing assignment between key-value pairs" => {
            ("`=` is missing".to_owned(), Some("write `key = value`"))
        }
        "invalid basic string" | "invalid multi-line basic string" => string(expected, '"'),
        "invalid literal string" | "invalid multi-line literal string" => string(expected, '\''),
        "unclosed array" => ("the list is not closed".to_owned(), Some("add `]`")),
        "unclosed inline table" => ("the table is not closed".to_owned(), Some("add `}`")),
        "unclosed table" => ("the header is not closed".to_owned(), Some("add `]`")),
        "unclosed array table" => ("the header is not closed".to_owned(), Some("add `]]`")),
        "missing comma between array elements" | "missing comma between key-value pairs" => {
            ("a comma is missing".to_owned(), Some("separate values by `,`"))
        }
        "missing escaped value" => ("this is no escape of TOML".to_owned(), Some(ESCAPE)),
        "carriage return must be followed by newline" => {
            ("a carriage return without a line feed".to_owned(), Some("end lines by LF or CRLF"))
        }
        "unexpected key or value" => {
            (format!("{} follows on the same line", quoted(found)), Some("begin a new line"))
        }
        what if what.starts_with("cannot extend value of type") => {
            let kind = what.split(" type ").nth(1).and_then(|rest| rest.split(" with").next());
            let kind = kind.unwrap_or("value");
            (format!("`{found}` is a {kind} already"), Some("a value cannot become a table later"))
        }
        _ => (with_expected(what, expected), None),
    };
    Words { message, hint }
}

const QUOTES: &str = "put text in quotes: `\"…\"`";
const KEY: &str = "a bare key holds only letters, digits, `_` and `-`";
const ESCAPE: &str = "write `\\\\` for a backslash, or use single quotes";

fn string(expected: &str, quote: char) -> (String, Option<&'static str>) {
    if expected.contains(quote) && !expected.contains("character") {
        ("the string is not closed".to_owned(), Some("add the closing quote"))
    } else {
        ("the string holds a character that must be escaped".to_owned(), Some("write `\\u0000`"))
    }
}

fn quoted(found: &str) -> String {
    match found.char_indices().nth(20) {
        Some((end, _)) => format!("`{}…`", found.get(..end).unwrap_or("")),
        None => format!("`{found}`"),
    }
}

/// The parser's own words, which begin in lower case and have no full stop.
fn with_expected(what: &str, expected: &str) -> String {
    if expected.is_empty() { what.to_owned() } else { format!("{what}; expected {expected}") }
}
